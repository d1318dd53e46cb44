"""MatrixDiagV2 and similar ops, which work on any diagonal of matrices, or on several diagonals at
once.

Several diagonals are stored as rows of one array, the highest diagonal first. `k` holds the numbers
of the lowest and the highest diagonal. The main diagonal has the number 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import OpMemory, Signature
from gpugraph.ops.framework.kernel_helpers import Pairs, ints
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.linalg.matrix_diag_and_band import Sizes, as_rows, diagonal_of, diagonal_op


def _range_of(value: Any) -> tuple[int, int] | None:
    """Return (lowest diagonal, highest diagonal), the value of input `k`, or None if the value is
    unknown.
    """
    if value is None:
        return None
    numbers = ints(value)
    if len(numbers) not in (1, 2):
        raise ValueError(f"k must have one or two elements, but has {len(numbers)}")
    if numbers[0] > numbers[-1]:
        raise ValueError(f"lower_diag_index must not be larger than upper_diag_index: {numbers}")
    return numbers[0], numbers[-1]


def _longest(rows: int, columns: int, low: int, high: int) -> int:
    """Return the number of elements of the longest diagonal from `low` to `high`."""
    return min(rows + min(high, 0), columns - max(low, 0))


def _check_diagonals(rows: int, columns: int, low: int, high: int) -> None:
    inside = low == high == 0 or (-rows < low and high < columns)
    if not inside:
        raise ValueError(
            f"The diagonals {low} to {high} are not all inside matrices of {rows} rows and "
            f"{columns} columns"
        )


def _parts_shape(sizes: Sizes, low: int, high: int) -> TensorShape:
    """Return the shape of the array of diagonals `low` to `high` of matrices of these sizes."""
    rows, columns = sizes[-2:]
    longest = None
    if rows is not None and columns is not None:
        _check_diagonals(rows, columns, low, high)
        longest = _longest(rows, columns, low, high)
    count = () if low == high else (high - low + 1,)
    return TensorShape.of((*sizes[:-2], *count, longest))


def _diagonal_views(array: Any, low: int, high: int) -> list[tuple[int, Any]]:
    """Return (number, view [batch, longest]) for each diagonal in the array of diagonals."""
    if low == high:
        return [(low, as_rows(array))]
    split = array.reshape(prod(array.shape[:-2]), array.shape[-2], array.shape[-1])
    return [(high - row, split[:, row]) for row in range(array.shape[-2])]


def _copies(matrices: Any, diagonals: Any, low: int, high: int) -> list[tuple[Any, Any]]:
    """Return (view of the array of diagonals, view of the matrices) for each diagonal from low to
    high.
    """
    pairs = []
    for number, values in _diagonal_views(diagonals, low, high):
        view = diagonal_of(matrices, number)
        pairs.append((values[:, : view.shape[1]], view))
    return pairs


def _infer_diag_v2(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].with_rank_at_least(1).sizes
    bounds = _range_of(context.value(1))
    if sizes is None or bounds is None:
        return [UNKNOWN]
    low, high = bounds
    batch = sizes[:-1] if low == high else sizes[:-2]
    if low != high and (len(sizes) < 2 or sizes[-2] not in (None, high - low + 1)):
        raise ValueError(
            f"{high - low + 1} diagonals are needed, but the shape is {shape_text(sizes)}"
        )
    matrix_sizes = [context.value(index) for index in (2, 3)]
    longest = sizes[-1]
    if longest is None or any(size is None for size in matrix_sizes):
        return [TensorShape.of((*batch, None, None))]
    rows, columns = (ints(size)[0] for size in matrix_sizes)
    return [TensorShape.of((*batch, *_matrix_sizes(longest, low, high, rows, columns)))]


def _matrix_sizes(longest: int, low: int, high: int, rows: int, columns: int) -> tuple[int, int]:
    """Return (rows, columns) of the matrices.

    If `rows` or `columns` is -1, it is replaced by the smallest size with which the longest
    diagonal has `longest` elements. Raises ValueError if there are no such matrices.
    """
    min_rows, min_columns = longest - min(high, 0), longest + max(low, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(min_rows, min_columns)
    rows = min_rows if rows == -1 else rows
    columns = min_columns if columns == -1 else columns
    if _longest(rows, columns, low, high) != longest:
        raise ValueError(
            f"The number of rows or columns is wrong: {rows} and {columns} for diagonals {low} to "
            f"{high} of {longest} elements"
        )
    return rows, columns


def _diag_v2_views(signature: Signature, diagonal: Any, padding: Any, out: Any) -> Pairs:
    low, high = _range_of(signature.value(1)) or (0, 0)
    return [(padding.reshape(()), out), *_copies(out, diagonal, low, high)]


def _diag_v2_back(op: Any, dy: Any) -> list[Any]:
    zero = np.zeros((), dy.dtype.base_dtype.as_numpy_dtype)
    return [raw_ops.MatrixDiagPartV2(dy, op.inputs[1], zero), None, None, None, None]


matrix_diag_v2 = diagonal_op(
    "MatrixDiagV2",
    "diagonal: T, k: int32, num_rows: scalar int32, num_cols: scalar int32, "
    "padding_value: scalar T",
    _infer_diag_v2,
    _diag_v2_views,
    _diag_v2_back,
    "Matrices with the given diagonals k[0] to k[1] (from the last row of `diagonal` up), "
    "each from its left end, and padding_value elsewhere.",
    memory=OpMemory(host_inputs=[1, 2, 3]),
)


def _infer_diag_part_v2(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].with_rank_at_least(2).sizes
    bounds = _range_of(context.value(1))
    if sizes is None or bounds is None:
        return [UNKNOWN]
    return [_parts_shape(sizes, *bounds)]


def _diag_part_v2_views(signature: Signature, matrices: Any, padding: Any, out: Any) -> Pairs:
    low, high = _range_of(signature.value(1)) or (0, 0)
    copies = [(view, values) for values, view in _copies(matrices, out, low, high)]
    return [(padding.reshape(()), out), *copies]


def _diag_part_v2_back(op: Any, dy: Any) -> list[Any]:
    zeros = raw_ops.ZerosLike(op.inputs[0])
    return [raw_ops.MatrixSetDiagV2(zeros, dy, op.inputs[1]), None, None]


matrix_diag_part_v2 = diagonal_op(
    "MatrixDiagPartV2",
    "input: T, k: int32, padding_value: scalar T",
    _infer_diag_part_v2,
    _diag_part_v2_views,
    _diag_part_v2_back,
    "The diagonals k[1] down to k[0] of matrices, each from its left end; what is longer "
    "than a diagonal is padding_value.",
    output="diagonal",
    memory=OpMemory(host_inputs=[1]),
)


def _infer_set_diag_v2(context: InferContext) -> Sequence[TensorShape]:
    matrices = context.shapes[0].with_rank_at_least(2)
    bounds = _range_of(context.value(2))
    if matrices.sizes is not None and bounds is not None:
        wanted = _parts_shape(matrices.sizes, *bounds)
        if not wanted.is_compatible_with(context.shapes[1]):
            raise ValueError(
                f"The diagonals must be of shape {shape_text(wanted)}, but are "
                f"{shape_text(context.shapes[1])}"
            )
    return [matrices]


def _set_diag_v2_views(signature: Signature, matrices: Any, diagonal: Any, out: Any) -> Pairs:
    low, high = _range_of(signature.value(2)) or (0, 0)
    return [(matrices, out), *_copies(out, diagonal, low, high)]


def _set_diag_v2_back(op: Any, dy: Any) -> list[Any]:
    k = op.inputs[2]
    rest = raw_ops.MatrixSetDiagV2(dy, raw_ops.ZerosLike(op.inputs[1]), k)
    zero = np.zeros((), dy.dtype.base_dtype.as_numpy_dtype)
    return [rest, raw_ops.MatrixDiagPartV2(dy, k, zero), None]


matrix_set_diag_v2 = diagonal_op(
    "MatrixSetDiagV2",
    "input: T, diagonal: T, k: int32",
    _infer_set_diag_v2,
    _set_diag_v2_views,
    _set_diag_v2_back,
    "The matrices with the given diagonals k[0] to k[1] in place of their own.",
    memory=OpMemory(host_inputs=[2]),
)


# -- public functions


def _is_zero(k: Any) -> bool:
    return isinstance(k, int) and k == 0


def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
) -> Tensor:
    """Return matrices with the given diagonals, and `padding_value` elsewhere.

    Raises ValueError if the sizes do not fit the diagonals.

    Args:
      diagonal: a tensor of shape [..., n] for one diagonal, or [..., count, n] for `k` = (lowest,
        highest). Row 0 is the highest diagonal, and each diagonal begins at the start of its row.
      k: the number of the diagonal, or a pair. 0 means the main diagonal, and positive numbers mean
        diagonals above it.
      num_rows, num_cols: the sizes of the matrices. -1 means the smallest possible size.
    """
    if all(map(_is_zero, (k, padding_value))) and (num_rows, num_cols) == (-1, -1):
        return raw_ops.MatrixDiag(diagonal, name=name)
    return matrix_diag_v2(diagonal, k, num_rows, num_cols, padding_value, name=name)


def matrix_diag_part(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0
) -> Tensor:
    """Return the diagonals `k` (one number, or (lowest, highest)) of matrices [..., m, n].

    The shape is [..., longest] for one number, and [..., count, longest] for a pair, with the
    highest diagonal first. Shorter diagonals are padded with `padding_value` at their end. Raises
    ValueError if a diagonal is outside the matrices.
    """
    if _is_zero(k):
        return raw_ops.MatrixDiagPart(input, name=name)
    return matrix_diag_part_v2(input, k, padding_value, name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0) -> Tensor:
    """Return the matrices `input`, [..., m, n], with the diagonals `k` replaced by `diagonal`.

    Raises ValueError if the shape of `diagonal` is wrong.

    Args:
      diagonal: a tensor of the shape that `matrix_diag_part` returns.
    """
    if _is_zero(k):
        return raw_ops.MatrixSetDiag(input, diagonal, name=name)
    return matrix_set_diag_v2(input, diagonal, k, name=name)
