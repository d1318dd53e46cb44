"""The libraries that compute Fourier transforms: SciPy (the extra `scipy`) if it is installed,
otherwise NumPy.

Both libraries use pocketfft, in the precision of the input. SciPy transforms several rows at once,
and divides large inputs among threads, which is 2 to 10 times as fast as NumPy. For NumPy, all
transformed axes except the last are first moved to the end by a transpose, because its strided
loops are slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from gpugraph.config.environment import thread_count

_SMALL = 1 << 12
"""The number of elements up to which NumPy transforms: SciPy takes a moment to import."""

_LARGE = 1 << 18
"""The number of elements from which threads are worthwhile."""


@cache
def _scipy() -> Any:
    """Return `scipy.fft`, or None if SciPy is not installed."""
    return None if find_spec("scipy") is None else import_module("scipy.fft")


def transformed(function: str, x: Any, axes: Sequence[int], lengths: Sequence[int] | None) -> Any:
    """Return the result of the function of `numpy.fft` with the name `function`, such as "rfftn",
    over several axes.
    """
    engine = _scipy() if x.size > _SMALL else None
    if engine is not None and all(length > 0 for length in lengths or ()):
        workers = thread_count() if x.size >= _LARGE else 1
        return getattr(engine, function)(x, s=lengths, axes=axes, workers=workers)
    if function not in ("fftn", "ifftn"):
        return getattr(np.fft, function)(x, s=lengths, axes=axes)
    one = np.fft.fft if function == "fftn" else np.fft.ifft
    for axis in axes:
        x = one(np.ascontiguousarray(x.swapaxes(axis, -1))).swapaxes(axis, -1)
    return x
