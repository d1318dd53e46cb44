"""Matrix products as native calls of the BLAS that NumPy has loaded.

The calls can be members of a `sequence`, together with kernels. NumPy's own wheels contain OpenBLAS
with changed function names. If the BLAS has none of the names in this module, there are no native
products, and `blas_reason` returns the reason.

    products    views -> the layout of each matrix, batch axes that are rows -> blocks, by sizes

While a native product runs, the BLAS is limited to one thread, and the threads of the native
runtime compute blocks of the product. The BLAS itself would use two threads for products with at
least a million multiplications. But two threads save time only from 30 million multiplications on.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.config.environment import thread_count
from gpugraph.devices.codegen.program import NotNativeError
from gpugraph.devices.native.native_runtime import (
    RUNTIME,
    Call,
    Runtime,
    address_of,
    internal_error,
)
from gpugraph.devices.native.open_calls import OpenCall
from gpugraph.devices.native.open_views import OpenView
from gpugraph.devices.native.product_views import ProductViews

_NAMES = (
    ("scipy_cblas_{}64_", True),
    ("cblas_{}64_", True),
    ("cblas_{}64", True),
    ("scipy_cblas_{}", False),
    ("cblas_{}", False),
)
"""Templates of the names of CBLAS functions, with the information whether these functions take
64-bit integers.
"""

_THREADS = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads",
)
"""Templates of the names of OpenBLAS's functions that get and set its number of threads."""

_RELEASE_WORK = 1_000_000
"""The minimum work for which the GIL is released.

Work is measured in multiplications of float32.
"""

_MATRICES, _COLUMN, _ROW = range(3)


class _Products(ctypes.Structure):
    """The C structure `gg_products` of host_runtime.c: a batch of matrix products."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("entry", "gemm", "gemv")),
        *((name, ctypes.c_int64) for name in ("is_wide", "item", "kind")),
        *((name, ctypes.c_int64) for name in ("transposes_a", "transposes_b")),
        *((name, ctypes.c_int64) for name in ("m", "n", "k", "lda", "ldb", "ldc", "count")),
        *((name, ctypes.c_int64) for name in ("m_each", "n_each", "m_count", "n_count")),
        *((name, ctypes.c_int64) for name in ("each", "parts", "threads")),
        *((name, ctypes.c_void_p) for name in ("a", "b", "c")),
        ("work", ctypes.c_int64),
    )


class _Blas(NamedTuple):
    """Functions of NumPy's BLAS.

    Args:
      functions: the addresses of gemm and gemv, by the size of an element in bytes.
      is_wide: whether integer parameters of these functions have 64 bits.
      threads: the addresses of the functions that get and set the number of threads, or None.
    """

    functions: dict[int, tuple[int, int]]
    is_wide: bool
    threads: tuple[int, int] | None


@cache
def _blas() -> _Blas | None:
    """Return the functions of NumPy's BLAS, or None if it has no functions with known names. The
    functions are found through NumPy's extension module.
    """
    module = getattr(np, "_core", None)
    path = getattr(getattr(module, "_multiarray_umath", None), "__file__", None)
    if path is None:
        return None
    library = ctypes.CDLL(path)
    pairs = (_all(library, name, ("get", "set")) for name in _THREADS)
    threads = next(((get, put) for get, put in filter(None, pairs)), None)
    for name, is_wide in _NAMES:
        if functions := _all(library, name, ("sgemm", "sgemv", "dgemm", "dgemv")):
            single, double = (functions[0], functions[1]), (functions[2], functions[3])
            return _Blas({4: single, 8: double}, is_wide, threads)
    return None


def _all(library: ctypes.CDLL, name: str, parts: Sequence[str]) -> list[int]:
    """Return the addresses of several functions. Their names are the template `name` with each of
    `parts` inserted. If one of the functions does not exist, return an empty list.
    """
    try:
        return [address_of(getattr(library, name.format(part))) for part in parts]
    except AttributeError:
        return []


def has_blas() -> bool:
    """Return whether NumPy's BLAS has the functions that native products need."""
    return _blas() is not None


def blas_reason() -> str:
    """Return the reason why native code can't call the BLAS at the moment, or "" if it can."""
    if _blas() is None:
        return "NumPy's BLAS has none of the known names: its products are called through NumPy"
    return "" if RUNTIME.get(False) is not None else RUNTIME.reason or "the runtime is compiled"


