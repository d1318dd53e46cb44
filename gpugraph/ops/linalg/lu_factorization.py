"""LU factorization: the product of a lower and an upper triangular matrix is a square matrix with
permuted rows.

The factorization of a matrix A is (lower_upper, perm). `lower_upper` holds both triangles, without
the diagonal of the lower triangle, which is all ones. Row i of the triangles' product is row
perm[i] of A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.shapes import TensorShape, broadcast_shapes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.constants_and_placeholders import ones
from gpugraph.ops.arrays.reshape_and_transpose import broadcast_to, invert_permutation
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_compositions import eye
from gpugraph.ops.linalg.matrix_diag_and_band import matrix_band_part
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_set_diag
from gpugraph.ops.linalg.native_factor_sources import lu_factors
from gpugraph.ops.linalg.solve_and_cholesky import (
    LAPACK_TYPES,
    adjoint_of,
    lapack_op,
    matrix_triangular_solve,
    refusing,
    square,
    triangle,
)


def _infer_lu(context: InferContext) -> Sequence[TensorShape]:
    batch, size = square(context.shapes[0])
    return [batch + (size, size), batch + (size,)]


def _bind_lu(_: KernelContext, matrices: Any, both: Any, perm: Any) -> Callable[[], Any]:
    size = matrices.shape[-1]
    count = matrices.size // (size * size) if size else 0
    work, order = both.reshape(count, size, size), perm.reshape(count, size)
    every = np.arange(count)

    def run() -> None:
        np.copyto(both, matrices)
        perm[...] = np.arange(size)
        for column in range(size):
            pivot = column + np.abs(work[:, column:, column]).argmax(axis=1)
            for array in (work, order):
                row = array[:, column].copy()
                array[:, column] = array[every, pivot]
                array[every, pivot] = row
            if not np.abs(work[:, column, column]).all():
                raise np.linalg.LinAlgError
            factors = work[:, column + 1 :, column] / work[:, column, None, column]
            work[:, column + 1 :, column] = factors
            pivot_row = work[:, column, None, column + 1 :]
            work[:, column + 1 :, column + 1 :] -= factors[:, :, None] * pivot_row

    return refusing("Input is not invertible.", run)


def _strictly_lower(matrices: Any) -> Any:
    lower = triangle(matrices, True)
    return raw_ops.MatrixSetDiag(lower, raw_ops.ZerosLike(raw_ops.MatrixDiagPart(matrices)))


def _lu_back(op: Any, dboth: Any, _: Any = None) -> Any:
    """Return P^T L^-H (strictly lower of L^H dL, and upper of dU U^H) U^-H, the gradient of the
    input.
    """
    both, perm = op.outputs
    lower, upper = _unit_lower(both, raw_ops.MatrixDiagPart(both)), triangle(both, False)
    left = matmul(lower, _strictly_lower(dboth), adjoint_a=True)
    right = matmul(triangle(dboth, False), upper, adjoint_b=True)
    inner = raw_ops.AddV2(_strictly_lower(left), triangle(right, False))
    inner = raw_ops.MatrixTriangularSolve(lower, inner, lower=True, adjoint=True)
    solution = raw_ops.MatrixTriangularSolve(upper, adjoint_of(inner), lower=False)
    rows = raw_ops.OneHot(perm, raw_ops.Shape(perm)[-1], *_one_and_zero(solution))
    return matmul(rows, adjoint_of(solution), transpose_a=True)


def _one_and_zero(like: Any) -> Any:
    numpy_type = like.dtype.base_dtype.as_numpy_dtype
    return numpy_type(1), numpy_type(0)


def _unit_lower(both: Any, diagonal: Any) -> Any:
    return raw_ops.MatrixSetDiag(triangle(both, True), raw_ops.OnesLike(diagonal))


_lu = lapack_op(
    "Lu",
    outputs="lu: T, p: output_idx_type",
    infer=_infer_lu,
    kernel=Call(make=_bind_lu),
    grad=_lu_back,
    native=lu_factors(),
    doc=(
        "The LU factorization of square matrices with permuted rows. One matrix contains both "
        "factors: the upper triangle, and the lower triangle without its diagonal of ones. p is "
        "the order of the rows. Raises InvalidArgumentError if a matrix is singular."
    ),
    T=LAPACK_TYPES,
    output_idx_type=Attr("type", dtypes.int32, allowed=(dtypes.int32, dtypes.int64)),
)


def lu(input: Any, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return (lower_upper, perm) of square matrices, where L @ U is input[perm].

    The shapes are [..., n, n] and [..., n]. `lower_upper` holds L below its diagonal, without L's
    diagonal of ones, and U on and above its diagonal. The pivot of each column is the element with
    the largest magnitude.

    Raises ValueError if the matrices are not square. A run raises InvalidArgumentError if a matrix
    is singular.
    """
    both, perm = _lu(input, output_idx_type=as_dtype(output_idx_type), name=name)
    return both, perm


