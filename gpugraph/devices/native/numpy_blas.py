"""Matrix products as native calls, by the BLAS that NumPy has loaded.

They can be members of a `sequence`, between kernels. NumPy chooses the BLAS: its own wheels carry
OpenBLAS under special names. If the BLAS has none of the names below, there is a reason instead.

    products    views -> the layout of each matrix, batch axes that are rows -> blocks, by sizes

While native products run the BLAS has one thread, and blocks are for the threads of the runtime:
it would use two from a million multiplications on, which pays from 30 million.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.config.environment import thread_count
from gpugraph.devices.native.native_runtime import (
    RUNTIME,
    Call,
    Runtime,
    address_of,
    internal_error,
)
from gpugraph.devices.native.product_views import ProductViews

_NAMES = (
    ("scipy_cblas_{}64_", True),
    ("cblas_{}64_", True),
    ("cblas_{}64", True),
    ("scipy_cblas_{}", False),
    ("cblas_{}", False),
)
"""CBLAS functions by name, and whether their integers have 64 bits."""

_THREADS = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads",
)
"""The functions that get and set the number of its threads, if it is OpenBLAS."""

_BLOCK = 3_000_000
"""The work of half a product from which it is split into two blocks. Each packs the shared matrix
again, which costs 5 to 10 % of it. Eight times the work halves the blocks once more."""

_LINE = 32
"""The unit of a block's rows and columns: the tile of the BLAS's kernels."""

_MANY = 8
"""The number of products in a batch that are enough for threads without being split."""

_THREAD_WORK = 750_000
"""Work that is worth another thread: 12 us."""

_VECTOR_WORK = 8
"""The factor by which a multiplication takes longer if the matrix is read for one vector alone."""

_RELEASE_WORK = 1_000_000
"""Work from which the GIL is released; work is counted in multiplications of float32."""

_MATRICES, _COLUMN, _ROW = range(3)


class _Products(ctypes.Structure):
    """`gg_products` of host_runtime.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("entry", "gemm", "gemv")),
        *((name, ctypes.c_int64) for name in ("is_wide", "item", "kind")),
        *((name, ctypes.c_int64) for name in ("transposes_a", "transposes_b")),
        *((name, ctypes.c_int64) for name in ("m", "n", "k", "lda", "ldb", "ldc", "count")),
        *((name, ctypes.c_int64) for name in ("m_each", "n_each", "m_count", "n_count")),
        *((name, ctypes.c_int64) for name in ("each", "parts", "threads")),
        *((name, ctypes.c_void_p) for name in ("a", "b", "c")),
    )


class _Blas(NamedTuple):
    """Addresses of gemm and gemv by the bytes of an element; of get and set, if there are any."""

    functions: dict[int, tuple[int, int]]
    is_wide: bool
    threads: tuple[int, int] | None


@cache
def _blas() -> _Blas | None:
    """Return the functions of NumPy's BLAS, from the library that its module is linked with."""
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
    """Return addresses of functions whose names have these parts; none unless all exist."""
    try:
        return [address_of(getattr(library, name.format(part))) for part in parts]
    except AttributeError:
        return []


def has_blas() -> bool:
    """Return whether NumPy's BLAS has the functions that are needed here."""
    return _blas() is not None


def blas_reason() -> str:
    """Return why there are no native products; empty if there are."""
    if _blas() is None:
        return "NumPy's BLAS has none of the known names: its products are called through NumPy"
    return "" if RUNTIME.get(False) is not None else RUNTIME.reason or "the runtime is compiled"


