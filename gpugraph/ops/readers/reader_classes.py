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
    """A reader of records from files. It takes the names of the files from a queue of strings.

    In each session, the node of a handle has a separate reader. Concurrent reads run one after
    another.

    Args:
      reader_ref: the reader's handle.
      supports_serialize: whether the reader has a serializable state.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The reader's handle, a resource tensor."""
        return self._reader_ref

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the next record as a pair of string scalars, `key` and `value`.

        At the end of a file, the op takes the next name from the queue, and waits while the queue
        is empty. A run raises OutOfRangeError if the queue is closed and empty.

        Args:
          queue: the queue of file names, or its handle.
        """
        return raw_ops.ReaderReadV2(self._reader_ref, _handle_of(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Return the next records of one file as a pair of string vectors, `keys` and `values`.

        There are `num_records` records, or fewer at the end of the file.

        Args:
          queue: see `read`.
        """
        return raw_ops.ReaderReadUpToV2(self._reader_ref, _handle_of(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records that were read so far, an int64 scalar."""
        tensor: Tensor = raw_ops.ReaderNumRecordsProducedV2(self._reader_ref, name=name)
        return tensor

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of files that were completely read, an int64 scalar."""
        tensor: Tensor = raw_ops.ReaderNumWorkUnitsCompletedV2(self._reader_ref, name=name)
        return tensor

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the reader's counts and file name as bytes in a string scalar.

        A run raises UnimplementedError unless `supports_serialize` is true.
        """
        tensor: Tensor = raw_ops.ReaderSerializeStateV2(self._reader_ref, name=name)
        return tensor

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Return an operation that restores a state.

        Args:
          state: a string scalar that `serialize_state` of a reader of the same class has returned.
        """
        operation: Operation = raw_ops.ReaderRestoreStateV2(self._reader_ref, state, name=name)
        return operation

    @property
    def supports_serialize(self) -> bool:
        """Whether the reader has a serializable state. Only readers for which each file is a single
        record have one.
        """
        return self._supports_serialize

    def reset(self, name: str | None = None) -> Operation:
        """Return an operation that closes the file and sets all counts to 0."""
        operation: Operation = raw_ops.ReaderResetV2(self._reader_ref, name=name)
        return operation


class WholeFileReader(ReaderBase):
    """A reader of whole files. The key is the file's name, and the value is its content."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(raw_ops.WholeFileReaderV2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """A reader of lines without their line ends. The key is "file:line", where lines are counted
    from 1.

    Args:
      skip_header_lines: the number of lines to skip at the beginning of each file.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(
            raw_ops.TextLineReaderV2(skip_header_lines=skip_header_lines or 0, name=name)
        )


class FixedLengthRecordReader(ReaderBase):
    """A reader of records of `record_bytes` bytes. The key is "file:number", where records are
    counted from 0.

    Args:
      header_bytes, footer_bytes: the numbers of bytes to skip at the beginning and the end of each
        file.
      hop_bytes: the distance from the start of one record to the start of the next, by default the
        record's length.
      encoding: "ZLIB" or "GZIP" for compressed files.
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
    """A reader of TFRecords. The key is "file:offset".

    Args:
      options: the compression of the files.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(raw_ops.TFRecordReaderV2(compression_type=kind, name=name))


class IdentityReader(ReaderBase):
    """A reader that opens no files. The key and the value of each record are a name from the
    queue.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(raw_ops.IdentityReaderV2(name=name), supports_serialize=True)
