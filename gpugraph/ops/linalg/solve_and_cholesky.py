"""Ops on batches of square matrices: inverses, determinants, Cholesky factors, systems of linear
equations.

The results are computed by LAPACK, through NumPy. If LAPACK rejects a matrix, the run raises
InvalidArgumentError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import COMPLEX, float32, float64
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import SEPARATE, Call, KernelContext, OpMemory, RowSource
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.public_function import InputFunction, public_function
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.linalg.matmul import matmul, matrix_transpose
from gpugraph.ops.linalg.native_factor_sources import triangular_solution

LAPACK_TYPES = (float64, float32, *COMPLEX)
"""The dtypes of matrices for which LAPACK has routines."""


def square(shape: TensorShape) -> tuple[TensorShape, int | None]:
    """Return the batch shape and the size of square matrices. If the rank is unknown, both are
    unknown.

    Raises ValueError if the rank is below 2 or the matrices are not square.
    """
    sizes = shape.with_rank_at_least(2).sizes
    if sizes is None:
        return UNKNOWN, None
    rows, columns = sizes[-2:]
    if rows is not None and columns is not None and rows != columns:
        raise ValueError(f"Dimensions must be equal, but are {rows} and {columns}")
    return TensorShape.of(sizes[:-2]), columns if rows is None else rows


def lapack_op(
    op_type: str,
    infer: InferFunction,
    kernel: Call,
    grad: Any,
    doc: str,
    inputs: str = "input: T",
    outputs: str = "output: T",
    memory: OpMemory = SEPARATE,
    native: RowSource | None = None,
    **attrs: Any,
) -> OpFunction:
    """Declare an op on matrices whose kernel uses `np.linalg`, on the CPU and on GPUs.

    Args:
      native: the native kernel, which is used for all but large matrices.
      attrs: the attrs. `T` has the allowed dtypes, by default LAPACK_TYPES.
    """
    call = kernel._replace(by_lapack=True)
    return op(
        op_type,
        inputs=inputs,
        outputs=outputs,
        attrs={**attrs, "T": attrs.get("T", LAPACK_TYPES)},
        infer=infer,
        memory=memory,
        cpu=call,
        gpu=call,
        native=native,
        grad=grad,
        doc=doc,
    )


def adjoint_of(matrices: Any) -> Any:
    """Return the adjoints of matrices (transposed and conjugated), as a tensor."""
    return matrix_transpose(matrices, conjugate=True)


def triangle(matrices: Any, lower: bool) -> Any:
    """Return the lower or upper triangle of each matrix, with the diagonal, and zeros elsewhere."""
    limits = (np.int64(-1), np.int64(0)) if lower else (np.int64(0), np.int64(-1))
    return raw_ops.MatrixBandPart(matrices, *limits)


def adjoint_view(matrices: Any) -> Any:
    """Return the adjoint (transpose and conjugate) of an array of matrices. For real matrices, it
    is a view.
    """
    swapped = matrices.swapaxes(-1, -2)
    return swapped.conj() if swapped.dtype.kind == "c" else swapped


def finite_matrices(matrices: Any) -> tuple[Any, Any]:
    """Return the matrices, with each matrix that is not finite replaced by zeros, and a mask of the
    replaced matrices.

    The mask is None if all matrices are finite. Without the replacement, LAPACK's iterations might
    never end.
    """
    is_finite = np.isfinite(matrices).all(axis=(-2, -1))
    if is_finite.all():
        return matrices, None
    return np.where(is_finite[..., None, None], matrices, 0), ~is_finite


def refusing(message: str, compute: Callable[[], Any]) -> Callable[[], Any]:
    """Wrap `compute` to raise InvalidArgumentError with `message` instead of LinAlgError."""

    def run() -> Any:
        try:
            return compute()
        except np.linalg.LinAlgError as error:
            raise invalid_argument(message) from error

    return run


def infer_square(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of input 0. Raises ValueError if it is not a shape of square matrices."""
    batch, size = square(context.shapes[0])
    return [batch + (size, size)]


# -- inverses


def _bind_inverse(context: KernelContext, matrices: Any, out: Any) -> Callable[[], Any]:
    adjoint = context.attrs["adjoint"]

    def run() -> None:
        np.copyto(out, np.linalg.inv(adjoint_view(matrices) if adjoint else matrices))

    return refusing("Input is not invertible.", run)


def _inverse_back(op: Any, dy: Any) -> Any:
    y = op.outputs[0]
    if op.attrs["adjoint"]:
        product = matmul(y, matmul(dy, y, adjoint_a=True))
    else:
        product = matmul(y, matmul(dy, y, adjoint_b=True), adjoint_a=True)
    return raw_ops.Neg(product)


