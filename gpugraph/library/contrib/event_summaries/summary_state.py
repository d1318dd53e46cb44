"""The default writer, the recording condition and the default step of summaries that runs write."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gpugraph.base.dtypes import int64
from gpugraph.base.errors import FailedPreconditionError
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.graph.client.default_graph_functions import (
    control_dependencies,
    device,
    get_default_graph,
    name_scope,
)
from gpugraph.library.summary import FileWriter
from gpugraph.library.train.global_step import get_or_create_global_step
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.control.py_func import py_func
from gpugraph.ops.elementwise.comparison_and_select import equal
from gpugraph.ops.elementwise.division import floormod
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor

SUMMARIES = "_SUMMARY_V2"
"""The collection of the operations that write summaries."""

_WRITER_INITIALIZERS = "_SUMMARY_WRITER_INITIALIZERS"


@dataclass
class _State:
    """The settings for all summaries that the program adds from now on."""

    writer: SummaryWriter | None = None
    condition: Any = None
    step: Any = None


_state = _State()


@contextlib.contextmanager
def _with(**settings: Any) -> Iterator[None]:
    earlier = {name: getattr(_state, name) for name in settings}
    vars(_state).update(settings)
    try:
        yield
    finally:
        vars(_state).update(earlier)


class SummaryWriter:
    """A writer of summaries to an event file. A run of the operation `init()` creates the file.

    The writers of `create_noop_writer` write nothing.
    """

    def __init__(self, create: Callable[..., FileWriter] | None, folder: Any = None) -> None:
        self._create, self._folder = create, folder
        self._file: FileWriter | None = None

    @property
    def is_noop(self) -> bool:
        """Whether the writer writes nothing."""
        return self._create is None

    def set_as_default(self) -> None:
        """Make this writer the writer of all summaries that the program adds from now on."""
        _state.writer = self

    def as_default(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager inside which this writer is the default writer."""
        return _default_writer(self)

    def init(self) -> Any:
        """Return the operation that creates the event file. Further runs of the operation have no
        effect.
        """
        return no_op() if self.is_noop else _op(self._open, "create_file_writer", self._folder)

    def flush(self) -> Any:
        """Return the operation that writes buffered events to the file."""
        return no_op() if self.is_noop else _op(lambda: self.file.flush(), "flush")

    def close(self) -> Any:
        """Return the operation that closes the event file."""
        return no_op() if self.is_noop else _op(self._close, "close")

    def _open(self, *folder: Any) -> None:
        if self._file is None and self._create is not None:
            self._file = self._create(*folder)

    def _close(self) -> None:
        self.file.close()
        self._file = None

    @property
    def file(self) -> FileWriter:
        """The open event file. Raises FailedPreconditionError unless a run of `init()` has created
        it.
        """
        if self._file is None:
            raise FailedPreconditionError(
                None,
                None,
                "The summary writer has no file: run tf.contrib.summary.initialize() or the "
                "operations of summary_writer_initializer_op() first",
            )
        return self._file


def _op(function: Callable[..., None], name: str, *inputs: Any) -> Any:
    tensors = [value for value in inputs if value is not None]
    return py_func(function, tensors, [], name=name)


@contextlib.contextmanager
def _default_writer(writer: SummaryWriter) -> Iterator[Any]:
    with _with(writer=writer):
        yield writer


