"""The decoding of JPEG files by native code (host_jpeg.h), without the GIL.

    pixels = NativeJpeg(context).pixels(data, JpegForm(channels=3))

The native code does not support damaged files and files with unusual colours. For these files, and
before the code is compiled, the result is None. The caller then uses Pillow, whose inverse cosine
transform is the accurate one. For this transform, both decoders return the same bits as libjpeg.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.config.environment import thread_count
from gpugraph.kernel import KernelContext
from gpugraph.kernel.reused_memory import empty_array

_FILE = "host_jpeg.h"
_REFUSED, _DATA, _BYTES, _HEIGHT, _WIDTH, _COMPONENTS, _CHANNELS, _SPACE, _PLANES, _OUT = range(10)
_WINDOW, _IS_FAST, _IS_FANCY, _NUMBERS = 10, 14, 15, 16
_COUNT, _SLOTS, _SLOT_BYTES, _SCRATCH, _THREADS, _BEFORE = range(6)
MAX_REQUESTS = 64
"""The maximum number of files that one native call decodes."""

Window = tuple[int, int, int, int]


class JpegForm(NamedTuple):
    """The form in which a JPEG file is decoded.

    Args:
      channels: 1 or 3, or 0 for the number in the file.
      is_fast: whether to use libjpeg's fast inverse cosine transform instead of its accurate one.
      is_fancy: whether to interpolate chroma of reduced size instead of repeating it.
    """

    channels: int = 0
    is_fast: bool = True
    is_fancy: bool = True


class _Calls(threading.local):
    """The native functions that are bound for one thread, with the memory for their parameters and
    for planes of pixels.
    """

    calls: tuple[Callable[[], int], ...] = ()
    numbers: Any = None
    requests: Any = None
    scratch: Any = None


_CALLS = _Calls()


class NativeJpeg:
    """The native decoder, which any number of threads may call."""

    def __init__(self, context: KernelContext) -> None:
        self._compiled = context.compiled(_FILE, "bytes")

    def pixels(self, data: bytes, form: JpegForm, window: Window | None = None) -> Any:
        """Return the pixels [height, width, channels] of a file, or None if the native code does
        not support the file.

        Args:
          window: the first row, the first column, the height and the width of the part that is
            returned. By default, all pixels are returned.
        """
        (pixels,) = self.pixels_of_several([data], form, [window])
        return pixels

    def pixels_of_several(
        self, files: Sequence[bytes], form: JpegForm, windows: Sequence[Window | None]
    ) -> list[Any]:
        """Return the result of `pixels` for each of at most MAX_REQUESTS files.

        Args:
          windows: the argument `window` for each file.
        """
        if not self._is_ready():
            return [None] * len(files)
        requests = _CALLS.requests[: len(files)]
        _CALLS.numbers[_COUNT] = len(files)
        requests[:, _IS_FAST], requests[:, _IS_FANCY] = form.is_fast, form.is_fancy
        contents = [np.frombuffer(data, np.uint8) for data in files]
        for request, content in zip(requests, contents):
            request[_DATA], request[_BYTES] = _address(content), len(content)
        read_sizes, read_pixels = _CALLS.calls
        read_sizes()
        results = [
            _prepared(request, sizes, form, window)
            for request, sizes, window in zip(requests, requests.tolist(), windows)
        ]
        if any(result is not None for result in results):
            slots = min(len(files), thread_count())
            slot_bytes = -(-int(requests[:, _SPACE].max()) // _LINE) * _LINE
            scratch = _scratch(slots * (slot_bytes + _LINE))
            _CALLS.numbers[_SLOTS:_THREADS] = slots, slot_bytes, _address(scratch)
            read_pixels()
        refused = requests[:, _REFUSED].tolist()
        return [None if is_refused else result for is_refused, result in zip(refused, results)]

    def _is_ready(self) -> bool:
        """Return whether the code is compiled. If it is, bind it for this thread."""
        file = self._compiled(0.0)
        if file is None:
            return False
        if _CALLS.calls:
            return True
        numbers = np.zeros(_BEFORE + MAX_REQUESTS * _NUMBERS, np.int64)
        _CALLS.numbers = numbers
        _CALLS.requests = numbers[_BEFORE:].reshape(MAX_REQUESTS, _NUMBERS)
        _CALLS.calls = tuple(
            file.bind(name, [], [numbers], dtype="bytes")
            for name in ("gg_jpeg_sizes", "gg_jpeg_pixels")
        )
        return True


def _prepared(request: Any, sizes: Sequence[int], form: JpegForm, window: Window | None) -> Any:
    """Complete a request whose sizes were read. Return the array for its pixels, or None if it
    can't be decoded by native code.
    """
    if sizes[_REFUSED]:
        request[_SPACE] = 0
        return None
    height, width, components = sizes[_HEIGHT : _COMPONENTS + 1]
    top, left, rows, columns = window or (0, 0, height, width)
    is_inside = top + rows <= height and left + columns <= width
    if min(top, left) < 0 or min(rows, columns) < 1 or not is_inside:
        request[_REFUSED] = 1
        return None
    channels = form.channels or components
    out = empty_array((rows, columns, channels), _UINT8)
    request[_CHANNELS], request[_OUT] = channels, _address(out)
    request[_WINDOW:_IS_FAST] = top, left, rows, columns
    return out


_UINT8 = np.dtype(np.uint8)


def _scratch(size: int) -> Any:
    """Return scratch memory of this thread, which begins on a cache line."""
    if size > _KEPT_BYTES:
        return _aligned(size)
    if _CALLS.scratch is None or len(_CALLS.scratch) < size:
        _CALLS.scratch = _aligned(size)
    return _CALLS.scratch


def _aligned(size: int) -> Any:
    memory = np.empty(size + _LINE, np.uint8)
    return memory[-_address(memory) % _LINE :]


_LINE = 64
"""The size of a cache line in bytes."""

_KEPT_BYTES = 1 << 22
"""The maximum size of memory that a thread keeps."""


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
