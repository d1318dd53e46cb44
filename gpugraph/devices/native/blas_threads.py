"""BLAS threads: the number of threads that NumPy's BLAS uses for a matrix product.

A function of the BLAS library returns the number. If this library has no such function under a
known name, the BLAS is assumed to use all processors.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

from gpugraph.config.environment import processor_count
from gpugraph.devices.native.numpy_blas import threads_to_restore

_FUNCTIONS = (
    "scipy_openblas_get_num_threads64_",
    "scipy_openblas_get_num_threads",
    "openblas_get_num_threads64_",
    "openblas_get_num_threads",
    "MKL_Get_Max_Threads",
    "bli_thread_get_num_threads",
)


_LINKED = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


def blas_threads() -> int:
    """Return the number of threads, at least 1, that the BLAS uses for one product.

    While `one_blas_thread` limits the BLAS, the result is the number that will be restored.
    """
    ask = _asked()
    return processor_count() if ask is None else max(1, ask(), threads_to_restore())


def reports_threads() -> bool:
    """Return whether the BLAS reports its number of threads. If it does not, `blas_threads` assumes
    a number.
    """
    return _asked() is not None


@cache
def _asked() -> Callable[[], int] | None:
    """Return the function of NumPy's BLAS that returns its number of threads, or None if there is
    none with a known name.
    """
    for module in filter(None, map(sys.modules.get, _LINKED)):
        try:
            library = ctypes.CDLL(str(module.__file__))
        except OSError:
            continue
        for name in _FUNCTIONS:
            function = getattr(library, name, None)
            if function is not None:
                function.restype = ctypes.c_int
                return lambda ask=function: int(ask())  # type: ignore[misc]
    return None
