"""The ops on readers, which create handles, read records, and return counts and states.

A session keeps one reader for each container and shared name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.queues.handle_ops import (
    SHARING,
    Run,
    handle_op,
    held_object,
    infer_scalars,
    query_op,
    resource_name,
    resource_op,
    waiting_op,
)
from gpugraph.ops.queues.queue_ops import queue_of
from gpugraph.ops.readers.reader import Reader
from gpugraph.ops.readers.record_sources import (
    FixedLengths,
    OpenWork,
    names,
    text_lines,
    tf_records,
    whole_files,
)


def _text_lines(attrs: Mapping[str, Any]) -> OpenWork:
    return partial(text_lines, attrs["skip_header_lines"])


def _fixed_lengths(attrs: Mapping[str, Any]) -> OpenWork:
    header, record, footer, hop = (
        attrs[f"{part}_bytes"] for part in ("header", "record", "footer", "hop")
    )
    return FixedLengths(header, record, footer, hop, attrs["encoding"])


def _tf_records(attrs: Mapping[str, Any]) -> OpenWork:
    return partial(tf_records, attrs["compression_type"])


def _declare(
    op_type: str,
    source: Callable[[Mapping[str, Any]], OpenWork],
    doc: str,
    is_whole: bool = False,
    **attrs: Attr,
) -> None:
    """Declare an op that creates a reader.

    Args:
      source: a function that receives the attrs of a node. It returns a function that opens the
        file of a given name.
      is_whole: whether each file is a single record.
    """

    def bind(context: KernelContext, handle: Any) -> Run:
        open_work = source(context.attrs)
        reader = context.shared(
            *resource_name(context), lambda: Reader(op_type, context.name, open_work, is_whole)
        )
        if not isinstance(reader, Reader) or reader.op_type != op_type:
            raise invalid_argument(f"'{context.name}' shares the name of another resource")
        return lambda: handle.fill(reader)

    resource_op(op_type, bind, doc, output="reader_handle", **attrs)


_declare("IdentityReaderV2", lambda _: names, "Read the names of files themselves.", True)
_declare("WholeFileReaderV2", lambda _: whole_files, "Read whole files.", True)
_declare("TextLineReaderV2", _text_lines, "Read lines of text.", skip_header_lines=Attr("int", 0))
_declare(
    "FixedLengthRecordReaderV2",
    _fixed_lengths,
    "Read records of one length.",
    is_whole=False,
    header_bytes=Attr("int", 0),
    record_bytes=Attr("int", required=True),
    footer_bytes=Attr("int", 0),
    hop_bytes=Attr("int", 0),
    **SHARING,
    encoding=Attr("string", ""),
)
_declare(
    "TFRecordReaderV2",
    _tf_records,
    "Read TFRecords.",
    is_whole=False,
    **SHARING,
    compression_type=Attr("string", ""),
)


def _reader_of(handle: Any) -> Reader:
    return held_object(handle, Reader, "reader")


def _scalar(text: bytes) -> Any:
    array = np.empty((), object)
    array[()] = text
    return array


def _bind_read(_: KernelContext, handle: Any, queue: Any) -> Run:
    return lambda: [_scalar(part) for part in _reader_of(handle).read(queue_of(queue))]


def _bind_read_up_to(_: KernelContext, handle: Any, queue: Any, count: Any) -> Run:
    def read() -> list[Any]:
        records = _reader_of(handle).read_up_to(queue_of(queue), int(count[()]))
        parts = np.empty((len(records), 2), object)
        parts[:] = records or parts
        return [parts[:, 0].copy(), parts[:, 1].copy()]

    return read


def _infer_records(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[2], 0, "num_records")
    return [TensorShape.of((None,))] * 2


waiting_op(
    "ReaderReadV2",
    _bind_read,
    "Return key and value of the next record; at the end of a file, take the next from the queue.",
    inputs="reader_handle: resource, queue_handle: resource",
    outputs="key: string, value: string",
    infer=infer_scalars,
)
waiting_op(
    "ReaderReadUpToV2",
    _bind_read_up_to,
    "Return keys and values of the next records of one file, at most `num_records`.",
    inputs="reader_handle: resource, queue_handle: resource, num_records: int64",
    outputs="keys: string, values: string",
    infer=_infer_records,
)


_HANDLE = "reader_handle: resource"


def _bind_restore(_: KernelContext, handle: Any, state: Any) -> Run:
    return lambda: _reader_of(handle).restore(state[()])


def _bind_reset(_: KernelContext, handle: Any) -> Run:
    return lambda: _reader_of(handle).reset()


for _type, _output, _query, _doc in (
    (
        "ReaderNumRecordsProducedV2", "records_produced: int64",
        lambda handle: _reader_of(handle).num_records, "Return the number of records read.",
    ),
    (
        "ReaderNumWorkUnitsCompletedV2", "units_completed: int64",
        lambda handle: _reader_of(handle).num_finished, "Return the number of files finished.",
    ),
    (
        "ReaderSerializeStateV2", "state: string",
        lambda handle: _reader_of(handle).state(), "Return a reader's state as bytes.",
    ),
):  # fmt: skip
    query_op(_type, _output, _query, _doc, inputs=_HANDLE)
handle_op(
    "ReaderRestoreStateV2",
    _bind_restore,
    "Restore a reader's state.",
    inputs="reader_handle: resource, state: string",
)
handle_op("ReaderResetV2", _bind_reset, "Reset a reader.", inputs=_HANDLE)
