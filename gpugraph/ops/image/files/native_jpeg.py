"""The decoding of JPEG files by native code (host_jpeg.h), without the GIL.

    pixels = NativeJpeg(context).pixels(data, channels)

The result is None for files that the native code does not support, which are progressive files,
damaged files and files with unusual colours. It is also None for any file before the code is
compiled. The caller then uses Pillow. Both decoders return the same bits as libjpeg.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.kernel import KernelContext

_FILE = "host_jpeg.h"
_SIZES, _PIXELS = range(2)
_MODE, _DATA, _BYTES, _HEIGHT, _WIDTH, _COMPONENTS, _CHANNELS, _SPACE, _PLANES, _OUT = range(10)
_NUMBERS = 14


class _Calls(threading.local):
    """The native functions that are bound for one thread, with the memory for their parameters and
    for planes of pixels.
    """

    calls: tuple[Callable[[], int], ...] = ()
    request: Any = None
    planes: Any = None


_CALLS = _Calls()


class NativeJpeg:
    """The native decoder, which any number of threads may call."""

    def __init__(self, context: KernelContext) -> None:
        self._compiled = context.compiled(_FILE, "bytes")

    def pixels(
        self, data: bytes, channels: int, window: tuple[int, int, int, int] | None = None
    ) -> Any:
        """Return the pixels [height, width, channels] of a file. If the native code does not
        support the file, return None.

        Args:
          channels: 1 or 3, or 0 for the number in the file.
          window: the first row and column, the height and the width of the part that is returned.
            By default, all pixels are returned.
        """
        if not self._is_ready():
            return None
        request, content = _CALLS.request, np.frombuffer(data, np.uint8)
        request[_MODE], request[_DATA], request[_BYTES] = _SIZES, _address(content), len(data)
        read_sizes, read_pixels = _CALLS.calls
        if read_sizes():
            return None
        height, width, components = request[_HEIGHT : _COMPONENTS + 1].tolist()
        top, left, rows, columns = window or (0, 0, height, width)
        if min(top, left) < 0 or min(rows, columns) < 1:
            return None
        if top + rows > height or left + columns > width:
            return None
        channels = channels or components
        planes = _planes(int(request[_SPACE]))
        out = np.empty((rows, columns, channels), np.uint8)
        request[_MODE], request[_CHANNELS] = _PIXELS, channels
        request[_PLANES], request[_OUT] = _address(planes), _address(out)
        request[_OUT + 1 :] = top, left, rows, columns
        return None if read_pixels() else out

    def _is_ready(self) -> bool:
        """Return whether the code is compiled. If it is, bind it for this thread."""
        file = self._compiled(0.0)
        if file is None:
            return False
        if not _CALLS.calls:
            _CALLS.request = np.zeros(_NUMBERS, np.int64)
            _CALLS.calls = tuple(
                file.bind(name, [], [_CALLS.request], dtype="bytes")
                for name in ("gg_jpeg_sizes", "gg_jpeg_pixels")
            )
        return True


def _planes(size: int) -> Any:
    """Return scratch memory of this thread."""
    if size > _KEPT_BYTES:
        return np.empty(size, np.uint8)
    if _CALLS.planes is None or len(_CALLS.planes) < size:
        _CALLS.planes = np.empty(size, np.uint8)
    return _CALLS.planes


_KEPT_BYTES = 1 << 22
"""The maximum size of memory that a thread keeps."""


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
