"""IndexedSlices in branches and loops. Each of their component tensors passes through separate
ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.context_base import ControlFlowContext, within
from gpugraph.building.control_flow.switch_merge_enter_exit import exit_loop, merge, switch
from gpugraph.building.control_flow.while_context import WhileContext
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.indexed_slices_to_tensor import as_slices
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.framework.identity_and_shape import value_shape
from gpugraph.ops.framework.tensor_conversion import constant


def merge_gradients(grads: Sequence[Any], source: Tensor, name: str) -> Tensor | IndexedSlices:
    """Return a Merge of `grads`, the gradients at `source` from two branches. Each run computes
    only one of these gradients.

    If one gradient is IndexedSlices, the result is IndexedSlices too, and a dense gradient is
    converted to slices of all its rows. The dense shape is the shape of `source`, not of a
    gradient: the shape of a gradient could be a constant, which would be alive whichever branch is
    taken.
    """
    if not any(isinstance(grad, IndexedSlices) for grad in grads):
        return merge(grads, name)
    with source.graph.name_scope(name):
        parts = [as_slices(grad) for grad in grads]
        values = merge([part.values for part in parts])
        # indices may be constants, so they get the values as control inputs
        rows = [with_dependencies([part.values], part.indices) for part in parts]
        return IndexedSlices(values, merge(rows), value_shape(source))


def switch_gradient(grad: Tensor | IndexedSlices, pred: Tensor, name: str) -> tuple[Any, Any]:
    """Return the two outputs of a Switch of `grad` on `pred`, first for false, then for true. In
    each run, one of these outputs has a value and the other is dead.
    """
    if not isinstance(grad, IndexedSlices):
        return switch(grad, pred, name)
    with grad.graph.name_scope(name):
        sides = [switch(part, pred) for part in grad._parts()]
    false, true = zip(*sides)
    return IndexedSlices(*false), IndexedSlices(*true)


def can_accumulate(grad: IndexedSlices) -> bool:
    """Return whether the shape of a row is known. This is required to start a sum with a row of
    zeros.
    """
    return bool(grad.values.shape[1:].is_fully_defined())


def accumulated_slices(
    loop: WhileContext, around: ControlFlowContext | None, grad: IndexedSlices, source: Tensor
) -> IndexedSlices:
    """Concatenate `grad` over all iterations of the backward loop `loop`.

    The result is outside of the loop. As in TensorFlow, its first row is zero and has index 0,
    because this row is the initial value of the loop variables.

    Args:
      around: the context around `loop`.
      source: the input of the Enter into the forward loop. Its shape is the dense shape of the
        result.
    """
    rest, graph = grad.values.shape[1:], grad.graph
    with within(graph, around):
        values = constant(0, grad.dtype.base_dtype, [1, *rest.as_list()], name="b_acc")
        indices = constant(0, grad.indices.dtype.base_dtype, [1])
        sizes = value_shape(source)
    with within(graph, loop):
        entered = []
        for first in (indices, values):
            loop.known.add(first)
            entered.append(loop.enter(first, name="b_acc"))
        entered[0]._shape = TensorShape.of((None,))
        entered[1]._shape = TensorShape.of((None,)).concatenate(rest)
        loop.enters += entered
        merged = [merge([tensor, tensor], name="b_acc") for tensor in entered]
        sides = [loop.plain_switch(tensor) for tensor in merged]
        for tensor, (_, so_far), new in zip(merged, sides, (grad.indices, grad.values)):
            loop.close(tensor, concat([so_far, new], 0))
        left = [exit_loop(done, name="b_acc") for done, _ in sides]
        loop.exits += left
        loop.leave(left)
    return IndexedSlices(left[1], left[0], sizes)
