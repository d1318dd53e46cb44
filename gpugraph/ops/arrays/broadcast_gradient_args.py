"""BroadcastGradientArgs, which returns the axes along which the gradients of two shapes are
summed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32, int64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import numpy_kernels, run_all
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.shape_functions import of_rank


def repeated_axes(s0: Sequence[int], s1: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return two lists of axes. The gradient of an operand of shape s0 is summed over the first
    list, and that of an operand of shape s1 over the second list.

    Axes are numbered in the shape to which `s0` and `s1` broadcast. The shorter shape is padded
    with ones on the left. An axis is in a shape's list if the padded shape has size 1 there, so an
    axis on which both shapes have size 1 is in both lists. However, if the shapes are equal, both
    lists are empty. Raises ValueError if the shapes are incompatible.
    """
    if list(s0) == list(s1):
        return [], []
    rank = max(len(s0), len(s1))
    x = [1] * (rank - len(s0)) + list(s0)
    y = [1] * (rank - len(s1)) + list(s1)
    if any(m != n and 1 not in (m, n) for m, n in zip(x, y, strict=True)):
        raise ValueError(f"Incompatible shapes: {list(s0)} vs. {list(s1)}")
    return [i for i in range(rank) if x[i] == 1], [i for i in range(rank) if y[i] == 1]


def _infer(context: InferContext) -> Sequence[TensorShape]:
    for shape, what in zip(context.shapes, ("s0", "s1"), strict=True):
        of_rank(shape, 1, what)
    s0, s1 = context.value(0), context.value(1)
    if s0 is None or s1 is None:
        return [TensorShape.of((None,))] * 2
    return [TensorShape.of((len(axes),)) for axes in repeated_axes(s0.tolist(), s1.tolist())]


def _bind(context: KernelContext, r0: Any, r1: Any) -> Callable[[], Any]:
    both = repeated_axes(context.value(0).tolist(), context.value(1).tolist())
    pairs = [(np.array(axes, r0.dtype), out) for axes, out in zip(both, (r0, r1))]
    return run_all([partial(np.copyto, out, axes) for axes, out in pairs])


op(
    "BroadcastGradientArgs",
    inputs="s0: T, s1: T",
    outputs="r0: T, r1: T",
    attrs={"T": (int32, int64)},
    infer=_infer,
    memory=OpMemory(host_inputs=[0, 1], host_outputs=[0, 1]),
    **numpy_kernels(Call(make=_bind)),
    grad=NO_GRADIENT,
    doc=(
        "Two lists of axes: the gradient of each operand of a broadcasting op is summed over the "
        "operand's list, which gives it the operand's shape."
    ),
)
