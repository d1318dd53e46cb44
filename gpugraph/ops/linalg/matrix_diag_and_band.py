"""Diagonals and bands: matrices of diagonals, the diagonals of matrices, and bands around them.

The elements of a diagonal have a constant stride in memory, one row plus one element. A diagonal is
therefore a view of the matrix, and MatrixDiag and similar ops are copies between views.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC, DType
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import (
    SEPARATE,
    Arg,
    Call,
    KernelContext,
    Launch,
    OpMemory,
    RowSource,
    Signature,
    Source,
)
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.cuda_grids import item_type
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, ints, item_size
from gpugraph.ops.framework.numpy_conversion import zero_of
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.public_function import InputFunction, public_function
from gpugraph.ops.framework.row_update_launches import columns_and_rows
from gpugraph.ops.framework.shape_functions import UNKNOWN

Sizes = tuple[int | None, ...]


def zero_in(array: Any) -> Any:
    """Return the zero of the array's dtype (an empty string for strings), as a scalar array."""
    return np.array(zero_of(array.dtype), array.dtype)


def diagonal_of(matrices: Any, number: int = 0) -> Any:
    """Return a view of a diagonal of each matrix, [batch, length].

    Args:
      number: the number of the diagonal. 0 means the main diagonal, and positive numbers mean
        diagonals above it.
    """
    rows, columns = matrices.shape[-2:]
    flat = matrices.reshape(prod(matrices.shape[:-2]), rows * columns)
    start = number if number >= 0 else -number * columns
    length = _length(rows, columns, number)
    if length == 0:
        return flat[:, :0]
    return flat[:, start : start + (length - 1) * (columns + 1) + 1 : columns + 1]


def _length(rows: int, columns: int, number: int) -> int:
    """Return the number of elements of diagonal `number` of a matrix."""
    return max(0, min(rows + min(number, 0), columns - max(number, 0)))


def as_rows(array: Any) -> Any:
    """Return a view [batch, length] of the array. Its rows are along the array's last axis."""
    return array.reshape(prod(array.shape[:-1]), array.shape[-1])


def diagonal_op(
    op_type: str,
    inputs: str,
    infer: InferFunction,
    views: Callable[..., Pairs],
    grad: Any,
    doc: str,
    output: str = "output",
    types: Sequence[DType] = ALL,
    memory: OpMemory = SEPARATE,
) -> OpFunction:
    """Declare an op that copies between diagonals and matrices.

    Args:
      views: a function that returns the pairs of views to copy, see `ViewCopies`.
    """
    return op(
        op_type,
        inputs=inputs,
        outputs=f"{output}: T",
        attrs={"T": types},
        infer=infer,
        memory=memory,
        **copying(views),
        grad=grad,
        doc=doc,
    )


# -- the main diagonal


def _infer_diag(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].with_rank_at_least(1).sizes
    return [UNKNOWN if sizes is None else TensorShape.of((*sizes, sizes[-1]))]


def _diag_views(_: Signature, diagonal: Any, out: Any) -> Pairs:
    return [(zero_in(out), out), (as_rows(diagonal), diagonal_of(out))]


diagonal_op(
    "MatrixDiag",
    "diagonal: T",
    _infer_diag,
    _diag_views,
    lambda op, dy: raw_ops.MatrixDiagPart(dy),
    "Square matrices, [..., n, n], with the diagonals [..., n] and zeros elsewhere.",
)


def _shorter(rows: int | None, columns: int | None) -> int | None:
    if rows is None or columns is None:
        return 0 if 0 in (rows, columns) else None
    return min(rows, columns)


def _infer_diag_part(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].with_rank_at_least(2).sizes
    return [UNKNOWN if sizes is None else TensorShape.of((*sizes[:-2], _shorter(*sizes[-2:])))]


def _diag_part_views(_: Signature, matrices: Any, out: Any) -> Pairs:
    return [(diagonal_of(matrices), as_rows(out))]


def _diag_part_back(op: Any, dy: Any) -> Any:
    sizes = op.inputs[0].shape.sizes
    if sizes is not None and sizes[-1] is not None and sizes[-1] == sizes[-2]:
        return raw_ops.MatrixDiag(dy)
    return raw_ops.MatrixSetDiag(raw_ops.ZerosLike(op.inputs[0]), dy)


diagonal_op(
    "MatrixDiagPart",
    "input: T",
    _infer_diag_part,
    _diag_part_views,
    _diag_part_back,
    "The diagonals, [..., min(m, n)], of matrices [..., m, n].",
    output="diagonal",
)


def _infer_set_diag(context: InferContext) -> Sequence[TensorShape]:
    matrices = context.shapes[0].with_rank_at_least(2)
    diagonal = context.shapes[1].with_rank_at_least(1)
    if matrices.sizes is None:
        if diagonal.sizes is None:
            return [UNKNOWN]
        return [TensorShape.of((*diagonal.sizes[:-1], None, None))]
    wanted = TensorShape.of((*matrices.sizes[:-2], _shorter(*matrices.sizes[-2:])))
    merged = diagonal.merge_with(wanted).sizes
    assert merged is not None
    return [TensorShape.of((*merged[:-1], *matrices.sizes[-2:]))]


def _set_diag_views(_: Signature, matrices: Any, diagonal: Any, out: Any) -> Pairs:
    return [(matrices, out), (as_rows(diagonal), diagonal_of(out))]


def _set_diag_back(op: Any, dy: Any) -> list[Any]:
    rest = raw_ops.MatrixSetDiag(dy, raw_ops.ZerosLike(op.inputs[1]))
    return [rest, raw_ops.MatrixDiagPart(dy)]


