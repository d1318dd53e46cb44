"""Cost estimates: which steps are worth compiling, and for which ops NumPy is faster than native
code.

The estimates depend only on the ops and arrays, not on measurements. So a program gets the same
code in each process, even on a busy machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpugraph.kernel import CSource, Decomposition, RowSource, SourceStages

WORTHWHILE_NS = 10_000_000
"""Steps are compiled once NumPy is estimated to have spent this many nanoseconds on them: about a
tenth of the time of a compilation.
"""

WORTHWHILE_BYTES = 8 << 20
"""Steps over arrays of at least this many bytes are compiled before their first run: NumPy would
spend about WORTHWHILE_NS on them in one run.
"""

CALL_NS = 1_000
"""The estimated overhead of a NumPy call in nanoseconds, without the time for its elements."""

_CALLS = {RowSource: 10, CSource: 10, SourceStages: 10, Decomposition: 4}
"""By native form, an estimate of the NumPy calls that compute an op with this form. Many kernels
need more. Ops with other forms are a single call.
"""

_BYTE_NS = WORTHWHILE_NS / WORTHWHILE_BYTES

_OBJECT_NS = 500
"""The time in nanoseconds that Python takes for a string: ops on strings loop over them."""


def numpy_calls(native: Any) -> int:
    """Return an estimate of the number of NumPy calls for an op with a native form."""
    return _CALLS.get(type(native), 1)


def numpy_nanoseconds(arrays: Iterable[Any], calls: int = 1) -> float:
    """Return an estimate of the nanoseconds that NumPy takes for `calls` calls on these arrays."""
    return calls * CALL_NS + sum(
        _OBJECT_NS * array.size if array.dtype.hasobject else _BYTE_NS * array.nbytes
        for array in arrays
    )


SLOWER = 1.3
"""Native code that takes more than this multiple of NumPy's time is not used."""

LEAST_ELEMENTS = 50_000
"""With fewer elements than this, native code is always faster than NumPy."""

ONE_THREAD = {("Cumsum", "float32"): 1.5}
"""The time of native code on one thread divided by NumPy's time, by op and dtype. Only quotients
above SLOWER are listed (measured by benchmarks/native_or_numpy.py). With several threads, the
quotient is divided by their number.
"""


def numpy_is_faster(op_type: str, arrays: Sequence[Any], threads: int) -> bool:
    """Return whether NumPy computes an op on these arrays faster than native code with `threads`
    threads.
    """
    if max((array.size for array in arrays), default=0) < LEAST_ELEMENTS:
        return False
    multiple = ONE_THREAD.get((op_type, arrays[0].dtype.name), 0.0)
    return multiple / max(threads, 1) > SLOWER
