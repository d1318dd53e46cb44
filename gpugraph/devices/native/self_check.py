"""The check of the C compiler when the runtime is loaded. The results of `host_self_check.c` are
compared with NumPy's.

Later runs compare native results with NumPy's only with GPUGRAPH_VERIFY=1
(`compile/steps/native_verification.py`). So if a compiler fails this check, its code is never used.
"""

from __future__ import annotations

import ctypes
from math import erf
from typing import Any

import numpy as np

NEAR = 16
"""The maximum difference between a function's result and NumPy's, in roundings."""

_SUM_NEAR = 512
"""The maximum difference of a sum in roundings, relative to the largest partial sum."""

_COUNT = 263
"""The number of test values: several full vectors and a remainder."""


def self_check(library: ctypes.CDLL) -> str:
    """Return the reason why the compiler can't be used, or "" if the results of compiled code are
    equal to NumPy's.

    Several threads may call this function at the same time.

    Args:
      library: the loaded runtime.
    """
    reals = np.linspace(-9.0, 9.0, _COUNT) ** 3 / 81  # includes many small numbers
    integers = np.linspace(-(2**31), 2**31 - 1, _COUNT).astype(np.int32)
    is_sound = (
        _is_near(_results(library.gg_self_check_f32, reals.astype(np.float32), 8), reals)
        and _is_near(_results(library.gg_self_check_f64, reals, 8), reals)
        and np.array_equal(_results(library.gg_self_check_i32, integers, 3), _expected(integers))
    )
    return "" if is_sound else "the C compiler's code computes other numbers than NumPy"


def _results(function: Any, numbers: Any, rows: int) -> Any:
    out = np.empty((rows, numbers.size), numbers.dtype)
    out.view(np.uint8).fill(255)  # not results that the memory may still hold
    addresses = ctypes.c_void_p(numbers.ctypes.data), ctypes.c_void_p(out.ctypes.data)
    function(*addresses, ctypes.c_long(numbers.size))
    return out


def _is_near(results: Any, reals: Any) -> bool:
    """Return whether the native `results` for the inputs `reals` are close to NumPy's results in
    the same dtype.
    """
    rounded = reals.astype(results.dtype)
    x = rounded.astype(np.float64)
    size = (np.abs(rounded) + results.dtype.type(0.125)).astype(np.float64)
    expected = [np.tanh(x), np.exp(x), np.expm1(x), np.log(size), np.log1p(size)]
    expected += [np.array([erf(number) for number in x]), np.sqrt(size)]
    sums = np.cumsum(x * x - x / 3)
    eps = np.finfo(results.dtype).eps
    off = [np.abs(row - other) for row, other in zip(results, [*expected, sums], strict=True)]
    return bool(
        all(np.all(a <= NEAR * eps * np.abs(b)) for a, b in zip(off, expected))
        and np.all(off[-1] <= _SUM_NEAR * eps * np.abs(sums).max())
    )


def _expected(integers: Any) -> Any:
    x = integers.astype(np.int64)
    quotient = np.trunc(x / 7).astype(np.int64)
    rows = [x * 2654435761, quotient - (x - 7 * quotient), (x >> 3) ^ np.where(x < 0, -1, 5)]
    return np.array(rows).astype(np.int32)