def blas_threads_reason() -> str:
    """Return why native products leave their threads to the BLAS; empty if they don't."""
    blas = _blas()
    return (
        "" if blas and blas.threads else "NumPy's BLAS has no known function that sets its threads"
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's products to one thread, where possible.

    Threads of a BLAS spin while they wait for each other, and for the next product. If a core is
    needed elsewhere, small products take many times as long with two threads, and native code after
    a product has to share its cores."""
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
    """Return the calls before and after a use of one thread; the last one restores the number. A
    loaded runtime counts these uses together with those of its products."""
    if runtime is None:
        users = _users(threads)
        return users.enter, users.leave
    _set_thread_functions(runtime, threads)
    return runtime.library.gg_blas_enter, runtime.library.gg_blas_leave


def threads_to_restore() -> int:
    """Return the BLAS's number of threads once no user needs a single one; 0 without a user."""
    blas, runtime = _blas(), RUNTIME.loaded
    if blas is None or blas.threads is None:
        return 0
    before = 0 if runtime is None else int(runtime.library.gg_blas_before())
    return max(before, _users(blas.threads).before)


class _Users:
    """Counts the concurrent users of a BLAS with one thread, as `gg_blas` of host_runtime.c."""

    def __init__(self, threads: tuple[int, int]) -> None:
        get, put = threads
        self._get = ctypes.CFUNCTYPE(ctypes.c_int)(get)
        self._set = ctypes.CFUNCTYPE(None, ctypes.c_int)(put)
        self._lock = new_lock()
        self._count = 0
        self._restored = 0  # the number to restore; 0: none
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def enter(self) -> None:
        """Set the number to 1."""
        with self._lock:
            if not self._count:
                self._restored = self._restored or self._get()
                self._set(1)
            self._count += 1

    def leave(self) -> None:
        """Restore the number, if that was the last user."""
        with self._lock:
            if self._count == 1:
                self._set(self._restored)
                self._restored = 0
            self._count = max(self._count - 1, 0)

    @property
    def before(self) -> int:
        """The number to restore; 0 without a user."""
        return self._restored if self._count else 0

    def _forget(self) -> None:
        """Drop the users, of which a forked child has none; keep the number to restore."""
        self._count = 0


@cache
def _users(threads: tuple[int, int]) -> _Users:
    return _Users(threads)


def product(a: Any, b: Any, out: Any, transpose_a: bool = False, transpose_b: bool = False) -> Call:
    """Call `products` for one triple; with `transpose_a` a is used transposed, and b likewise."""
    return products([(a.T if transpose_a else a, b.T if transpose_b else b, out)])


def products(triples: Sequence[tuple[Any, Any, Any]]) -> Call:
    """Return a call that computes out = a @ b for each triple (a, b, out), one after the other.

    a: (..., m, k), b: (..., k, n), out: (..., m, n), with equal leading axes, all float32 or all
    float64. Of the last two axes of a and b either may be the contiguous one, of out it is the
    last; the other has a positive stride of whole elements, at least as long as a row or column.
    Leading axes of a and b have any strides (0 too). One call at a time.

    NotNativeError for other dtypes and strides, or an `out` that overlaps itself or an
    input; InternalError for shapes that don't fit, a read-only `out`, or if there is a
    `blas_reason`.
    """
    blas, runtime = _blas(), RUNTIME.get(True)
    if blas is None or runtime is None:
        raise internal_error(blas_reason())
    if blas.threads is not None:
        _set_thread_functions(runtime, blas.threads)
    calls = [_product(blas, runtime, *triple) for triple in triples]
    return calls[0] if len(calls) == 1 else runtime.sequence(calls)


@cache
def _set_thread_functions(runtime: Runtime, threads: tuple[int, int]) -> None:
    runtime.library.gg_blas_threads(*map(ctypes.c_void_p, threads))


def _product(blas: _Blas, runtime: Runtime, a: Any, b: Any, out: Any) -> Call:
    views = ProductViews.of(a, b, out)
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
    work = _cut(block)
    return runtime.call(block, (*starts, a, b, out), work >= _RELEASE_WORK)


def _kind(m: int, n: int, k: int) -> int:
    """Return the kind of function: gemm if there is nothing to multiply, as gemv writes nothing."""
    if k == 0:
        return _MATRICES
    return _COLUMN if n == 1 else _ROW if m == 1 else _MATRICES


def _cut(block: _Products) -> int:
    """Split products into blocks by their sizes alone, and blocks into parts; return the work."""
    work: int = block.m * block.n * block.k * block.item // 4
    if block.kind != _MATRICES:
        work *= _VECTOR_WORK
    m, n = block.m, block.n
    if block.count < _MANY:
        m, n = _edges(m, n, work)
    block.m_each, block.n_each = m, n
    block.m_count, block.n_count = ceil(block.m / m), ceil(block.n / n)
    total: int = work * block.count
    units = block.count * block.m_count * block.n_count
    block.threads = max(1, min(thread_count(), total // _THREAD_WORK, units))
    block.each = units if block.threads == 1 else max(1, units // (4 * block.threads))
    block.parts = ceil(units / block.each)
    return total


def _edges(m: int, n: int, work: int) -> tuple[int, int]:
    """Return the rows and columns of a block."""
    limit = 2 * _BLOCK
    while work >= limit and max(m, n) > _LINE:
        limit *= 8
        if m >= n:
            m = ceil(m / 2 / _LINE) * _LINE
        else:
            n = ceil(n / 2 / _LINE) * _LINE
    return m, n