def create_file_writer(
    logdir: Any,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """Return a writer to a new event file in `logdir`. If `logdir` is None, the writer writes
    nothing.

    A run of `tf.contrib.summary.initialize` creates the file.

    Args:
      max_queue: the maximum number of buffered events, by default 10.
      flush_millis: the maximum time between two writes, in milliseconds, by default 120,000. If
        more than this time has passed since the last write when an event is added, all buffered
        events are written at once.
    """
    if logdir is None:
        return create_noop_writer()
    del name
    queue = 10 if max_queue is None else int(max_queue)
    seconds = 120.0 if flush_millis is None else int(flush_millis) / 1000
    suffix = ".v2" if filename_suffix is None else str(filename_suffix)

    def create(folder: bytes) -> FileWriter:
        return FileWriter(
            folder.decode(), max_queue=queue, flush_secs=seconds, filename_suffix=suffix
        )

    with name_scope("create_file_writer"), device("/cpu:0"):
        writer = SummaryWriter(create, convert_to_tensor(logdir))
        get_default_graph().add_to_collection(_WRITER_INITIALIZERS, writer.init())
    return writer


def create_summary_file_writer(*args: Any, **kwargs: Any) -> SummaryWriter:
    """Return the result of `create_file_writer`. `create_summary_file_writer` is an earlier name of
    that function.
    """
    return create_file_writer(*args, **kwargs)


def create_noop_writer() -> SummaryWriter:
    """Return a writer that writes nothing."""
    return SummaryWriter(None)


def default_writer() -> SummaryWriter | None:
    """Return the default writer, to which new summaries are added. If no writer is set, return
    None.
    """
    return _state.writer


def summary_writer_initializer_op() -> list[Any]:
    """Return the operations that create the event files of this graph's writers."""
    return list(get_default_graph().get_collection(_WRITER_INITIALIZERS))


def all_v2_summary_ops() -> list[Any]:
    """Return the operations of this graph that write summaries."""
    return list(get_default_graph().get_collection(SUMMARIES))


def should_record_summaries() -> Any:
    """Return whether summaries are recorded, as a bool tensor. If no condition is set, the result
    is False.
    """
    return _recording(False)


def should_record_summaries_v2() -> Any:
    """Return whether summaries are recorded. If no condition is set, summaries are recorded if
    there is a writer.
    """
    return _recording(True)


def _recording(default: bool) -> Any:
    if _state.writer is None or _state.writer.is_noop:
        return constant(False)
    condition = _state.condition() if callable(_state.condition) else _state.condition
    return convert_to_tensor(default if condition is None else condition)


def record_if(condition: Any) -> contextlib.AbstractContextManager[None]:
    """Return a context manager inside which summaries are recorded if `condition` is true.

    Args:
      condition: a bool, a bool tensor, or a function that returns one of these.
    """
    return _with(condition=condition)


def record_summaries_every_n_global_steps(
    n: int, global_step: Any = None
) -> contextlib.AbstractContextManager[None]:
    """Return a context manager inside which summaries are recorded if the global step is a multiple
    of `n`.
    """
    step = get_or_create_global_step() if global_step is None else global_step

    def should() -> Any:
        with device("/cpu:0"):
            return equal(floormod(convert_to_tensor(step, dtype=int64), n), 0)

    return record_if(should)


def always_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Return a context manager inside which all summaries are recorded."""
    return record_if(True)


def never_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Return a context manager inside which no summaries are recorded."""
    return record_if(False)


def get_step() -> Any:
    """Return the default step of summaries. If no call of `set_step` has set it, return None."""
    return _state.step


def set_step(step: Any) -> None:
    """Set the step of those TensorFlow 2 summaries that are added without a step."""
    _state.step = step


def write_summary(
    summarize: Callable[[], Any], step: Any, is_default: bool, writer: SummaryWriter | None = None
) -> Any:
    """Return a bool tensor. A run that computes this tensor writes a summary, if summaries are
    recorded.

    If there is no writer, return an operation without effect.

    Args:
      summarize: a function that adds the ops of the summary and returns the bytes of the Summary
        message as a tensor.
      is_default: whether summaries are recorded if no condition is set.
    """
    target = writer or _state.writer
    if target is None:
        return no_op()

    def record() -> Any:
        content = summarize()
        written = py_func(_writing(target), [content, step], [], name="write_summary")
        with control_dependencies([written]):
            return constant(True)

    with device("/cpu:0"):
        result = smart_cond(_recording(is_default), record, lambda: constant(False))
    get_default_graph().add_to_collection(SUMMARIES, result)
    return result


def _writing(writer: SummaryWriter) -> Callable[[bytes, Any], None]:
    return lambda content, step: writer.file.add_summary(content, int(step))