diagonal_op(
    "MatrixSetDiag",
    "input: T, diagonal: T",
    _infer_set_diag,
    _set_diag_views,
    _set_diag_back,
    "The matrices [..., m, n] with the diagonals [..., min(m, n)] in place of their own.",
)


# -- bands


def _infer_band(context: InferContext) -> Sequence[TensorShape]:
    return [context.shapes[0].with_rank_at_least(2)]


def _bind_band(context: KernelContext, matrices: Any, out: Any) -> Callable[[], Any]:
    lower, upper = (ints(context.value(index))[0] for index in (1, 2))
    rows, columns = matrices.shape[-2:]
    for count, size, what in ((lower, rows, "num_lower"), (upper, columns, "num_upper")):
        if count > size:
            raise invalid_argument(f"{what} must be negative or at most {size}, but is {count}")
    above = np.arange(columns, like=out) - np.arange(rows, like=out)[:, None]
    outside = ((above < -lower) & (lower >= 0)) | ((above > upper) & (upper >= 0))

    def run() -> None:
        np.copyto(out, matrices)
        np.copyto(out, zero_in(out), where=outside)

    return run


def _launch_band(signature: Signature) -> list[Launch]:
    lower, upper = (ints(signature.value(index))[0] for index in (1, 2))
    sizes = signature.input_shapes[0]
    rows, columns = sizes[-2:]
    if lower > rows or upper > columns:
        raise NotImplementedError("the band is wider than the matrix")
    total = prod(sizes[:-1])
    grid, block = columns_and_rows(total, columns)
    lowest = -lower if lower >= 0 else -rows
    arguments = (Arg(0), Arg(1), total, rows, columns, lowest, upper if upper >= 0 else columns)
    defines: dict[str, str | int] = {"ITEM": item_type(signature.output_types[0])}
    return [Launch("gg_band", grid, block, arguments, defines=defines)]


def _native_band(signature: Signature) -> list[int]:
    lower, upper = (ints(signature.value(index))[0] for index in (1, 2))
    *batch, rows, columns = signature.input_shapes[0]
    if lower > rows or upper > columns:
        raise NotImplementedError("the band is wider than the matrix")
    kept = [lower if lower >= 0 else rows, upper if upper >= 0 else columns]
    return [prod(batch), rows, columns, item_size(signature.input_types[0]), *kept]


def _band_back(op: Any, dy: Any) -> list[Any]:
    return [raw_ops.MatrixBandPart(dy, op.inputs[1], op.inputs[2]), None, None]


_matrix_band_part = op(
    "MatrixBandPart",
    inputs="input: T, num_lower: scalar Tindex, num_upper: scalar Tindex",
    outputs="band: T",
    attrs={"T": ALL, "Tindex": INDEX},
    infer=_infer_band,
    memory=OpMemory(host_inputs=[1, 2]),
    cpu=Call(make=_bind_band),
    gpu=Source("matrix_band_part.cu", _launch_band, Call(make=_bind_band)),
    native=RowSource("host_kept_rows.h", "gg_band", _native_band, None),
    grad=_band_back,
    doc=(
        "The matrices, with zeros at all elements that are more than num_upper diagonals above "
        "the main diagonal, or more than num_lower diagonals below it. A negative number means no "
        "limit."
    ),
)


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Return the matrices `input`, [..., m, n], with zeros outside a band around the main diagonal.

    Args:
      num_lower, num_upper: the number of diagonals to keep below and above the main diagonal. A
        negative number keeps all diagonals. A run raises InvalidArgumentError if a number exceeds
        the size of the matrix.

    >>> session.run(tf.matrix_band_part(tf.ones([2, 2]), -1, 0))
    array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    limits = [
        np.int64(whole_number("num_lower or num_upper", n)) if isinstance(n, int) else n
        for n in (num_lower, num_upper)
    ]
    return _matrix_band_part(input, *limits, name=name)


# -- tensors of twice the rank


def _infer_tensor_diag(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].with_rank_at_least(1).sizes
    return [UNKNOWN if sizes is None else TensorShape.of(sizes + sizes)]


def _tensor_diag_views(_: Signature, diagonal: Any, out: Any) -> Pairs:
    matrix = out.reshape(diagonal.size, diagonal.size)
    return [(zero_in(out), out), (diagonal.reshape(1, -1), diagonal_of(matrix))]


diag: Callable[..., Tensor] = public_function(
    diagonal_op(
        "Diag",
        "diagonal: T",
        _infer_tensor_diag,
        _tensor_diag_views,
        lambda op, dy: raw_ops.DiagPart(dy),
        "A tensor of shape `diagonal.shape` twice over: output[i..., i...] is diagonal[i...], "
        "zeros elsewhere. ValueError for a scalar.",
        types=NUMERIC,
    )
)


def _infer_tensor_diag_part(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [UNKNOWN]
    if len(sizes) % 2 or not sizes:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {len(sizes)}")
    half = len(sizes) // 2
    return [TensorShape.of(sizes[:half]).merge_with(TensorShape.of(sizes[half:]))]


def _tensor_diag_part_views(_: Signature, source: Any, out: Any) -> Pairs:
    matrix = source.reshape(out.size, out.size)
    return [(diagonal_of(matrix), out.reshape(1, -1))]


diag_part: InputFunction = public_function(
    diagonal_op(
        "DiagPart",
        "input: T",
        _infer_tensor_diag_part,
        _tensor_diag_part_views,
        lambda op, dy: raw_ops.Diag(dy),
        "The diagonal of `input`, whose shape is one shape twice over: output[i...] is "
        "input[i..., i...]. ValueError for other shapes.",
        output="diagonal",
        types=NUMERIC,
    )
)
