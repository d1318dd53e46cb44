"""Static costs: when steps are worth compiling, and where NumPy is faster than native code.

Both follow from the forms and arrays of steps, so that the same program gets the same code in each
process, on a busy machine too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.compile.steps.native_node_code import Candidate

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


def step_nanoseconds(step: Candidate | None) -> float:
    """Estimate the time that NumPy takes for a step; None: a step without native code."""
    if step is None:
        return CALL_NS
    return numpy_nanoseconds(step.arrays, max(len(step.context.attrs.get("members", ())), 1))
