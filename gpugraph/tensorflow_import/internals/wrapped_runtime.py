"""`tensorflow.python.pywrap_tensorflow`, with the functions of TensorFlow's C library that programs
call.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from gpugraph.base.dtypes import bfloat16 as _bfloat16
from gpugraph.formats.record_files import TFRecordWriter
from gpugraph.formats.summary_bytes import file_version_event
from gpugraph.ops.framework.constant_value import constant_value


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
