"""ReverseV2, which reverses a tensor along some axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import NUMERIC
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory, Signature, ViewCopies
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.changed_arguments.arguments_before_one import hint_at_old_arguments
from gpugraph.ops.framework.kernel_helpers import Pairs, ints, numpy_kernels, run_all
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
    """Return a view of the array `source`, reversed along `axes`."""
    index = [slice(None)] * source.ndim
    for axis in axes:
        index[axis] = slice(None, None, -1)
    return source[tuple(index) + (...,)]  # the ellipsis makes the result a view for a scalar, too


def _reversed(signature: Signature, source: Any, out: Any) -> Pairs:
    return [(backwards(source, _reversed_dims(signature.value(1), source.ndim)), out)]


def _bind_reverse(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    axes = _reversed_dims(context.value(1), source.ndim)
    pairs: Pairs = [(backwards(source, axes), out)]
    if source.ndim > 1 and 1 < source.shape[-1] <= _FEW and axes == [source.ndim - 2]:
        # NumPy copies long rows of one channel faster than many pixels of a few
        channels = range(source.shape[-1])
        pairs = [(pairs[0][0][..., channel], out[..., channel]) for channel in channels]
    return run_all([partial(np.copyto, target, view) for view, target in pairs])


_FEW = 4


_reverse = op(
    "ReverseV2", inputs="tensor: T, axis: Tidx", outputs="output: T",
    attrs={"Tidx": INDEX, "T": REVERSIBLE}, infer=_infer_reverse,
    memory=OpMemory(host_inputs=[1]),
    native=ViewCopies(_reversed), **numpy_kernels(Call(make=_bind_reverse)),
    grad=lambda op, dy: [raw_ops.ReverseV2(dy, op.inputs[1]), None],
    doc="The tensor with its elements in reverse order along the axes.",
)  # fmt: skip


@hint_at_old_arguments("reverse")
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Reverse the order of the elements of `tensor` along each axis in the int vector `axis`.

    Raises ValueError if an axis is outside [-rank, rank) or listed twice.

    >>> session.run(tf.reverse([1, 2, 3], axis=[0]))
    array([3, 2, 1], dtype=int32)
    """
    return _reverse(tensor, int_argument(axis), name=name)
