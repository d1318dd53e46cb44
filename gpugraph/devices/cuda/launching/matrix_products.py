"""Matrix products of views of GPU arrays: as the vendor's library is told, and as our kernel is.

What follows a product before it goes to memory (a bias, something to be added, Relu) is part of
both. Where the library has the product but not with that, a kernel of ours does it afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as indices
from math import ceil, prod
from typing import Any, NamedTuple

from gpugraph.base.dtypes import as_dtype
from gpugraph.devices.cuda.driver.driver_interface import Geometry, Product, Span
from gpugraph.devices.cuda.launching.type_macros import type_macros
from gpugraph.devices.cuda.launching.unbound_launch import Work
from gpugraph.devices.cuda.launching.view_copies import StandIns
from gpugraph.devices.native import NotNativeError
from gpugraph.kernel import Epilogue

TILE = 64
"""Rows and columns of a block's tile in kernels/cuda/math/gemm.cu."""

MOST_PRODUCTS = 64
"""Products that one batch may fall into where its strides are irregular."""

MOST_BLOCKS = 65535
"""Blocks along a grid's second and third axis."""

FINISHING_BLOCKS, THREADS = 132 * 32, 256

_TYPES = ("float16", "bfloat16", "float32", "float64", "int32", "int64")


class _Matrix(NamedTuple):
    """A matrix, or a batch of them: where, its strides in elements (rows, columns, batch)."""

    address: int
    row: int
    column: int
    batch: int = 0

    def leading(self, rows: int, columns: int) -> tuple[int, bool]:
        """Elements from row to row, and whether it is stored transposed. NotNativeError if neither
        its rows nor its columns are contiguous."""
        if self.column == 1 or columns == 1:
            return (self.row if rows > 1 else max(columns, 1)), False
        if self.row == 1 or rows == 1:
            return (self.column if columns > 1 else max(rows, 1)), True
        raise NotNativeError("a matrix with neither rows nor columns that are contiguous")


class Multiplied(NamedTuple):
    """One product: as the library is told; by our kernel, if that is possible; what our kernel
    does after a library that has only the plain product, which is nothing after such a one."""

    product: Product
    own: Work | None
    finish: Work | None


def products(
    places: StandIns, a: Any, b: Any, out: Any, finish: Epilogue, tf32: bool
) -> Iterator[Multiplied]:
    """out = a @ b for views with equal leading axes, of stand-ins, and then `finish`."""
    if not out.size:
        return
    name = str(out.dtype)
    if name not in _TYPES:
        raise NotNativeError(f"a matrix product of {name}")
    (m, k), n, batch = a.shape[-2:], b.shape[-1], out.shape[:-2]
    steps = [_batch_step(each, batch) for each in (a, b, out)]
    if None not in steps:
        matrices = [_matrix(places, each, step or 0) for each, step in zip((a, b, out), steps)]
        m, count = _joined(matrices, m, prod(batch))
        product = _product(matrices, (m, n, k), count, name)
        yield _multiplied(product, matrices, places, (a, b, out), finish, tf32)
        return
    if prod(batch) > MOST_PRODUCTS:
        raise NotNativeError(f"a batch of {prod(batch)} products with irregular strides")
    for at in indices(*map(range, batch)):
        views = (a[at], b[at], out[at])
        matrices = [_matrix(places, each, 0) for each in views]
        product = _product(matrices, (m, n, k), 1, name)
        part = None if finish.addend is None else finish.addend[at]
        yield _multiplied(product, matrices, places, views, finish._replace(addend=part), tf32)


def _batch_step(view: Any, batch: tuple[int, ...]) -> int | None:
    """Elements from one matrix to the next; None where that differs."""
    step: int | None = None
    below = 1
    for size, stride in zip(reversed(batch), reversed(view.strides[:-2])):
        if size == 1:
            continue
        each = stride // view.itemsize
        if step is None:
            step = each
        elif each != step * below:
            return None
        below *= size
    return step or 0


def _joined(matrices: list[_Matrix], m: int, batch: int) -> tuple[int, int]:
    """Rows and batch; a batch that shares one b, its rows one after another, is one matrix."""
    a, b, out = matrices
    is_one = not b.batch and a.batch == m * a.row and out.batch == m * out.row
    if batch > 1 and is_one and ceil(m * batch / TILE) <= MOST_BLOCKS:
        return m * batch, 1
    return m, batch


def _matrix(places: StandIns, view: Any, step: int) -> _Matrix:
    address, item = places.of(view), view.itemsize
    if address is None:
        raise NotNativeError("a matrix of the host's")
    return _Matrix(address, view.strides[-2] // item, view.strides[-1] // item, step)


def _product(
    matrices: list[_Matrix], sizes: tuple[int, int, int], batch: int, name: str
) -> Product:
    a, b, out = matrices
    m, n, k = sizes
    lda, transpose_a = a.leading(m, k)
    ldb, transpose_b = b.leading(k, n)
    ldo, transposed = out.leading(m, n)
    if transposed:
        raise NotNativeError("a product stored transposed")
    return Product(
        m, n, k, name, a.address, b.address, out.address, lda, ldb, ldo,
        transpose_a, transpose_b, batch, a.batch, b.batch, out.batch,
    )  # fmt: skip


def _multiplied(
    plain: Product,
    matrices: list[_Matrix],
    places: StandIns,
    views: tuple[Any, Any, Any],
    finish: Epilogue,
    tf32: bool,
) -> Multiplied:
    product = plain._replace(
        bias=_place(places, finish.bias),
        addend=_place(places, finish.addend),
        relu=finish.relu,
        tf32=tf32 and plain.dtype == "float32",
    )
    text = f'{type_macros({"T": as_dtype(plain.dtype)}, {})}#include "gemm.cu"\n'
    added = [_range(places, each) for each in (finish.bias, finish.addend) if each is not None]
    a, b, out = (_range(places, view) for view in views)
    after = (product.out, product.bias, product.addend, int(product.relu))
    m, n, batch = product.m, product.n, product.batch
    own = finishing = None
    if max(ceil(m / TILE), batch) <= MOST_BLOCKS:
        strides = [(each.row, each.column, each.batch) for each in matrices]
        numbers = (m, n, product.k, *(step for three in strides for step in three))
        grid = ceil(n / TILE), ceil(m / TILE), batch
        given = (product.a, product.b, *after, *numbers)
        geometry = Geometry(grid, (256, 1, 1))
        own = Work(text, "gg_gemm", geometry, given, (a, b, *added), (out,))
    if not product.is_plain:
        count = batch * m * n
        grid = min(FINISHING_BLOCKS, ceil(count / THREADS)), 1, 1
        numbers = (m, n, count, product.ldo, product.stride_out)
        geometry = Geometry(grid, (THREADS, 1, 1))
        finishing = Work(text, "gg_finish", geometry, (*after, *numbers), (out, *added), (out,))
    return Multiplied(product, own, finishing)


def _place(places: StandIns, view: Any) -> int:
    """Where a view begins; 0 for None."""
    if view is None:
        return 0
    found = places.of(view)
    if found is None:
        raise NotNativeError("an array of the host's to be added")
    return found


def _range(places: StandIns, view: Any) -> Span:
    """The bytes from a view's first to its last element (strides of products are not negative)."""
    start = places.of(view)
    assert start is not None
    reach = sum((size - 1) * stride for size, stride in zip(view.shape, view.strides))
    return start, reach + view.itemsize
