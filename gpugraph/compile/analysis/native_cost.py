"""Static costs: when steps are worth compiling, and where NumPy is faster than native code.

Both follow from the ops and arrays of steps, so that the same program gets the same code in each
process, on a busy machine too.
"""

from __future__ import annotations

from collections.abc import Iterable
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
