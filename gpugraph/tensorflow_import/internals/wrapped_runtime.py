"""`tensorflow.python.pywrap_tensorflow`, with the functions of TensorFlow's C library that programs
call.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from gpugraph.base.dtypes import bfloat16 as _bfloat16
from gpugraph.base.errors import OutOfRangeError
from gpugraph.base.whole_files import open_to_read, system_errors
from gpugraph.formats.record_files import TFRecordOptions, TFRecordWriter, tf_record_iterator
from gpugraph.formats.summary_bytes import file_version_event
from gpugraph.formats.tf_record import read_records
from gpugraph.ops.framework.constant_value import constant_value

_FRAME_BYTES = 16
"""The bytes of a record in a file besides its content: the length and two checksums."""


class EventsWriter:
    """A writer of an event file.

    Args:
      prefix: the start of the file's name.
    """

    def __init__(self, prefix: Any) -> None:
        self._prefix, self._suffix = os.fsdecode(prefix), ""
        self._file: TFRecordWriter | None = None
        self._path = ""

    def InitWithSuffix(self, suffix: Any) -> bool:
        """Set the suffix of the file's name, and create the file."""
        self._suffix = os.fsdecode(suffix)
        return self.Init()

    def Init(self) -> bool:
        """Create the file, unless it is already open."""
        if self._file is None:
            now = time.time()
            stamp = f"{int(now):010d}.{socket.gethostname()}"
            self._path = f"{self._prefix}.out.tfevents.{stamp}{self._suffix}"
            self._file = TFRecordWriter(self._path)
            self._file.write(file_version_event(now))
        return True

    def FileName(self) -> str:
        """Return the path of the file. Create the file if it is not open."""
        self.Init()
        return self._path

    def WriteEvent(self, event: Any) -> None:
        """Append an Event message."""
        self.Init()
        assert self._file is not None
        self._file.write(event.SerializeToString())

    def Flush(self) -> bool:
        """Write buffered events."""
        if self._file is not None:
            self._file.flush()
        return True

    def Close(self) -> bool:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        return True


class PyRecordReader:
    """A reader of the records of a TFRecord file. It returns records that are appended to a file
    later, unless the file is compressed.

    Args:
      path: the path of the file.
      start: the position of the first record of an uncompressed file, in bytes.
      compression: a compression type, such as "ZLIB", or "".
    """

    def __init__(self, path: Any, start: int = 0, compression: Any = "") -> None:
        self._path, self._position, self._record = os.fsdecode(path), start, b""
        kind = TFRecordOptions.get_compression_type_string(os.fsdecode(compression))
        self._compressed = tf_record_iterator(self._path, kind) if kind else None
        with system_errors(self._path), open_to_read(self._path):
            pass  # raises an error if there is no file

    def GetNext(self, status: Any = None) -> None:
        """Read the next record.

        Raises OutOfRangeError at the end of the file, and DataLossError for a damaged record.
        """
        record = self._next() if self._compressed is None else next(self._compressed, None)
        if record is None:
            raise OutOfRangeError(None, None, "eof")
        self._record = record

    def _next(self) -> bytes | None:
        with system_errors(self._path), open_to_read(self._path) as source:
            source.seek(self._position)
            record = next(read_records(source, self._path), None)
        self._position += 0 if record is None else _FRAME_BYTES + len(record)
        return record

    def record(self) -> bytes:
        """Return the record that was read last."""
        return self._record

    def offset(self) -> int:
        """Return the position after the record that was read last."""
        return self._position

    def Close(self) -> None:
        """Do nothing, because an uncompressed file is open only while a record is read."""


def PyRecordReader_New(path: Any, start: int, compression: Any, status: Any = None) -> Any:
    """Return a `PyRecordReader`."""
    return PyRecordReader(path, start, compression)


def TF_TryEvaluateConstant_wrapper(graph: Any, output: Any) -> Any:
    """Return the value of a tensor. Return None if it does not depend only on constants."""
    return constant_value(output)


def TF_bfloat16_type() -> Any:
    """Return NumPy's type of bfloat16."""
    return _bfloat16.as_numpy_dtype


def IsGoogleCudaEnabled() -> bool:
    """Return False, because TensorFlow's own CUDA code is not part of this package."""
    return False


def IsMklEnabled() -> bool:
    """Return False."""
    return False