# -- functions of a factorization


def _factorization(lower_upper: Any, perm: Any, validate: bool) -> tuple[Tensor, Tensor]:
    both = convert_to_tensor(lower_upper, preferred_dtype=dtypes.float32, name="lower_upper")
    order = convert_to_tensor(perm, preferred_dtype=dtypes.int32, name="perm")
    if validate:
        batch, size = square(both.shape)
        (batch + (size,)).assert_is_compatible_with(order.shape)
    return both, order


def _unit(both: Tensor) -> Tensor:
    """Return the lower triangle of `both`, a matrix that holds L and U, with ones on its
    diagonal.
    """
    sizes = both.shape.sizes
    lower = matrix_band_part(both, num_lower=-1, num_upper=0)
    known = sizes is not None and None not in sizes
    shape: Any = both.shape[:-1].as_list() if known else raw_ops.Shape(both)[:-1]
    return matrix_set_diag(lower, ones(shape, both.dtype))


def _rows(values: Tensor, order: Tensor) -> Tensor:
    """Return `values` with the rows of each matrix in the order that `order` specifies.

    Batch axes are broadcast.
    """
    rank, batch = values.shape.rank, order.shape.rank
    if rank is None or batch is None:
        raise ValueError("The rank of the matrices and of their permutations must be known")
    if rank == 2 and batch == 1:
        return gather(values, order, axis=-2)
    if rank < batch + 1:
        shape = raw_ops.ConcatV2([raw_ops.Shape(order), raw_ops.Shape(values)[-1:]], 0)
        values = broadcast_to(values, shape)
    elif rank > batch + 1:
        order = broadcast_to(order, raw_ops.Shape(values)[:-1])
        batch = rank - 1
    return gather(values, order, axis=batch - 1, batch_dims=batch - 1)


def lu_solve(
    lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Solve A @ X = rhs, given the result of `lu(A)`. Return X, [..., n, k].

    Args:
      validate_args: whether to raise ValueError if the static shapes are incompatible.
    """
    with op_scope(name, "lu_solve", lower_upper, perm, rhs):
        both, order = _factorization(lower_upper, perm, validate_args)
        right = convert_to_tensor(rhs, preferred_dtype=both.dtype, name="rhs")
        if validate_args:
            broadcast_shapes(both.shape[:-1], right.shape[:-1])
        right = _rows(right, order)
        half = matrix_triangular_solve(_unit(both), right)
        return matrix_triangular_solve(both, half, lower=False)


def lu_reconstruct(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the matrices A, [..., n, n], given the result of lu(A).

    Args:
      validate_args: see `lu_solve`.
    """
    with op_scope(name, "lu_reconstruct", lower_upper, perm):
        both, order = _factorization(lower_upper, perm, validate_args)
        product = matmul(_unit(both), matrix_band_part(both, num_lower=0, num_upper=-1))
        if order.shape.rank == 1:
            return gather(product, invert_permutation(order), axis=-2)
        one, zero = _one_and_zero(product)
        rows = raw_ops.OneHot(order, raw_ops.Shape(order)[-1], one, zero)
        return matmul(rows, product, transpose_a=True)


def lu_matrix_inverse(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the inverses, [..., n, n], of matrices A, given the results of lu(A).

    Args:
      validate_args: see `lu_solve`.
    """
    with op_scope(name, "lu_matrix_inverse", lower_upper, perm):
        both, order = _factorization(lower_upper, perm, validate_args)
        shape = raw_ops.Shape(both)
        sizes = both.shape.with_rank_at_least(2).sizes
        size = shape[-1] if sizes is None or sizes[-1] is None else sizes[-1]
        batch = None if both.shape.rank == 2 else shape[:-2]
        return lu_solve(both, order, eye(size, batch_shape=batch, dtype=both.dtype))
