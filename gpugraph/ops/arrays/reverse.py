"""ReverseV2, which reverses a tensor along some axes."""

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

REVERSIBLE = (*NUMERIC, dtypes.bool, dtypes.string)


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


def backwards(source: Any, axes: Sequence[int]) -> Any:
    """Return a view of the array `source` that is reversed along `axes`."""
    index = [slice(None)] * source.ndim
    for axis in axes:
        index[axis] = slice(None, None, -1)
    return source[tuple(index) + (...,)]  # the ellipsis makes the result a view for a scalar, too


def _reversed(signature: Signature, source: Any, out: Any) -> Pairs:
    axes = _reversed_dims(signature.value(1), source.ndim)
    view = backwards(source, axes)
    channels = source.shape[-1] if source.ndim > 1 else 1
    if type(channels) is int and 1 < channels <= _FEW and source.ndim - 1 not in axes:
        # NumPy copies long rows of one channel faster than many pixels of a few
        return [(view[..., channel], out[..., channel]) for channel in range(channels)]
    return [(view, out)]


_FEW = 4


_reverse = op(
    "ReverseV2", inputs="tensor: T, axis: Tidx", outputs="output: T",
    attrs={"Tidx": INDEX, "T": REVERSIBLE}, infer=_infer_reverse, host=[1], **copying(_reversed),
    grad=lambda op, dy: [raw_ops.ReverseV2(dy, op.inputs[1]), None],
    doc="The tensor with its elements in reverse order along the axes.",
)  # fmt: skip


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Reverse the order of the elements of `tensor` along each axis in the int vector `axis`.

    Raises ValueError if an axis is outside [-rank, rank) or listed twice.

    >>> session.run(tf.reverse([1, 2, 3], axis=[0]))
    array([3, 2, 1], dtype=int32)
    """
    return _reverse(tensor, int_argument(axis), name=name)
