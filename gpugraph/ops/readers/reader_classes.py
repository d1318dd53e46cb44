"""The reader classes: tf.TextLineReader and others."""

from __future__ import annotations

from typing import Any

from gpugraph.formats.record_files import TFRecordOptions
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.queues.queue_classes import QueueBase


def _handle_of(queue: Any) -> Any:
    return queue.queue_ref if isinstance(queue, QueueBase) else queue


class ReaderBase:
    """Reads records from files whose names it takes from a queue of strings.

    reader_ref: the reader's handle. supports_serialize: whether it has a serializable state.
    A session has one reader for each handle's node; reads run one at a time.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The reader's handle."""
        return self._reader_ref

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the next record, a pair of string scalars: `key` and `value`.

        queue: the queue of names, or its handle. At the end of a file, the next name is taken,
        which may wait. A run raises OutOfRangeError if the queue is closed and empty.
        """
        return raw_ops.ReaderReadV2(self._reader_ref, _handle_of(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Return the next records of one file, a pair of string vectors: `keys` and `values`.

        There are `num_records` of them, or fewer at the end of the file.
        """
        return raw_ops.ReaderReadUpToV2(self._reader_ref, _handle_of(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records read, an int64 scalar."""
        tensor: Tensor = raw_ops.ReaderNumRecordsProducedV2(self._reader_ref, name=name)
        return tensor

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of files finished, an int64 scalar."""
        tensor: Tensor = raw_ops.ReaderNumWorkUnitsCompletedV2(self._reader_ref, name=name)
        return tensor

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the state, a string scalar.

        A run raises UnimplementedError if the reader has none.
        """
        tensor: Tensor = raw_ops.ReaderSerializeStateV2(self._reader_ref, name=name)
        return tensor

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Return an operation that restores a state of `serialize_state`.

        The state must be from a reader of the same kind.
        """
        operation: Operation = raw_ops.ReaderRestoreStateV2(self._reader_ref, state, name=name)
        return operation

    @property
    def supports_serialize(self) -> bool:
        """Whether the reader has a serializable state."""
        return self._supports_serialize

    def reset(self, name: str | None = None) -> Operation:
        """Return an operation that resets the reader."""
        operation: Operation = raw_ops.ReaderResetV2(self._reader_ref, name=name)
        return operation


class WholeFileReader(ReaderBase):
    """Reads whole files: the key is the name, the value the content."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(raw_ops.WholeFileReaderV2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Reads lines without their line ends: the key is "file:line".

    skip_header_lines: the number of lines to skip at the beginning of each file.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(
            raw_ops.TextLineReaderV2(skip_header_lines=skip_header_lines or 0, name=name)
        )


class FixedLengthRecordReader(ReaderBase):
    """Reads records of one length: the key is "file:number".

    header_bytes, footer_bytes: bytes to skip at both ends of a file. hop_bytes: the distance from
    the start of one record to that of the next. encoding: "ZLIB" or "GZIP" for compressed files.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            raw_ops.FixedLengthRecordReaderV2(
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )


class TFRecordReader(ReaderBase):
    """Reads TFRecords: the key is "file:offset". options: the compression of the files."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(raw_ops.TFRecordReaderV2(compression_type=kind, name=name))


class IdentityReader(ReaderBase):
    """Reads the names themselves: keys and values are the elements of the queue."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(raw_ops.IdentityReaderV2(name=name), supports_serialize=True)