def blas_threads_reason() -> str:
    """Return the reason why native products can't limit the BLAS to one thread, or "" if they
    can.
    """
    blas = _blas()
    return (
        "" if blas and blas.threads else "NumPy's BLAS has no known function that sets its threads"
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's BLAS to one thread inside the `with` block, if the BLAS has a function that
    sets its number of threads.

    The threads of a BLAS spin while they wait for each other and for the next product. If another
    thread needs a core, small products take many times as long with two threads as with one. Native
    code that runs after a product would share its cores with the spinning threads.
    """
    blas = _blas()
    if blas is None or blas.threads is None:
        yield
        return
    enter, leave = _one_thread(RUNTIME.get(False), blas.threads)
    enter()
    try:
        yield
    finally:
        leave()


@cache
def _one_thread(
    runtime: Runtime | None, threads: tuple[int, int]
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return two functions: the first limits the BLAS to one thread, the second removes the limit.
    When the last user has removed the limit, the BLAS's number of threads is restored.

    If the native runtime is loaded, it counts the users, since its own products are users too.
    """
    if runtime is None:
        users = _users(threads)
        return users.enter, users.leave
    _set_thread_functions(runtime, threads)
    return runtime.library.gg_blas_enter, runtime.library.gg_blas_leave


def threads_to_restore() -> int:
    """Return the number of threads that the BLAS will have when nothing limits it any more. If
    nothing limits it at the moment, return 0.
    """
    blas, runtime = _blas(), RUNTIME.loaded
    if blas is None or blas.threads is None:
        return 0
    before = 0 if runtime is None else int(runtime.library.gg_blas_before())
    return max(before, _users(blas.threads).before)


class _Users:
    """A count of the users that limit a BLAS to one thread. It replaces `gg_blas` of host_runtime.c
    while the native runtime is not loaded.
    """

    def __init__(self, threads: tuple[int, int]) -> None:
        get, put = threads
        self._get = ctypes.CFUNCTYPE(ctypes.c_int)(get)
        self._set = ctypes.CFUNCTYPE(None, ctypes.c_int)(put)
        self._lock = new_lock()
        self._count = 0
        self._restored = 0  # 0 if no user exists
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def enter(self) -> None:
        """Add a user. If this user is the first, set the number of threads to 1."""
        with self._lock:
            if not self._count:
                self._restored = self._restored or self._get()
                self._set(1)
            self._count += 1

    def leave(self) -> None:
        """Remove a user. If this user was the last, restore the number of threads."""
        with self._lock:
            if self._count == 1:
                self._set(self._restored)
                self._restored = 0
            self._count = max(self._count - 1, 0)

    @property
    def before(self) -> int:
        """The number of threads that will be restored, or 0 if there is no user."""
        return self._restored if self._count else 0

    def _forget(self) -> None:
        """Reset the count in a forked child, which has none of these users. Keep the number of
        threads to be restored.
        """
        self._count = 0


@cache
def _users(threads: tuple[int, int]) -> _Users:
    return _Users(threads)


def product(a: Any, b: Any, out: Any, transpose_a: bool = False, transpose_b: bool = False) -> Call:
    """Return a call that computes out = a @ b.

    Args:
      transpose_a, transpose_b: whether a and b are transposed first.
    """
    return products([(a.T if transpose_a else a, b.T if transpose_b else b, out)])


def products(triples: Sequence[tuple[Any, Any, Any]]) -> Call:
    """Return a call that computes out = a @ b for each triple (a, b, out), in order.

    The shapes are a: (..., m, k), b: (..., k, n) and out: (..., m, n), with equal leading axes. All
    arrays are float32, or all are float64. One of the last two axes of a and of b must be
    contiguous. In out, the last axis must be contiguous. If one of the last two axes of an array is
    contiguous, the stride of the other axis must be a positive multiple of the element size, and at
    least the length of a row or column. Leading axes of a and b may have any strides, including 0.
    The call must not run in two threads at the same time.

    Raises NotNativeError if the dtypes or strides do not meet these conditions, or if `out`
    overlaps itself or an input. Raises InternalError if the shapes don't match, if `out` is
    read-only, or if `blas_reason` is not empty.
    """
    blas, runtime = _blas(), RUNTIME.get(True)
    if blas is None or runtime is None:
        raise internal_error(blas_reason())
    if blas.threads is not None:
        _set_thread_functions(runtime, blas.threads)
    calls = [_product(blas, runtime, *triple) for triple in triples]
    if len(calls) > 1 and isinstance(calls[0], OpenCall):
        raise NotNativeError("several products with open sizes")
    return calls[0] if len(calls) == 1 else runtime.sequence(calls)


@cache
def _set_thread_functions(runtime: Runtime, threads: tuple[int, int]) -> None:
    runtime.library.gg_blas_threads(*map(ctypes.c_void_p, threads))


def _product(blas: _Blas, runtime: Runtime, a: Any, b: Any, out: Any) -> Call:
    views = ProductViews.of(a, b, out)
    if isinstance(out, OpenView):
        return _open_product(runtime, views)
    block = _Products(address_of(runtime.library.gg_multiply), *blas.functions[out.itemsize])
    if not out.size:
        return runtime.call(block, (a, b, out), False)
    left, right, result = views.layouts
    block.is_wide, block.item = blas.is_wide, out.itemsize
    block.kind = _kind(views.m, views.n, views.k)
    block.transposes_a, block.transposes_b = left.is_transposed, right.is_transposed
    block.m, block.n, block.k = views.m, views.n, views.k
    block.lda, block.ldb, block.ldc = left.leading, right.leading, result.leading
    starts = views.starts
    block.count = len(starts[2])
    block.a, block.b, block.c = (array.ctypes.data for array in starts)
    block.threads = thread_count()
    runtime.cut("products", block)
    return runtime.call(block, (*starts, a, b, out), block.work >= _RELEASE_WORK)


def _open_product(runtime: Runtime, views: ProductViews) -> OpenCall:
    """Return the call of a product with open sizes."""
    left, right, result = views.layouts
    return OpenCall(
        {
            "kind": _kind(views.m, views.n, views.k),
            "transposes_a": int(left.is_transposed),
            "transposes_b": int(right.is_transposed),
            **{"m": views.m, "n": views.n, "k": views.k, "count": views.starts[2].size},
            **{"lda": left.leading, "ldb": right.leading, "ldc": result.leading},
            **dict(zip("abc", views.starts)),
        },
        cut=address_of(runtime.library.gg_cut_products),
        work=("work", _RELEASE_WORK),
    )


def _kind(m: int, n: int, k: int) -> int:
    """Return the number of the BLAS function that computes a product: gemv for vectors, and gemm
    for matrices. For k = 0, gemm also computes vectors, because gemv would not write zeros.
    """
    if k == 0:
        return _MATRICES
    return _COLUMN if n == 1 else _ROW if m == 1 else _MATRICES