_matrix_inverse = lapack_op(
    "MatrixInverse",
    infer=infer_square,
    kernel=Call(make=_bind_inverse),
    grad=_inverse_back,
    doc=(
        "The inverse of each square matrix [..., n, n], or of its adjoint if `adjoint` is true. "
        "Raises InvalidArgumentError if a matrix is singular."
    ),
    adjoint=Attr("bool", False),
)


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return the inverses of square matrices [..., n, n], or of their adjoints if `adjoint` is
    true.

    Raises ValueError if the matrices are not square. A run raises InvalidArgumentError if a matrix
    is singular.

    >>> session.run(tf.matrix_inverse([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return _matrix_inverse(input, adjoint=adjoint, name=name)


# -- determinants


def _infer_determinant(context: InferContext) -> Sequence[TensorShape]:
    batch, _ = square(context.shapes[0])
    return [batch] * context.num_outputs


def _as_matrices(numbers: Any) -> Any:
    """Return numbers [...], one for each matrix, with the shape [..., 1, 1]."""
    last = np.array(-1, np.int32)
    return raw_ops.ExpandDims(raw_ops.ExpandDims(numbers, last), last)


def _determinant_back(op: Any, dy: Any) -> Any:
    inverse = raw_ops.MatrixInverse(op.inputs[0], adjoint=True)
    return raw_ops.Mul(_as_matrices(raw_ops.Mul(dy, conj(op.outputs[0]))), inverse)


matrix_determinant: InputFunction = public_function(
    lapack_op(
        "MatrixDeterminant",
        infer=_infer_determinant,
        kernel=Call(lambda matrices, out: np.copyto(out, np.linalg.det(matrices))),
        grad=_determinant_back,
        doc=(
            "The determinants, of shape [...], of square matrices, of shape [..., n, n]. Raises "
            "ValueError if the matrices are not square."
        ),
    )
)


def _log_determinant(matrices: Any, sign: Any, log_abs: Any) -> None:
    signs, logs = np.linalg.slogdet(matrices)
    np.copyto(sign, np.where(np.isnan(logs), np.nan, signs))
    np.copyto(log_abs, logs)


def _log_determinant_back(op: Any, dsign: Any, dlog: Any) -> Any:
    del dsign  # the sign is piecewise constant; TensorFlow ignores it for complex matrices, too
    inverse = raw_ops.MatrixInverse(op.inputs[0], adjoint=True)
    return raw_ops.Mul(_as_matrices(dlog), inverse)


slogdet: Callable[..., Any] = public_function(
    lapack_op(
        "LogMatrixDeterminant",
        outputs="sign: T, log_abs_determinant: T",
        infer=_infer_determinant,
        kernel=Call(_log_determinant),
        grad=_log_determinant_back,
        doc=(
            "The determinants of square matrices [..., n, n], as (sign, log_abs_determinant), "
            "each of shape [...]. A determinant is sign * exp(log_abs_determinant). Raises "
            "ValueError if the matrices are not square."
        ),
    ),
    "slogdet",
)


# -- Cholesky


def _bind_cholesky(_: KernelContext, matrices: Any, out: Any) -> Callable[[], Any]:
    return refusing(
        "Cholesky decomposition was not successful. The input might not be valid.",
        lambda: np.copyto(out, np.linalg.cholesky(matrices)),
    )


def _cholesky_back(op: Any, dy: Any) -> Any:
    """Return the gradient of the input (Smith, 1995). The gradient is symmetric, although only the
    lower triangle of the input is read.
    """
    factor = op.outputs[0]
    middle = matmul(factor, dy, adjoint_a=True)
    middle = raw_ops.MatrixSetDiag(middle, 0.5 * raw_ops.MatrixDiagPart(middle))
    left = raw_ops.MatrixTriangularSolve(factor, triangle(middle, True), adjoint=True)
    whole = raw_ops.MatrixTriangularSolve(factor, adjoint_of(left), adjoint=True)
    return 0.5 * raw_ops.AddV2(whole, adjoint_of(whole))


cholesky: InputFunction = public_function(
    lapack_op(
        "Cholesky",
        infer=infer_square,
        kernel=Call(make=_bind_cholesky),
        grad=_cholesky_back,
        doc=(
            "The lower triangular factors L of positive definite matrices [..., n, n]. A matrix "
            "is equal to L L^H. Only the lower triangles are read. Raises ValueError if the "
            "matrices are not square. A run raises InvalidArgumentError if a matrix is not "
            "positive definite."
        ),
    )
)


# -- equations


def _infer_solved(context: InferContext) -> Sequence[TensorShape]:
    batch, size = square(context.shapes[0])
    right = context.shapes[1].with_rank_at_least(2)
    if right.sizes is None:
        return [batch + (size, None)]
    return [(batch + (size,)).merge_with(right[:-1]) + right[-1:]]


_BLOCK = 64
"""The rows of a triangular matrix that are solved at a time; the others are a matrix product."""


def solve_triangle(matrices: Any, right: Any, lower: bool, out: Any) -> None:
    """Store the solutions of triangular equations in `out`. Only the elements of the triangle are
    read.

    Raises LinAlgError if a diagonal contains a 0.
    """
    if not np.diagonal(matrices, axis1=-2, axis2=-1).all():
        raise np.linalg.LinAlgError("a 0 on the diagonal")
    size = matrices.shape[-1]
    starts = range(0, size, _BLOCK)
    for start in starts if lower else reversed(starts):
        rows = slice(start, min(start + _BLOCK, size))
        solved = slice(0, start) if lower else slice(rows.stop, size)
        rest = right[..., rows, :]
        if solved.start < solved.stop:
            rest = rest - matrices[..., rows, solved] @ out[..., solved, :]
        block = matrices[..., rows, rows]
        block = np.tril(block) if lower else np.triu(block)
        np.copyto(out[..., rows, :], np.linalg.solve(block, rest))


def _bind_triangle(
    context: KernelContext, matrices: Any, right: Any, out: Any
) -> Callable[[], Any]:
    adjoint, lower = context.attrs["adjoint"], context.attrs["lower"]

    def run() -> None:
        left = adjoint_view(matrices) if adjoint else matrices
        solve_triangle(left, right, lower != adjoint, out)

    return refusing("Input matrix is not invertible.", run)


def _bind_solve(context: KernelContext, matrices: Any, right: Any, out: Any) -> Callable[[], Any]:
    adjoint = context.attrs["adjoint"]

    def run() -> None:
        np.copyto(out, np.linalg.solve(adjoint_view(matrices) if adjoint else matrices, right))

    return refusing("Input matrix is not invertible.", run)


def _solve_back(op: Any, dy: Any) -> list[Any]:
    solved, is_adjoint = op.outputs[0], op.attrs["adjoint"]
    dright = raw_ops.MatrixSolve(op.inputs[0], dy, adjoint=not is_adjoint)
    return [_from_right(dright, solved, is_adjoint), dright]


def _from_right(dright: Any, solved: Any, is_adjoint: bool) -> Any:
    """Return the gradient of the matrix, given the gradient of the right-hand side."""
    pair = (solved, dright) if is_adjoint else (dright, solved)
    return raw_ops.Neg(matmul(*pair, adjoint_b=True))


_SOLVER: dict[str, Any] = {
    "inputs": "matrix: T, rhs: T",
    "infer": _infer_solved,
    "kernel": Call(make=_bind_solve),
}

_matrix_solve = lapack_op(
    "MatrixSolve",
    **_SOLVER,
    grad=_solve_back,
    doc=(
        "The solution of matrix @ output = rhs or, if `adjoint` is true, of matrix^H @ output = "
        "rhs. Raises InvalidArgumentError if a matrix is singular."
    ),
    adjoint=Attr("bool", False),
)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solve matrix [..., n, n] @ x = rhs [..., n, k], and return x.

    If `adjoint` is true, the adjoint of `matrix` is used instead of `matrix`. Raises ValueError if
    the shapes are incompatible. A run raises InvalidArgumentError if a matrix is singular.
    """
    return _matrix_solve(matrix, rhs, adjoint=adjoint, name=name)


def _triangular_back(op: Any, dy: Any) -> list[Any]:
    lower, is_adjoint = op.attrs["lower"], op.attrs["adjoint"]
    dright = raw_ops.MatrixTriangularSolve(op.inputs[0], dy, lower=lower, adjoint=not is_adjoint)
    whole = _from_right(dright, op.outputs[0], is_adjoint)
    return [triangle(whole, lower), dright]


_matrix_triangular_solve = lapack_op(
    "MatrixTriangularSolve",
    **{**_SOLVER, "kernel": Call(make=_bind_triangle)},
    grad=_triangular_back,
    native=triangular_solution(),
    doc=(
        "The solution of matrix @ output = rhs for triangular matrices. If `adjoint` is true, "
        "their adjoints are used. Only the lower (or upper) triangle is read. Raises "
        "InvalidArgumentError if a matrix is singular."
    ),
    lower=Attr("bool", True),
    adjoint=Attr("bool", False),
)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve matrix [..., n, n] @ x = rhs [..., n, k] for triangular matrices, and return x.

    Raises ValueError if the shapes are incompatible. A run raises InvalidArgumentError if a
    diagonal contains a 0.

    Args:
      lower: whether to read the lower triangle. Otherwise the upper triangle is read.
      adjoint: whether to solve with the triangle's adjoint.
    """
    return _matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)
