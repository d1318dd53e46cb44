"""Matrix products as native calls, by the BLAS that NumPy has loaded.

They can be members of a `sequence`, between kernels. Which BLAS there is is NumPy's business: its
own wheels carry OpenBLAS under names of its own; where none of the names below is known, there is a
reason instead.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gpugraph.devices.native.runtime import RUNTIME, Call, address_of
from gpugraph.errors import InternalError

__all__ = ["blas_reason", "product"]

_NAMES = (
    ("scipy_cblas_{}gemm64_", True),
    ("cblas_{}gemm64_", True),
    ("cblas_{}gemm64", True),
    ("scipy_cblas_{}gemm", False),
    ("cblas_{}gemm", False),
)
"""CBLAS functions by name, and whether their integers have 64 bits."""

_RELEASE_PRODUCTS = 1_000_000
"""Multiplications during which other threads may run Python."""


class _Product(ctypes.Structure):
    """`gg_product` of kernels/host_runtime.c."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("is_wide", ctypes.c_int64),
        ("transposes_a", ctypes.c_int64),
        ("transposes_b", ctypes.c_int64),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("lda", ctypes.c_int64),
        ("ldb", ctypes.c_int64),
        ("ldc", ctypes.c_int64),
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        ("c", ctypes.c_void_p),
    )


class _Found(NamedTuple):
    single: int
    double: int
    is_wide: bool


@cache
def _blas() -> _Found | None:
    """The functions of NumPy's BLAS: what its module is linked with."""
    module = getattr(np, "_core", None)
    path = getattr(getattr(module, "_multiarray_umath", None), "__file__", None)
    if path is None:
        return None
    library = ctypes.CDLL(path)
    for name, is_wide in _NAMES:
        try:
            both = [address_of(getattr(library, name.format(letter))) for letter in "sd"]
        except AttributeError:
            continue
        return _Found(both[0], both[1], is_wide)
    return None


def blas_reason() -> str:
    """Why there are no native products; empty if there are."""
    if _blas() is None:
        return "NumPy's BLAS has none of the known names: its products are called through NumPy"
    return "" if RUNTIME.get(False) is not None else RUNTIME.reason or "the runtime is compiled"


def product(a: Any, b: Any, out: Any, transpose_a: bool = False, transpose_b: bool = False) -> Call:
    """What computes the matrix `out` of C-ordered matrices a and b when called.

    All float32 or all float64, none overlapping `out`. With `transpose_a` a is used transposed, of
    shape (k, m), and b likewise. InternalError for others, or without `blas_reason` being empty.
    """
    blas, runtime = _blas(), RUNTIME.get(True)
    if blas is None or runtime is None:
        raise InternalError(None, None, blas_reason())
    m, k = a.shape[::-1] if transpose_a else a.shape
    k_of_b, n = b.shape[::-1] if transpose_b else b.shape
    arrays = (a, b, out)
    is_real = out.dtype in (np.float32, np.float64) and len({x.dtype for x in arrays}) == 1
    if not is_real or k != k_of_b or out.shape != (m, n) or not all(map(_is_plain, arrays)):
        said = ", ".join(f"{x.dtype}{list(x.shape)}" for x in arrays)
        raise InternalError(None, None, f"No native product of these matrices: {said}")
    is_single = out.dtype == np.float32
    entry = runtime.library.gg_gemm_f32 if is_single else runtime.library.gg_gemm_f64
    function = blas.single if is_single else blas.double
    leading = [max(x.shape[1], 1) for x in arrays]
    block = _Product(
        address_of(entry),
        function,
        blas.is_wide,
        transpose_a,
        transpose_b,
        m,
        n,
        k,
        *leading,
        *(x.ctypes.data for x in arrays),
    )
    return runtime.call(block, arrays, m * n * k >= _RELEASE_PRODUCTS)


def _is_plain(x: Any) -> bool:
    return bool(x.flags.c_contiguous and x.ndim == 2)
