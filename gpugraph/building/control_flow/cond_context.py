"""CondContext: one branch of a `cond`.

The branch reads each tensor from outside through a separate Switch on the predicate. If the branch
is not taken, the output of this Switch is dead, and so is every tensor computed from it. An op
without inputs gets the branch's pivot as a control input, which is also dead if the branch is not
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.control_flow.composite_flow import map_parts
from gpugraph.building.control_flow.context_base import ControlFlowContext, LoopContext, current
from gpugraph.building.control_flow.indexed_slices_flow import merge_gradients, switch_gradient
from gpugraph.building.control_flow.switch_merge_enter_exit import switch
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class CondContext(ControlFlowContext):
    """The branch that is taken if `pred` equals `branch` (0: false, 1: true).

    Args:
      pivot: a tensor that is alive only if the branch is taken.
      name: the name of the context, by default a unique one.
    """

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int, name: str = "") -> None:
        super().__init__(pred.graph)
        self.name = name or pred.graph.unique_name("cond_text")
        self.pred = pred
        self.pivot = pivot
        self.branch = branch
        self.known = {pred, pivot}
        self.stand_ins = {pred: pred}
        pivot.op._control_flow_context = self

    @property
    def loop(self) -> LoopContext | None:
        """The loop around this branch, or None."""
        return None if self.outer is None else self.outer.loop

    @property
    def back_prop(self) -> bool:  # type: ignore[override]
        """Whether the enclosing loop is differentiable. False if there is no enclosing loop."""
        return self.loop is not None and self.loop.back_prop

    @property
    def control_pivot(self) -> Operation:
        """The operation that runs if and only if the branch is taken."""
        return self.pivot.op

    def capture(self, tensor: Tensor) -> Tensor:
        """Return the tensor that ops in the branch use for `tensor`: the tensor itself, or the
        output of a Switch on it.
        """
        if tensor in self.known:
            return self.stand_ins.get(tensor, tensor)
        source = self._from_outer(tensor)
        with self.graph.control_dependencies(None):
            switched = switch(source, self.pred)[self.branch]
        switched.op._control_flow_context = self
        self.hide(switched.op)
        for context in self.outwards():
            context.known.add(switched)
        self.stand_ins[tensor] = switched
        return switched

    def _from_outer(self, tensor: Tensor) -> Tensor:
        """Return the tensor that the outer context uses for `tensor`, and record both as known in
        the branch.
        """
        self.known.add(tensor)
        if self.outer is None:
            return tensor
        source = self.outer.capture(tensor)
        self.known.add(source)
        self.stand_ins[source] = source
        return source

    def add_op(self, op: Operation) -> None:
        """Capture the inputs of a new op. If the op has no inputs, give it the pivot as a control
        input.

        Control inputs from outside of the enclosing loop are removed.
        """
        self.add_inputs(op)
        self.drop_outer_controls(op)
        if not op._inputs and not any(self._holds(control) for control in op._control_inputs):
            op._control_inputs = (*op._control_inputs, self.pivot.op)
        for context in self.outwards():
            context.known.update(op._outputs)
        self.hide(op)

    def _holds(self, op: Operation) -> bool:
        context: ControlFlowContext | None = op._control_flow_context
        return context is not None and self in context.outwards()

    def owns(self, op: Operation) -> bool:
        """Return whether `op` is a Switch on this predicate, or a Merge in the outer context."""
        if op.type in ("Switch", "RefSwitch"):
            return op._inputs[1] is self.pred
        return op.type in ("Merge", "RefMerge") and op._control_flow_context is self.outer

    # -- building

    def build(self, function: Callable[[], Any]) -> tuple[Any, Any]:
        """Call `function`. Return its result, and a copy of the result whose leaves are tensors of
        this branch.

        In the copy, an Operation is replaced by the pivot, with a control dependency on the
        Operation.
        """
        returned = function()
        if returned is None:
            return None, None
        return returned, map_parts(self._result, returned)

    def _result(self, value: Any) -> Tensor:
        if isinstance(value, Operation):
            return with_dependencies([value], self.pivot)
        tensor = convert_to_tensor(value)
        if tensor in self.known:
            return self.stand_ins.get(tensor, tensor)
        source = self._from_outer(tensor)
        switched = switch(source, self.pred)[self.branch]
        self.stand_ins[tensor] = switched
        return switched

    # -- gradients

    def switch_gradient(self, op: Operation, *grads: Any) -> Sequence[Any]:
        """Return the gradients at the inputs of a Switch: a Merge of `grads` for its data, and None
        for its predicate.

        Args:
          grads: the gradients at the two outputs of the Switch. This context's branch uses only one
            of these outputs. The gradient at the unused output is zeros from
            `zeros_for_switch`.
        """
        if grads[1 - self.branch] is None:
            return [None, None]
        return [merge_gradients(grads, op._inputs[0], name="cond_grad"), None]

    def merge_gradient(self, op: Operation, grad: Tensor | IndexedSlices) -> Sequence[Any]:
        """Return the gradients at the Merge's inputs. Each is `grad`, but alive only if its branch
        is taken.
        """
        state = None if (now := current(self.graph)) is None else now.grad_state
        pred = self.pred if state is None else state.predicate(self.pred)
        return switch_gradient(grad, pred, name="cond_grad")
