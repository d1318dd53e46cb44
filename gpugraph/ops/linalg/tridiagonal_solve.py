"""Products with tridiagonal matrices, and systems of linear equations with tridiagonal matrices.

Each diagonal is a vector with as many elements as the matrix has rows. The last element of the
upper diagonal and the first element of the lower diagonal are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matrix_transpose
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part
from gpugraph.ops.linalg.native_factor_sources import tridiagonal_solution
from gpugraph.ops.linalg.solve_and_cholesky import lapack_op

_LAST, _ROWS = np.array(-1, np.int32), np.array(-2, np.int32)


def _next(x: Any) -> Any:
    """Return `x` with its rows moved up by one. The last row becomes zeros."""
    return raw_ops.ConcatV2([x[..., 1:, :], raw_ops.ZerosLike(x[..., :1, :])], _ROWS)


def _previous(x: Any) -> Any:
    """Return `x` with its rows moved down by one. The first row becomes zeros."""
    return raw_ops.ConcatV2([raw_ops.ZerosLike(x[..., :1, :]), x[..., :-1, :]], _ROWS)


def _column(row: Any) -> Any:
    """Return the conjugate of a diagonal [..., 1, m] as a column [..., m, 1]."""
    return conj(matrix_transpose(row))


def _row(products: Any) -> Any:
    """Return the sums of products [..., m, n] over the columns, as a diagonal [..., 1, m]."""
    return raw_ops.ExpandDims(raw_ops.Sum(products, _LAST), _ROWS)


# -- products


def _infer_product(context: InferContext) -> Sequence[TensorShape]:
    above, main, below, right = (shape.with_rank_at_least(2) for shape in context.shapes)
    row = above.merge_with(main).merge_with(below)
    if row.sizes is None or right.sizes is None:
        return [right]
    TensorShape.of((1,)).assert_is_compatible_with(row[-2:-1])
    rows = row[:-2] + row[-1:]
    return [rows.merge_with(right[:-1]) + right[-1:]]


def _product(above: Any, main: Any, below: Any, right: Any, out: Any) -> None:
    columns = [diagonal.swapaxes(-1, -2) for diagonal in (above, main, below)]
    np.multiply(columns[1], right, out=out)
    out[..., :-1, :] += columns[0][..., :-1, :] * right[..., 1:, :]
    out[..., 1:, :] += columns[2][..., 1:, :] * right[..., :-1, :]


def _product_back(op: Any, dy: Any) -> list[Any]:
    above, main, below, right = op.inputs
    conjugate = conj(right)
    dright = raw_ops.AddV2(
        raw_ops.Mul(_column(main), dy),
        raw_ops.AddV2(
            _previous(raw_ops.Mul(_column(above), dy)), _next(raw_ops.Mul(_column(below), dy))
        ),
    )
    return [
        _row(raw_ops.Mul(_next(conjugate), dy)),
        _row(raw_ops.Mul(conjugate, dy)),
        _row(raw_ops.Mul(_previous(conjugate), dy)),
        dright,
    ]


_product_op = lapack_op(
    "TridiagonalMatMul",
    inputs="superdiag: T, maindiag: T, subdiag: T, rhs: T",
    infer=_infer_product,
    kernel=Call(_product),
    grad=_product_back,
    doc=(
        "The product of a tridiagonal matrix and rhs, [..., m, n]. The three diagonals of the "
        "matrix have shape [..., 1, m]."
    ),
)


# -- equations


def _infer_solved(context: InferContext) -> Sequence[TensorShape]:
    diagonals, right = (shape.with_rank_at_least(2) for shape in context.shapes)
    if diagonals.sizes is None or right.sizes is None:
        return [right if diagonals.sizes is None else UNKNOWN]
    if diagonals.sizes[-2] not in (3, None):
        raise ValueError(f"Dimension must be 3 but is {diagonals.sizes[-2]}")
    rows = diagonals[:-2] + diagonals[-1:]
    return [rows.merge_with(right[:-1]) + right[-1:]]


def _eliminate(diagonals: Any, x: Any, pivoting: bool) -> Any:
    """Eliminate the lower diagonal. Return the three diagonals of the remaining upper triangular
    matrix, which are the main diagonal and two diagonals above it.

    Args:
      x: the right-hand side, to which the same row operations are applied in place.
      pivoting: whether to exchange a row with the next row if the next row has a larger pivot. An
        exchange creates nonzero elements in the second diagonal above the main diagonal.
    """
    above, main, below = (diagonals[..., row, :].copy() for row in range(3))
    second = np.zeros_like(above)
    for row in range(main.shape[-1] - 1):
        if pivoting:
            is_swapped = np.abs(below[..., row + 1]) > np.abs(main[..., row])
            for upper, lower in (
                (main[..., row], below[..., row + 1]),
                (above[..., row], main[..., row + 1]),
                (second[..., row], above[..., row + 1]),
            ):
                upper[...], lower[...] = (
                    np.where(is_swapped, lower, upper),
                    np.where(is_swapped, upper, lower),
                )
            first, after = x[..., row, :], x[..., row + 1, :]
            swapped = is_swapped[..., None]
            first[...], after[...] = (
                np.where(swapped, after, first),
                np.where(swapped, first, after),
            )
        factor = below[..., row + 1] / main[..., row]
        main[..., row + 1] -= factor * above[..., row]
        above[..., row + 1] -= factor * second[..., row]
        x[..., row + 1, :] -= factor[..., None] * x[..., row, :]
    return main, above, second


def _bind_solve(context: KernelContext, diagonals: Any, right: Any, out: Any) -> Callable[[], Any]:
    pivoting, size = context.attrs["partial_pivoting"], right.shape[-2]

    def run() -> None:
        np.copyto(out, right)
        with np.errstate(all="ignore"):
            main, above, second = _eliminate(diagonals, out, pivoting)
            for row in range(size - 1, -1, -1):
                if row + 1 < size:
                    out[..., row, :] -= above[..., row, None] * out[..., row + 1, :]
                if row + 2 < size:
                    out[..., row, :] -= second[..., row, None] * out[..., row + 2, :]
                out[..., row, :] /= main[..., row, None]
        out[(main == 0).any(axis=-1)] = np.nan

    return run


def _solve_back(op: Any, dy: Any) -> list[Any]:
    """Return the gradients of the diagonals and of the right-hand side.

    The gradient of the right-hand side is a solution with the transposed matrix. The gradients of
    the diagonals are diagonals of an outer product.
    """
    diagonals, solved = op.inputs[0], op.outputs[0]
    columns = conj(matrix_transpose(diagonals))
    transposed = raw_ops.ConcatV2(
        [_next(columns[..., 2:]), columns[..., 1:2], _previous(columns[..., :1])], _LAST
    )
    pivoting = op.attrs["partial_pivoting"]
    dright = raw_ops.TridiagonalSolve(matrix_transpose(transposed), dy, partial_pivoting=pivoting)
    x = conj(solved)
    rows = [_row(raw_ops.Mul(factor, dright)) for factor in (_next(x), x, _previous(x))]
    return [raw_ops.Neg(raw_ops.ConcatV2(rows, _ROWS)), dright]


_solve_op = lapack_op(
    "TridiagonalSolve",
    inputs="diagonals: T, rhs: T",
    infer=_infer_solved,
    kernel=Call(make=_bind_solve),
    native=tridiagonal_solution(),
    grad=_solve_back,
    doc=(
        "The solution of matrix @ output = rhs, [..., m, n], for tridiagonal matrices, whose "
        "diagonals have shape [..., 3, m]. It is NaN if a matrix is singular."
    ),
    partial_pivoting=Attr("bool", True),
)


# -- public functions

_FORMATS = ("matrix", "sequence", "compact")


def _of_format(diagonals: Any, format: str) -> Tensor:
    """Convert diagonals in the format `format` to [..., 3, m]."""
    if format == "compact":
        return convert_to_tensor(diagonals, name="diagonals")
    if format == "sequence":
        if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        return stack([convert_to_tensor(diagonal) for diagonal in diagonals], axis=-2)
    if format != "matrix":
        raise ValueError(f"Unrecognized diagonals_format: {format}, not one of {_FORMATS}")
    matrix = convert_to_tensor(diagonals, name="diagonals")
    sizes = matrix.shape.with_rank_at_least(2).sizes
    if sizes is not None and None not in sizes[-2:] and sizes[-1] != sizes[-2]:
        raise ValueError(f"Expected last two dimensions of diagonals to be same, got {sizes[-2:]}")
    rows = matrix_diag_part(matrix, k=(-1, 1))
    below = rows[..., 2:, :]
    moved = raw_ops.ConcatV2([below[..., -1:], below[..., :-1]], _LAST)
    return raw_ops.ConcatV2([rows[..., :2, :], moved], _ROWS)


def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """Solve A @ X = rhs for tridiagonal matrices A, and return X, [..., m, k].

    The result is NaN if a matrix is singular. Raises ValueError if the shapes are incompatible.

    Args:
      diagonals: in the format "compact", a tensor of shape [..., 3, m] with the upper, main and
        lower diagonals. The last element of the upper diagonal and the first element of the lower
        diagonal are ignored. In the format "sequence", a list of the three diagonals [..., m]. In
        the format "matrix", matrices [..., m, m].
      rhs: a tensor of shape [..., m, k] or [..., m], or [..., k, m] if `transpose_rhs` is true.
      partial_pivoting: whether to exchange rows if this gives a larger pivot.
    """
    three = _of_format(diagonals, diagonals_format)
    right = convert_to_tensor(rhs, three.dtype.base_dtype, name="rhs")
    rank, vector_rank = right.shape.rank, (three.shape.rank or 0) - 1
    is_vector = None not in (rank, three.shape.rank) and rank == vector_rank
    if conjugate_rhs:
        right = conj(right)
    if is_vector:
        right = raw_ops.ExpandDims(right, _LAST)
    elif transpose_rhs:
        right = matrix_transpose(right)
    solution: Tensor = _solve_op(three, right, partial_pivoting=partial_pivoting, name=name)
    return raw_ops.Squeeze(solution, squeeze_dims=[-1]) if is_vector else solution


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Return the products, [..., m, k], of tridiagonal matrices and `rhs`, [..., m, k].

    Args:
      diagonals, diagonals_format: see `tridiagonal_solve`.
    """
    if diagonals_format == "sequence":
        rows = [raw_ops.ExpandDims(diagonal, _ROWS) for diagonal in diagonals]
    else:
        three = _of_format(diagonals, diagonals_format)
        rows = [raw_ops.ExpandDims(three[..., row, :], _ROWS) for row in range(3)]
    return _product_op(*rows, rhs, name=name)
