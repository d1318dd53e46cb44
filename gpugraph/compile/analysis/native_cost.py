"""Static costs: when steps are worth compiling, and where NumPy is faster than native code.

Both follow from the ops and arrays of steps, so that the same program gets the same code in each
process, on a busy machine too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

WORTHWHILE_NS = 10_000_000
"""The estimated nanoseconds in NumPy after which steps are compiled: about a tenth of the
compiler's time."""

WORTHWHILE_BYTES = 8 << 20
"""The size in bytes of the arrays of steps that take about as long: such steps are compiled from
the first run on."""

CALL_NS = 1_000
"""The estimated nanoseconds of a call of NumPy, without its elements."""

_BYTE_NS = WORTHWHILE_NS / WORTHWHILE_BYTES


def numpy_nanoseconds(arrays: Iterable[Any], calls: int = 1) -> float:
    """Estimate the time that NumPy takes for calls over these arrays."""
    return calls * CALL_NS + _BYTE_NS * sum(array.nbytes for array in arrays)


SLOWER = 1.3
"""The multiple of NumPy's time from which native code is not used."""

LEAST_ELEMENTS = 50_000
"""The minimum number of elements for that: all native code is faster over fewer."""

ONE_THREAD = {
    ("ApplyFtrl", "float32"): 2.0,
    ("Complex", "float32"): 1.4,
    ("Cumsum", "float32"): 1.5,
}
"""By op and dtype: the time of one thread of native code, as a multiple of NumPy's, where it
exceeds SLOWER (benchmarks/native_or_numpy.py). The work is divided among all threads."""


def numpy_is_faster(op_type: str, arrays: Sequence[Any], threads: int) -> bool:
    """Return whether NumPy is faster for a single op over these arrays than native threads."""
    if max((array.size for array in arrays), default=0) < LEAST_ELEMENTS:
        return False
    multiple = ONE_THREAD.get((op_type, arrays[0].dtype.name), 0.0)
    return multiple / max(threads, 1) > SLOWER
