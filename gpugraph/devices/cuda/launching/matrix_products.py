"""Matrix products of views of GPU arrays, as arguments for cublasLt and for gpugraph's own kernels.

cublasLt and gpugraph's kernels can apply an epilogue (bias, addend, Relu). If cublasLt supports a
product only without its epilogue, a kernel of gpugraph computes the epilogue afterwards.
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
"""The number of rows and of columns of the result that a block of kernels/cuda/math/gemm.cu
computes.
"""

MAX_PRODUCTS = 64
"""The maximum number of products into which a batch with irregular strides is divided."""

MAX_BLOCKS = 65535
"""The maximum number of blocks along the second and third axis of a grid, by CUDA."""

EPILOGUE_BLOCKS, THREADS = 132 * 32, 256

_TYPES = ("float16", "bfloat16", "float32", "float64", "int32", "int64")


class _Matrix(NamedTuple):
    """A matrix, or a batch of matrices.

    Args:
      address: the address of the first element.
      row, column, batch: the strides, in elements, from one row, column or matrix to the next.
    """

    address: int
    row: int
    column: int
    batch: int = 0

    def leading(self, rows: int, columns: int) -> tuple[int, bool]:
        """Return the number of elements from one row in memory to the next, and whether the matrix
        is stored transposed.

        Raises NotNativeError if neither the rows nor the columns of the matrix are contiguous in
        memory.
        """
        if self.column == 1 or columns == 1:
            return (self.row if rows > 1 else max(columns, 1)), False
        if self.row == 1 or rows == 1:
            return (self.column if columns > 1 else max(rows, 1)), True
        raise NotNativeError("a matrix with neither rows nor columns that are contiguous")


class ProductLaunches(NamedTuple):
    """The alternative ways to compute one product.

    Args:
      product: the arguments for cublasLt.
      whole: the launch of gpugraph's kernel, which includes the epilogue.
      epilogue: the launch of a kernel that computes the epilogue after cublasLt's plain product, or
        None if there is no epilogue.
    """

    product: Product
    whole: Work
    epilogue: Work | None


def products(
    stand_ins: StandIns, a: Any, b: Any, out: Any, epilogue: Epilogue, tf32: bool
) -> Iterator[ProductLaunches]:
    """Yield the launches for out = a @ b with an epilogue.

    a, b and out are views of stand-ins, which are host arrays that represent GPU arrays (see
    `view_copies`). All views have the same leading axes, which form the batch.
    """
    if not out.size:
        return
    name = str(out.dtype)
    if name not in _TYPES:
        raise NotNativeError(f"a matrix product of {name}")
    (m, k), n, batch = a.shape[-2:], b.shape[-1], out.shape[:-2]
    steps = [_batch_step(view, batch) for view in (a, b, out)]
    if None not in steps:
        matrices = [_matrix(stand_ins, view, step or 0) for view, step in zip((a, b, out), steps)]
        m, count = _joined(matrices, m, prod(batch))
        product = _product(matrices, (m, n, k), count, name)
        for part, offset in _parts(product, matrices):
            yield _launches(part, matrices, stand_ins, (a, b, out), epilogue, tf32, offset)
        return
    if prod(batch) > MAX_PRODUCTS:
        raise NotNativeError(f"a batch of {prod(batch)} products with irregular strides")
    for index in indices(*map(range, batch)):
        views = (a[index], b[index], out[index])
        matrices = [_matrix(stand_ins, view, 0) for view in views]
        product = _product(matrices, (m, n, k), 1, name)
        addend = None if epilogue.addend is None else epilogue.addend[index]
        own = epilogue._replace(addend=addend)
        for part, offset in _parts(product, matrices):
            yield _launches(part, matrices, stand_ins, views, own, tf32, offset)


def _batch_step(view: Any, batch: tuple[int, ...]) -> int | None:
    """Return the number of elements from one matrix of the batch to the next, or None if the
    matrices are not evenly spaced.
    """
    step: int | None = None
    below = 1
    for size, stride in zip(reversed(batch), reversed(view.strides[:-2])):
        if size == 1:
            continue
        elements = stride // view.itemsize
        if step is None:
            step = elements
        elif elements != step * below:
            return None
        below *= size
    return step or 0


def _joined(matrices: list[_Matrix], m: int, batch: int) -> tuple[int, int]:
    """Return the number of rows and the size of the batch to use for a product.

    If all products of the batch have the same right operand, and the rows are evenly spaced, the
    batch becomes one product with more rows.
    """
    a, b, out = matrices
    is_one = not b.batch and a.batch == m * a.row and out.batch == m * out.row
    if batch > 1 and is_one:
        return m * batch, 1
    return m, batch


def _matrix(stand_ins: StandIns, view: Any, step: int) -> _Matrix:
    address, item = stand_ins.of(view), view.itemsize
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


def _parts(product: Product, matrices: list[_Matrix]) -> Iterator[tuple[Product, int]]:
    """Divide a product into parts that are small enough for a kernel's grid and for cublasLt's
    batch.

    Yield each part with the offset, in bytes, of its results within the whole result.
    """
    a, b, out = matrices
    item, most_rows = as_dtype(product.dtype).size, MAX_BLOCKS * TILE
    for matrix in range(0, product.batch, MAX_BLOCKS):
        for row in range(0, product.m, most_rows):
            offset = item * (matrix * out.batch + row * out.row)
            part = product._replace(
                m=min(most_rows, product.m - row),
                batch=min(MAX_BLOCKS, product.batch - matrix),
                a=product.a + item * (matrix * a.batch + row * a.row),
                b=product.b + item * matrix * b.batch,
                out=product.out + offset,
            )
            yield part, offset


def _launches(
    plain: Product,
    matrices: list[_Matrix],
    stand_ins: StandIns,
    views: tuple[Any, Any, Any],
    epilogue: Epilogue,
    tf32: bool,
    offset: int,
) -> ProductLaunches:
    """Return the launches for a part of the product of `views`.

    Args:
      offset: the offset in bytes of the part's results within the whole result.
    """
    addend = _address(stand_ins, epilogue.addend)
    product = plain._replace(
        bias=_address(stand_ins, epilogue.bias),
        addend=addend and addend + offset,
        relu=epilogue.relu,
        tf32=tf32 and plain.dtype == "float32",
    )
    source = f'{type_macros({"T": as_dtype(plain.dtype)}, {})}#include "gemm.cu"\n'
    added_views = [view for view in (epilogue.bias, epilogue.addend) if view is not None]
    added = [_range(stand_ins, view) for view in added_views]
    a, b, out = (_range(stand_ins, view) for view in views)
    after = (product.out, product.bias, product.addend, int(product.relu))
    m, n, batch = product.m, product.n, product.batch
    finishing = None
    strides = [(matrix.row, matrix.column, matrix.batch) for matrix in matrices]
    numbers: tuple[int, ...] = (m, n, product.k, *(step for three in strides for step in three))
    grid = ceil(n / TILE), ceil(m / TILE), batch
    arguments = (product.a, product.b, *after, *numbers)
    geometry = Geometry(grid, (256, 1, 1))
    whole = Work(source, "gg_gemm", geometry, arguments, (a, b, *added), (out,))
    if not product.is_plain:
        count = batch * m * n
        grid = min(EPILOGUE_BLOCKS, ceil(count / THREADS)), 1, 1
        numbers = (m, n, count, product.ldo, product.stride_out)
        geometry = Geometry(grid, (THREADS, 1, 1))
        finishing = Work(source, "gg_finish", geometry, (*after, *numbers), (out, *added), (out,))
    return ProductLaunches(product, whole, finishing)


def _address(stand_ins: StandIns, view: Any) -> int:
    """Return the GPU address of a view of a stand-in, or 0 if the view is None."""
    if view is None:
        return 0
    address = stand_ins.of(view)
    if address is None:
        raise NotNativeError("an array of the host's to be added")
    return address


def _range(stand_ins: StandIns, view: Any) -> Span:
    """Return the address of a view, and the size in bytes of the memory between its first and last
    element. The strides of products are never negative.
    """
    start = stand_ins.of(view)
    assert start is not None
    reach = sum((size - 1) * stride for size, stride in zip(view.shape, view.strides))
    return start, reach + view.itemsize
