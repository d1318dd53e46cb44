"""FileWriter: writes summaries, graphs and other events of training into an event file."""

from __future__ import annotations

import os
import time
import warnings
import weakref
from typing import Any

from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.formats import messages_pb2
from gpugraph.formats.summary_bytes import (
    event_message,
    summary_of_values,
    summary_values,
    tagged_run_metadata,
    without_metadata,
)
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import stack_level
from gpugraph.library.summary.event_file_writer import EventFileWriter

_OF_SESSIONS: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], EventFileWriter]] = (
    weakref.WeakKeyDictionary()
)
"""For each session, the event files of its FileWriters, by folder and suffix."""


class FileWriter:
    """A writer of summaries and events into a new event file in `logdir`, for TensorBoard.

    Args:
      logdir: the folder. It is created if it does not exist.
      graph: a Graph. It is written first, and TensorBoard shows it on its graph page.
      max_queue: the number of events that may be buffered before they are written.
      flush_secs: if an event is added more than this number of seconds after the last write, all
        buffered events are written.
      graph_def: a GraphDef. This is an older argument, which `graph` replaces.
      filename_suffix: a suffix of the file's name.
      session: all FileWriters with the same session and folder write to the same file.

    Raises:
      tf.errors.OpError: the file can't be created. The class is NotFoundError,
        PermissionDeniedError, or FailedPreconditionError if `logdir` is a file.

    >>> with tf.summary.FileWriter(folder) as writer:
    ...     writer.add_summary(session.run(tf.summary.scalar("loss", 0.5)), global_step=1)
    """

    def __init__(
        self,
        logdir: Any,
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self.event_writer = _event_writer(logdir, max_queue, flush_secs, filename_suffix, session)
        self._seen_tags: set[str] = set()
        self._run_tags: set[str] = set()
        self._closed = False
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            self.add_meta_graph(_meta_graph(graph, graph_def))

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def get_logdir(self) -> Any:
        """Return the folder of the event file."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Add the values of a Summary. It is passed as a message, or as the bytes that a run
        returns.

        The metadata of a tag is written only with its first value. Raises protobuf's DecodeError if
        the bytes are not a Summary.
        """
        if not isinstance(summary, bytes):
            summary = _message(summary, "Summary").SerializeToString()
        try:
            values = list(summary_values(summary))
        except ValueError:
            messages_pb2.Summary.FromString(
                summary
            )  # the next line raises DecodeError for other bytes
            raise
        if any(value.has_metadata for value in values):
            summary = summary_of_values([self._stored(value) for value in values])
        self._add("summary", summary, global_step)

    def _stored(self, value: Any) -> bytes:
        known = value.tag in self._seen_tags
        if value.has_metadata:
            self._seen_tags.add(value.tag)
        return without_metadata(value.content) if known else value.content

    def add_event(self, event: Any) -> None:
        """Add an Event message unchanged. Raises TypeError if `event` is not an Event."""
        self._warn_if_closed()
        self.event_writer.add_event_bytes(_message(event, "Event").SerializeToString())

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Add a SessionLog message, which records a start, a stop or a checkpoint. Raises TypeError
        if `session_log` is not a SessionLog.
        """
        content = _message(session_log, "SessionLog").SerializeToString()
        self._add("session_log", content, global_step)

    def add_graph(
        self, graph: Graph | None, global_step: Any = None, graph_def: Any = None
    ) -> None:
        """Add a Graph together with the shapes of its tensors, or add a GraphDef.

        Raises:
          ValueError: both `graph` and `graph_def` are passed.
          TypeError: an argument has the wrong type.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        chosen = graph if graph is not None else graph_def
        if isinstance(chosen, Graph):
            message = chosen.as_graph_def(add_shapes=True)
        elif _is_message(chosen, "GraphDef"):
            message = chosen
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, not "
                f"{type(chosen)}"
            )
        self._add("graph_def", message.SerializeToString(), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Add a MetaGraphDef. Raises TypeError if `meta_graph_def` is not a MetaGraphDef."""
        if not _is_message(meta_graph_def, "MetaGraphDef"):
            raise TypeError(
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}"
            )
        self._add("meta_graph_def", meta_graph_def.SerializeToString(), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Add the RunMetadata of a run under a tag. Raises ValueError if the tag was used
        before.
        """
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        content = tagged_run_metadata(tag, run_metadata.SerializeToString())
        self._run_tags.add(tag)
        self._add("tagged_run_metadata", content, global_step)

    def flush(self) -> None:
        """Write all buffered events."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Write all buffered events, and close the file."""
        self._closed = True
        self.event_writer.close()

    def reopen(self) -> None:
        """After `close`, open a new file in the folder, to which later events are written."""
        self.event_writer.reopen()
        self._closed = False

    def _add(self, kind: str, content: bytes, global_step: Any) -> None:
        self._warn_if_closed()
        step = 0 if global_step is None else int(global_step)
        self.event_writer.add_event_bytes(event_message(time.time(), step, kind, content))

    def _warn_if_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=stack_level(),
            )


def scalar_message(tag: str, value: float) -> Any:
    """Return a Summary message with one number. Callers that have their own writer use it."""
    return messages_pb2.Summary(value=[messages_pb2.Summary.Value(tag=tag, simple_value=value)])


def _event_writer(
    logdir: Any, max_queue: int, flush_secs: float, suffix: str | None, session: Any
) -> EventFileWriter:
    if session is None:
        return EventFileWriter(logdir, max_queue, flush_secs, suffix)
    known = _OF_SESSIONS.setdefault(session, {})
    key = (os.path.abspath(os.fspath(logdir)), suffix or "")
    if key not in known or known[key].closed:
        known[key] = EventFileWriter(logdir, max_queue, flush_secs, suffix)
    return known[key]


def _is_message(value: Any, name: str) -> bool:
    descriptor = getattr(value, "DESCRIPTOR", None)
    return getattr(descriptor, "full_name", None) == f"tensorflow.{name}"


def _message(value: Any, name: str) -> Any:
    if not _is_message(value, name):
        raise TypeError(f"Expected a {name} message or its bytes, not {type(value)}")
    return value


def _meta_graph(graph: Graph | None, graph_def: Any) -> Any:
    if graph is not None:
        return export_scoped_meta_graph(graph=graph)[0]
    return messages_pb2.MetaGraphDef(graph_def=graph_def)
