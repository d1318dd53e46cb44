"""The elements of a tensor in reverse order along some axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import NUMERIC
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Signature
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, ints
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument
from gpugraph.ops.framework.shape_functions import of_rank, same_shape

_TYPES = (*NUMERIC, dtypes.bool, dtypes.string)


def _reversed_dims(value: Any, rank: int) -> list[int]:
    axes = []
    for index, axis in enumerate(ints(value)):
        if not -rank <= axis < rank:
            message = f"'axis'[{index}] = {axis} is out of valid range [0, {rank - 1}]"
            raise Misfit(message, in_run=message)
        axes.append(axis % rank)
    for axis in axes:
        if axes.count(axis) > 1:
            message = f"axis {axis} specified more than once."
            raise Misfit(message, in_run=message)
    return axes


def _infer_reverse(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    value = context.value(1)
    of_rank(context.shapes[1], 1, "axis")
    if sizes is not None and value is not None:
        _reversed_dims(value, len(sizes))
    return same_shape(0)(context)


def _backwards(source: Any, axes: Sequence[int]) -> Any:
    """The view that runs backwards along the axes."""
    index = [slice(None)] * source.ndim
    for axis in axes:
        index[axis] = slice(None, None, -1)
    return source[tuple(index) + (...,)]  # a view of a scalar, too


def _reversed(signature: Signature, source: Any, out: Any) -> Pairs:
    return [(_backwards(source, _reversed_dims(signature.value(1), source.ndim)), out)]


_reverse = op(
    "ReverseV2",
    inputs="tensor: T, axis: Tidx",
    outputs="output: T",
    attrs={"Tidx": INDEX, "T": _TYPES},
    infer=_infer_reverse,
    host=[1],
    **copying(_reversed),
    grad=lambda op, dy: [raw_ops.ReverseV2(dy, op.inputs[1]), None],
    doc="The tensor with the order of its elements reversed along the axes.",
)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """`tensor` with its elements in reverse order along each axis of the vector `axis`.

    ValueError for an axis outside [-rank, rank) or given twice.
    """
    return _reverse(tensor, int_argument(axis), name=name)


# -- by a bool for each axis, as it was before


def _infer_flagged(context: InferContext) -> Sequence[TensorShape]:
    (count,) = of_rank(context.shapes[1], 1, "dims")
    rank = context.shapes[0].rank
    if rank is None:
        return [TensorShape.of(None if count is None else (None,) * count)]
    if rank > 8:
        raise ValueError(
            f"reverse does not work on tensors with more than 8 dimensions, but {rank}"
        )
    if count not in (None, rank):
        raise ValueError(f"dims must have an entry for each of {rank} dimensions, but has {count}")
    return [context.shapes[0]]


def _reversed_where(signature: Signature, source: Any, out: Any) -> Pairs:
    axes = [axis for axis, flag in enumerate(ints(signature.value(1))) if flag]
    return [(_backwards(source, axes), out)]


op(
    "Reverse",
    inputs="tensor: T, dims: bool",
    outputs="output: T",
    attrs={"T": _TYPES},
    infer=_infer_flagged,
    host=[1],
    **copying(_reversed_where),
    grad=lambda op, dy: [raw_ops.Reverse(dy, op.inputs[1]), None],
    doc="The tensor with its elements in reverse order along each axis whose entry of `dims` is "
    "true.",
)
