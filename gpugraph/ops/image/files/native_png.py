"""Native code that removes the filters of PNG files without the GIL (host_png.h)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.kernel import KernelContext
from gpugraph.plan import check_run

_NUMBERS = 6
_BAND_BYTES = 1 << 24
"""The size of the rows between two checks whether the run must end."""
_STEPS = (1, 2, 3, 4, 6, 8)


class _Call(threading.local):
    """The native function that is bound for one thread, with the memory for its parameters."""

    call: Callable[[], int] | None = None
    request: Any = None


_CALL = _Call()


class NativePng:
    """The native function that removes filters. Any number of threads may call it."""

    def __init__(self, context: KernelContext) -> None:
        self._compiled = context.compiled("host_png.h", "bytes")

    def rows(self, filtered: Any, step: int) -> Any:
        """Return the bytes [height, size] of rows. Return None if the code is not compiled, or does
        not support the number of bytes per pixel.

        Args:
          filtered: [height, 1 + size], uint8: for each row, the number of its filter, up to 4, and
            its filtered bytes.
          step: the number of bytes of a pixel.
        """
        file = self._compiled(0.0)
        if file is None or step not in _STEPS:
            return None
        if _CALL.call is None:
            _CALL.request = np.zeros(_NUMBERS, np.int64)
            _CALL.call = file.bind("gg_png", [], [_CALL.request], dtype="bytes")
        height, size = filtered.shape[0], filtered.shape[1] - 1
        rows = np.empty((height, size), np.uint8)
        above, band = np.zeros(size, np.uint8), max(1, _BAND_BYTES // (size + 1))
        for start in range(0, height, band):
            check_run("in a PNG file")
            parts = filtered[start : start + band], rows[start : start + band], above
            places = [array.__array_interface__["data"][0] for array in parts]
            _CALL.request[:] = len(parts[0]), size, step, *places
            if _CALL.call():
                return None
            above = rows[start + len(parts[0]) - 1]
        return rows
