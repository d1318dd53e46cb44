"""Functions on matrices that are composed of other ops: identity matrices, traces, norms, least
squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros
from gpugraph.ops.arrays.reshape_and_transpose import transpose
from gpugraph.ops.elementwise.unary_functions import abs as absolute
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul, matrix_transpose
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag, matrix_diag_part, matrix_set_diag
from gpugraph.ops.linalg.solve_and_cholesky import (
    LAPACK_TYPES,
    adjoint_view,
    finite_matrices,
    lapack_op,
)
from gpugraph.ops.linalg.svd_qr_eigh import svd
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_sum

# -- simple functions


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return identity matrices, of shape batch_shape + [num_rows, num_columns].

    Args:
      num_columns: the number of columns, by default `num_rows`.
      batch_shape: a list or vector of ints, by default [].

    >>> session.run(tf.eye(2))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    element = as_dtype(dtype)
    with op_scope(name, "eye", num_rows, num_columns, batch_shape):
        columns = num_rows if num_columns is None else num_columns
        square = num_columns is None
        sizes = [num_rows, columns]
        if isinstance(batch_shape, (list, tuple)) and any(map(_is_tensor, batch_shape)):
            batch_shape = raw_ops.Pack(list(batch_shape))
        if not any(map(_is_tensor, (*sizes, batch_shape))):
            batch = [] if batch_shape is None else as_shape(batch_shape).as_list()
            rows, columns = whole_number("num_rows", num_rows), whole_number("num_columns", columns)
            diagonal = ones([*batch, min(rows, columns)], element)
            whole: Any = [*batch, rows, columns]
        else:
            shorter = raw_ops.Minimum(*sizes) if not square else convert_to_tensor(num_rows)
            front = np.zeros(0, np.int32) if batch_shape is None else batch_shape
            diagonal = ones(concat([front, raw_ops.Pack([shorter])], 0), element)
            whole = None if square else concat([front, raw_ops.Pack(sizes)], 0)
        return matrix_diag(diagonal) if square else matrix_set_diag(zeros(whole, element), diagonal)


def trace(x: Any, name: str | None = None) -> Tensor:
    """Return the sum of the diagonal of each matrix. The result for matrices [..., m, n] has the
    shape [...]. Raises ValueError if the rank is below 2.
    """
    with op_scope(name, "Trace", x) as scope:
        source = convert_to_tensor(x, name="x")
        return reduce_sum(matrix_diag_part(source), [-1], name=scope)


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """Transpose matrices [..., m, n] and conjugate their elements. Raises ValueError if the rank is
    below 2.
    """
    with op_scope(name, "adjoint", matrix):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the products of matrices [..., m, n] and vectors [..., n], which are vectors [..., m].

    The flags have the same meaning as in `matmul`.
    """
    del a_is_sparse, b_is_sparse
    with op_scope(name, "MatVec", a, b):
        vector = convert_to_tensor(b, name="b")
        column = raw_ops.ExpandDims(vector, np.array(-1, np.int32))
        product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return raw_ops.Squeeze(product, squeeze_dims=[-1])


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """Return the log of the determinants, [...], of positive definite matrices [..., n, n].

    A run raises InvalidArgumentError if a matrix is not positive definite.
    """
    with op_scope(name, "logdet", matrix):
        diagonal = matrix_diag_part(raw_ops.Cholesky(matrix))
        if diagonal.dtype.is_complex:
            real = dtypes.float32 if diagonal.dtype.size == 8 else dtypes.float64
            diagonal = raw_ops.Real(diagonal, Tout=real)
        total = reduce_sum(raw_ops.Log(diagonal), [-1])
        return 2.0 * total


# -- norms

_NORMS: dict[Any, Callable[[Any, Any], Any]] = {
    1: lambda x, axis: reduce_sum(absolute(x), axis, True),
    np.inf: lambda x, axis: reduce_max(absolute(x), axis, True),
}


def _frobenius(x: Any, axis: Any) -> Any:
    conjugate = raw_ops.Conj(x) if x.dtype.is_complex else x
    return raw_ops.Sqrt(reduce_sum(x * conjugate, axis, True))


def _vector_norm(x: Any, order: Any, axis: Any) -> Any:
    if order in _NORMS:
        return _NORMS[order](x, axis)
    powers = raw_ops.Pow(absolute(x), order)
    return raw_ops.Pow(reduce_sum(powers, axis, True), 1.0 / order)


