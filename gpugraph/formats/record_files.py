"""Files of TFRecords, plain or compressed: a writer, and a sequential reader."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar

from gpugraph.base.errors import DataLossError, FailedPreconditionError
from gpugraph.base.lfs_pointers import pointer_text
from gpugraph.base.whole_files import local_path, open_to_read, system_errors
from gpugraph.formats.tf_record import read_records, write_record

_GZIP = 16  # added to zlib's window bits for gzip
_READ_AT_ONCE = 256 << 10


class TFRecordCompressionType:
    """The compression types of a file: none, zlib or gzip."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """The compression of a file of records.

    Raises ValueError if an argument has an invalid value.

    Args:
      compression_type: "ZLIB", "GZIP", "" or a `TFRecordCompressionType`.
      flush_mode: zlib's mode for `flush`.
      window_bits, compression_level, mem_level, compression_strategy: zlib's parameters for
        writing.
      input_buffer_size, output_buffer_size, compression_method: ignored, because the size of the
        buffers is fixed, and zlib has only one method.
    """

    compression_type_map: ClassVar[dict[int, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.flush_mode = flush_mode
        self.compression_type: Any = compression_type
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.get_compression_type_string(compression_type)
        self.window_bits, self.mem_level = window_bits, mem_level
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return "ZLIB", "GZIP" or "".

        Args:
          options: `TFRecordOptions`, a string or a `TFRecordCompressionType`.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def compressor(self) -> Any:
        """Return zlib's compressor for these options. If the file is not compressed, return
        None.
        """
        kind = self.get_compression_type_string(self)
        if not kind:
            return None
        return zlib.compressobj(
            zlib.Z_DEFAULT_COMPRESSION
            if self.compression_level is None
            else self.compression_level,
            zlib.DEFLATED,
            _window(kind, self.window_bits or zlib.MAX_WBITS),
            self.mem_level or zlib.DEF_MEM_LEVEL,
            self.compression_strategy or zlib.Z_DEFAULT_STRATEGY,
        )


def _window(kind: str, bits: int) -> int:
    return bits | _GZIP if kind == "GZIP" else bits


class _Compressed:
    """A writable file that compresses the written bytes. If `compressor` is None, the file writes
    the bytes unchanged.
    """

    def __init__(self, target: BinaryIO, compressor: Any) -> None:
        self._target, self._compressor = target, compressor

    def write(self, content: Any) -> None:
        """Compress bytes, and write the output that the compressor has produced so far."""
        made_smaller = self._compressor is not None
        self._target.write(self._compressor.compress(content) if made_smaller else content)


class TFRecordWriter:
    """A new file of records, which the constructor opens.

    The writer is a context manager. After `close`, methods raise FailedPreconditionError.

    Args:
      options: `TFRecordOptions`, or a compression type.

    >>> with tf.python_io.TFRecordWriter(folder + "/file.records") as writer:
    ...     writer.write(b"first")
    >>> list(tf.python_io.tf_record_iterator(folder + "/file.records"))
    [b'first']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._path = local_path(path)
        self._flush_mode = options.flush_mode or zlib.Z_SYNC_FLUSH
        self._compressor = options.compressor()
        with system_errors(self._path):
            self._file: BinaryIO | None = open(self._path, "wb")  # noqa: SIM115

    def _opened(self) -> BinaryIO:
        if self._file is None:
            raise FailedPreconditionError.of_no_node(f"Writer is closed: {self._path}")
        return self._file

    def write(self, record: Any) -> None:
        """Append a record, which is bytes or a string. A string is encoded in UTF-8."""
        target = self._opened()
        content = record.encode() if isinstance(record, str) else record
        with system_errors(self._path):
            write_record(_Compressed(target, self._compressor), memoryview(content))

    def flush(self) -> None:
        """Pass all records written so far to the operating system."""
        target = self._opened()
        with system_errors(self._path):
            if self._compressor is not None:
                target.write(self._compressor.flush(self._flush_mode))
            target.flush()

    def close(self) -> None:
        """Complete and close the file. Do nothing if it is already closed."""
        if self._file is None:
            return
        target, self._file = self._file, None
        with system_errors(self._path), target:
            if self._compressor is not None:
                target.write(self._compressor.flush())

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class InflatedFile:
    """A reader that decompresses a file. `read(n)` returns at most n bytes, and no bytes at the
    end.

    Raises DataLossError if the file is not compressed in this format, or if it is truncated.

    Args:
      kind: "ZLIB", "GZIP", or "" for an uncompressed file.
      name: the path, for errors.
    """

    def __init__(self, source: BinaryIO, kind: str, name: str) -> None:
        self._source, self._name = source, name
        self._bits = _window(kind, zlib.MAX_WBITS) if kind else 0
        self._stream: Any = None
        self._rest = b""
        self.consumed = 0 if kind else None
        """The number of compressed bytes that have been read; None for an uncompressed file."""

    def read(self, size: int) -> bytes:
        """Return the next decompressed bytes, at most `size`."""
        if self.consumed is None:
            return self._source.read(size)
        while size:
            if not self._rest:
                self._rest = self._source.read(_READ_AT_ONCE)
                self.consumed += len(self._rest)
            is_over = not self._rest
            if is_over and (self._stream is None or self._stream.eof):
                return b""
            part = self._inflate(size)
            if part:
                return part
            if is_over and not self._stream.eof:
                raise DataLossError.of_no_node(f"the compressed file is cut off: {self._name}")
        return b""

    def _inflate(self, size: int) -> bytes:
        if self._stream is None or self._stream.eof:
            self._stream = zlib.decompressobj(self._bits)
        try:
            part: bytes = self._stream.decompress(self._rest, size)
        except zlib.error as error:
            reason = f"{error}: {self._name}{pointer_text(self._rest)}"
            raise DataLossError.of_no_node(f"inflate() failed: {reason}") from None
        self._rest = self._stream.unused_data or self._stream.unconsumed_tail
        return part


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yield the records of a file.

    If there is no file, the first iteration raises NotFoundError. Raises DataLossError if a record
    is damaged or truncated.

    Args:
      options: `TFRecordOptions` or a compression type. The argument must be the compression with
        which the file was written.
    """
    kind, name = TFRecordOptions.get_compression_type_string(options), os.fsdecode(path)
    with system_errors(name), open_to_read(name) as source:
        yield from read_records(InflatedFile(source, kind, name), name)
