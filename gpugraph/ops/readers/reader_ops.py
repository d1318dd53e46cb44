"""Readers as ops: handles, which the session shares by container and name, and what reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import no_outputs, of_rank
from gpugraph.ops.queues.queue_ops import (
    SHARING,
    Run,
    infer_handle,
    infer_scalars,
    queue_of,
    resource_name,
    waiting_op,
)
from gpugraph.ops.readers.reader import Reader
from gpugraph.ops.readers.record_sources import (
    FixedLengths,
    OpenWork,
    names,
    text_lines,
    tf_records,
    whole_files,
)

_HOST = HostOnly("files are read by the host")


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
    """Declares a kind of reader; `source` gives what opens a file, of the node's attrs."""

    def bind(context: KernelContext, handle: Any) -> Run:
        open_work = source(context.attrs)
        reader = context.shared(
            *resource_name(context), lambda: Reader(op_type, context.name, open_work, is_whole)
        )
        if not isinstance(reader, Reader) or reader.op_type != op_type:
            raise invalid_argument(f"'{context.name}' shares the name of another resource")
        return lambda: handle.fill(reader)

    op(
        op_type,
        cpu=Call(make=bind, late=True),
        gpu=_HOST,
        attrs={**attrs, **SHARING},
        outputs="reader_handle: resource",
        host_outputs=(0,),
        infer=infer_handle,
        stateful=True,
        grad=NO_GRADIENT,
        doc=doc,
    )


_declare("IdentityReaderV2", lambda _: names, "Reads the names of files themselves.", True)
_declare("WholeFileReaderV2", lambda _: whole_files, "Reads whole files.", True)
_declare("TextLineReaderV2", _text_lines, "Reads lines of text.", skip_header_lines=Attr("int", 0))
_declare(
    "FixedLengthRecordReaderV2",
    _fixed_lengths,
    "Reads records of one length.",
    header_bytes=Attr("int", 0),
    record_bytes=Attr("int", required=True),
    footer_bytes=Attr("int", 0),
    hop_bytes=Attr("int", 0),
    encoding=Attr("string", ""),
)
_declare("TFRecordReaderV2", _tf_records, "Reads TFRecords.", compression_type=Attr("string", ""))


def _reader_of(handle: Any) -> Reader:
    reader = handle.item(0) if handle.size == 1 else None
    if not isinstance(reader, Reader):
        raise invalid_argument("The handle is that of no reader")
    return reader


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
    "The key and the value of the next record, of the next file of a queue at an end.",
    inputs="reader_handle: resource, queue_handle: resource",
    outputs="key: string, value: string",
    infer=infer_scalars,
)
waiting_op(
    "ReaderReadUpToV2",
    _bind_read_up_to,
    "The keys and values of the next records of one file, `num_records` at most.",
    inputs="reader_handle: resource, queue_handle: resource, num_records: int64",
    outputs="keys: string, values: string",
    infer=_infer_records,
)


def _asking_op(op_type: str, outputs: str, ask: Callable[[Reader], Any], doc: str) -> None:
    """Declares an op that asks a reader for a scalar."""

    def bind(_: KernelContext, handle: Any, out: Any) -> Run:
        def answer() -> None:
            out[()] = ask(_reader_of(handle))

        return answer

    _host_op(op_type, bind, doc, outputs=outputs, infer=infer_scalars)


def _host_op(op_type: str, bind: Callable[..., Run], doc: str, **declaration: Any) -> None:
    declaration = {"inputs": "reader_handle: resource", "infer": no_outputs, **declaration}
    kernel = Call(make=bind, late=True)
    count = len(str(declaration["inputs"]).split(","))
    op(
        op_type, cpu=kernel, gpu=_HOST, grad=NO_GRADIENT, stateful=True, doc=doc,
        host=tuple(range(count)), **declaration,
    )  # fmt: skip


def _bind_restore(_: KernelContext, handle: Any, state: Any) -> Run:
    return lambda: _reader_of(handle).restore(state[()])


def _bind_reset(_: KernelContext, handle: Any) -> Run:
    return lambda: _reader_of(handle).reset()


_asking_op(
    "ReaderNumRecordsProducedV2",
    "records_produced: int64",
    lambda reader: reader.num_records,
    "How many records a reader has read.",
)
_asking_op(
    "ReaderNumWorkUnitsCompletedV2",
    "units_completed: int64",
    lambda reader: reader.num_finished,
    "How many files a reader has finished.",
)
_asking_op("ReaderSerializeStateV2", "state: string", Reader.state, "A reader's state as bytes.")
_host_op(
    "ReaderRestoreStateV2",
    _bind_restore,
    "Brings a reader to a state.",
    inputs="reader_handle: resource, state: string",
)
_host_op("ReaderResetV2", _bind_reset, "Brings a reader to its beginning.")