def _matrix_norm(x: Any, order: Any, axis: list[int]) -> Any:
    if order == 2:
        return _largest_singular(x, axis)
    summed, largest = (axis[0], axis[1]) if order == 1 else (axis[1], axis[0])
    return reduce_max(reduce_sum(absolute(x), summed, True), largest, True)


def _largest_singular(x: Any, axis: list[int]) -> Any:
    """Return the largest singular value of the matrices in two axes. In the result, these axes have
    size 1.

    Raises ValueError if the rank is unknown.
    """
    rank = x.shape.rank
    if rank is None:
        raise ValueError("The norm 2 of matrices needs a tensor of known rank")
    last_two = [index % rank for index in axis]
    order = [index for index in range(rank) if index not in last_two] + last_two
    in_order = order == list(range(rank))
    matrices = x if in_order else transpose(x, order)
    largest = reduce_max(svd(matrices, compute_uv=False), -1, True)
    largest = raw_ops.ExpandDims(largest, np.array(-1, np.int32))
    return largest if in_order else transpose(largest, np.argsort(order).astype(np.int32))


_MATRIX_ORDERS = ("euclidean", "fro", 1, 2, np.inf)


def _checked_order(order: Any, is_matrix: bool) -> None:
    if is_matrix and order not in _MATRIX_ORDERS:
        raise ValueError(
            f"'ord' must be a supported matrix norm in {list(_MATRIX_ORDERS)}, got {order}"
        )
    is_name = isinstance(order, str)
    if not is_matrix and (order != "euclidean" if is_name else order <= 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {order}")


def _norm_axes(axis: Any) -> tuple[Any, bool]:
    """Return the axes as a list, an int or None, and whether they are the rows and columns of
    matrices.
    """
    if not isinstance(axis, (list, tuple)):
        return axis, False
    are_ints = all(isinstance(index, (int, np.integer)) for index in axis)
    if len(axis) != 2 or not are_ints or axis[0] == axis[1]:
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    return [int(index) for index in axis], True


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the norm of `tensor` as one vector, of its vectors along an axis, or of its matrices.

    The axes are removed. With `keepdims` (older name: `keep_dims`) they are kept with size 1.
    Raises ValueError if the order or the axis is invalid.

    Args:
      axis: None for one vector, an int, or a pair of ints, which are the axes of the rows and
        columns of matrices.
      ord: for vectors, "euclidean" or any positive number p (np.inf gives the largest magnitude).
        For matrices, "euclidean" or "fro" (which are both the Frobenius norm), 1, 2 (the largest
        singular value) or np.inf.

    >>> session.run(tf.norm([3.0, 4.0]))
    np.float32(5.0)
    """
    if keepdims is not None and keep_dims is not None:
        raise ValueError("Cannot specify both 'keep_dims' and 'keepdims'.")
    keep = bool(keep_dims if keepdims is None else keepdims)
    axes, is_matrix = _norm_axes(axis)
    _checked_order(ord, is_matrix)
    with op_scope(name, "norm", tensor):
        x = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean") or (ord == 2 and not is_matrix):
            result = _frobenius(x, axes)
        elif is_matrix:
            result = _matrix_norm(x, ord, axes)
        else:
            result = _vector_norm(x, ord, axes)
        if keep:
            return result
        dropped = [] if axes is None else axes if is_matrix else [int(axes)]
        return raw_ops.Squeeze(result, squeeze_dims=dropped)


# -- least squares


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """Solve A @ x = rhs [..., n, k], where `chol`, [..., n, n], is the Cholesky factor of A. Return
    x.

    A run raises InvalidArgumentError if the factor is singular.
    """
    with op_scope(name, "cholesky_solve", chol, rhs):
        half = raw_ops.MatrixTriangularSolve(chol, rhs, adjoint=False, lower=True)
        return raw_ops.MatrixTriangularSolve(chol, half, adjoint=True, lower=True)


def _infer_least_squares(context: InferContext) -> Sequence[TensorShape]:
    left, right = (shape.with_rank_at_least(2).sizes for shape in context.shapes[:2])
    if left is None or right is None:
        return [UNKNOWN]
    rows = TensorShape.of(left[:-1]).merge_with(TensorShape.of(right[:-1])).sizes
    assert rows is not None
    return [TensorShape.of((*rows[:-1], left[-1], right[-1]))]


def _bind_least_squares(
    context: KernelContext, matrices: Any, right: Any, out: Any
) -> Callable[[], Any]:
    weight = float(np.asarray(context.value(2)).reshape(())[()])
    rows, columns = matrices.shape[-2:]

    def run() -> None:
        if not context.attrs["fast"]:
            finite, others = finite_matrices(matrices)
            np.copyto(out, np.linalg.pinv(finite) @ right)
            if (
                others is not None
            ):  # TensorFlow treats matrices that are not finite as having rank 0
                out[others] = 0
            return
        adjoints = adjoint_view(matrices)
        ridge = weight * np.eye(min(rows, columns), like=out)
        try:
            if rows >= columns:
                solved = np.linalg.solve(adjoints @ matrices + ridge, adjoints @ right)
            else:
                solved = adjoints @ np.linalg.solve(matrices @ adjoints + ridge, right)
        except np.linalg.LinAlgError as error:
            message = "Input matrix was rank deficient or ill-conditioned. Try fast=False."
            raise invalid_argument(message) from error
        np.copyto(out, solved, casting="same_kind")

    return run


def _least_squares_back(op: Any, dy: Any) -> list[Any]:
    """Return the gradients, computed with the normal equations.

    If the sizes are unknown, matrices are assumed to have at least as many rows as columns.
    """
    matrices, right, weight = op.inputs
    element = matrices.dtype.base_dtype
    sizes = matrices.shape.sizes
    known = sizes is not None and None not in sizes[-2:]
    tall = not known or sizes[-2] >= sizes[-1]
    smaller = min(sizes[-2:]) if known else raw_ops.Shape(matrices)[-1]
    ridge = raw_ops.Cast(weight, DstT=element) * eye(smaller, dtype=element)
    factor = raw_ops.Cholesky(_gramian(matrices, tall) + ridge)
    if tall:
        z = cholesky_solve(factor, dy)
        both = matmul(op.outputs[0], z, adjoint_b=True)
        dmatrices = matmul(right, z, adjoint_b=True) - matmul(matrices, both + adjoint(both))
        return [dmatrices, matmul(matrices, z), None]
    dright = cholesky_solve(factor, matmul(matrices, dy))
    dual = cholesky_solve(factor, right)
    both = matmul(dright, dual, adjoint_b=True)
    both = both + adjoint(both)
    return [matmul(dual, dy, adjoint_b=True) - matmul(both, matrices), dright, None]


def _gramian(matrices: Any, tall: bool) -> Any:
    """Return the product of each matrix with its adjoint. The factors are in the order that gives
    the smaller product.
    """
    return matmul(matrices, matrices, adjoint_a=tall, adjoint_b=not tall)


_matrix_solve_ls = lapack_op(
    "MatrixSolveLs",
    _infer_least_squares,
    Call(make=_bind_least_squares),
    _least_squares_back,
    "The output that minimizes |matrix @ output - rhs|^2 + l2_regularizer |output|^2; of several "
    "the shortest. InvalidArgumentError, if fast, for matrices not of full rank.",
    inputs="matrix: T, rhs: T, l2_regularizer: double",
    memory=OpMemory(host_inputs=[2]),
    T=LAPACK_TYPES,
    fast=Attr("bool", True),
)


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """Return the least squares solution x [..., n, k] of matrix [..., m, n] @ x = rhs [..., m, k].

    x minimizes |matrix @ x - rhs|^2 + l2_regularizer |x|^2. If there are several solutions, it is
    the solution with the minimum norm.

    Args:
      fast: whether to solve the normal equations. A run then raises InvalidArgumentError if a
        matrix does not have full rank. Otherwise the op uses a pseudo-inverse, ignores
        `l2_regularizer`, and returns 0 for matrices that are not finite.
    """
    if not fast:
        return _matrix_solve_ls(matrix, rhs, l2_regularizer, fast=False, name=name)
    source = convert_to_tensor(matrix, name="matrix")
    sizes = source.shape.sizes
    if sizes is None or len(sizes) < 2 or None in sizes[-2:]:
        return _matrix_solve_ls(source, rhs, l2_regularizer, fast=True, name=name)
    with op_scope(name, "matrix_solve_ls", source, rhs):
        tall = sizes[-2] >= sizes[-1]  # type: ignore[operator]
        gramian = _gramian(source, tall)
        if isinstance(l2_regularizer, Tensor) or l2_regularizer != 0:
            element = source.dtype.base_dtype
            ridge = cast(convert_to_tensor(l2_regularizer), element)
            gramian = gramian + ridge * eye(min(sizes[-2:]), dtype=element)  # type: ignore[type-var]
        factor = raw_ops.Cholesky(gramian)
        if tall:
            return cholesky_solve(factor, matmul(source, rhs, adjoint_a=True))
        return matmul(source, cholesky_solve(factor, rhs), adjoint_a=True)
