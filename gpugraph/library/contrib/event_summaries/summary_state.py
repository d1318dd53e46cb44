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
    """The settings for summaries that are added from now on."""

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
    """A writer of summaries into an event file, which an op creates, `init()`.

    The writers of `create_noop_writer` write nothing.
    """

    def __init__(self, create: Callable[..., FileWriter] | None, folder: Any = None) -> None:
        self._create, self._folder = create, folder
        self._file: FileWriter | None = None

    @property
    def is_noop(self) -> bool:
        """Whether it writes nothing."""
        return self._create is None

    def set_as_default(self) -> None:
        """Make it the writer of summaries that are added from now on."""
        _state.writer = self

    def as_default(self) -> contextlib.AbstractContextManager[None]:
        """Return a block in which summaries are added for this writer."""
        return _default_writer(self)

    def init(self) -> Any:
        """Return the operation that creates the event file; it has no effect when it runs again."""
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
        """The open event file. Raises FailedPreconditionError before `init()` has run."""
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
    """Return a writer into a new event file in `logdir`; for None one that writes nothing.

    Args:
      max_queue: the number of events that may be buffered, 10 unless set.
      flush_millis: an event that is added later than this after the last write is written at once,
        120,000 unless set. The file is created by an operation: `tf.contrib.summary.initialize`
        runs it.
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
    """Return `create_file_writer` of the arguments; its earlier name."""
    return create_file_writer(*args, **kwargs)


def create_noop_writer() -> SummaryWriter:
    """Return a writer that writes nothing."""
    return SummaryWriter(None)


def default_writer() -> SummaryWriter | None:
    """Return the writer of summaries that are added now. If no writer is set, return None."""
    return _state.writer


def summary_writer_initializer_op() -> list[Any]:
    """Return the operations that create the event files of this graph's writers."""
    return list(get_default_graph().get_collection(_WRITER_INITIALIZERS))


def all_v2_summary_ops() -> list[Any]:
    """Return the operations of this graph that write summaries."""
    return list(get_default_graph().get_collection(SUMMARIES))


def should_record_summaries() -> Any:
    """Return whether summaries are recorded, a bool or a bool tensor. Return False unless set."""
    return _recording(False)


def should_record_summaries_v2() -> Any:
    """Return whether summaries are recorded. Return True unless set or if there is no writer."""
    return _recording(True)


def _recording(default: bool) -> Any:
    if _state.writer is None or _state.writer.is_noop:
        return constant(False)
    condition = _state.condition() if callable(_state.condition) else _state.condition
    return convert_to_tensor(default if condition is None else condition)


def record_if(condition: Any) -> contextlib.AbstractContextManager[None]:
    """Return a block in which summaries are recorded if a bool, tensor or function is true."""
    return _with(condition=condition)


def record_summaries_every_n_global_steps(
    n: int, global_step: Any = None
) -> contextlib.AbstractContextManager[None]:
    """Return a block in which summaries are recorded if the global step is a multiple of `n`."""
    step = get_or_create_global_step() if global_step is None else global_step

    def should() -> Any:
        with device("/cpu:0"):
            return equal(floormod(convert_to_tensor(step, dtype=int64), n), 0)

    return record_if(should)


def always_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Return a block in which all summaries are recorded."""
    return record_if(True)


def never_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Return a block in which no summary is recorded."""
    return record_if(False)


def get_step() -> Any:
    """Return the step of summaries without one, as set by `set_step`. If it is not set, return
    None.
    """
    return _state.step


def set_step(step: Any) -> None:
    """Set the step of TensorFlow 2's summaries that are added without one."""
    _state.step = step


def write_summary(
    summarize: Callable[[], Any], step: Any, is_default: bool, writer: SummaryWriter | None = None
) -> Any:
    """Return a bool tensor; computing it writes a summary, if summaries are recorded.

    Args:
      summarize: adds the ops of the Summary and returns its bytes as a tensor.
      is_default: whether summaries are recorded if nothing is set. Without a writer, return an
        operation without effect.
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
