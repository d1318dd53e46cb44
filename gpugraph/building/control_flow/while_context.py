"""WhileContext: the inside of a loop.

    Enter -> Merge -> Switch -> Identity -> body -> NextIteration
              ^ |       |  ^                            |
              | |       |  +- LoopCond <- cond          |
              | |       +-> Exit                        |
              | +-> cond                                |
              +-----------------------------------------+

Each loop variable has one such chain, and all of them share one LoopCond. Tensors from outside
enter through constant Enters, which output the same value in each iteration. An op whose inputs are
all constant would run endlessly, so it gets a control input (the pivot), which is an op that runs
once in each iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.control_flow.context_base import (
    ControlFlowContext,
    LoopContext,
    LoopPair,
    current,
    in_scope_of,
    loop_of,
    loop_of_op,
    output_context,
    within,
)
from gpugraph.building.control_flow.switch_merge_enter_exit import (
    enter,
    is_constant_enter,
    next_iteration,
    switch,
)
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scope_state import controls_of
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.indexed_slices_to_tensor import dense
from gpugraph.ops.framework.op_declaration import raw_ops

_OF_SHAPE = ("Shape", "Size", "Rank")


class WhileContext(LoopContext):
    """The context of one loop.

    Args:
      name: a name for its frame, which is made unique.
      frame: instead of `name`, the frame name of Enters that already exist.
      own_grad_state: the record of the forward and the backward loop, if this is a backward loop.
    """

    def __init__(
        self,
        graph: Graph,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        maximum_iterations: Tensor | None = None,
        name: str = "while_context",
        own_grad_state: LoopPair | None = None,
        frame: str = "",
    ) -> None:
        super().__init__(graph)
        self.name = frame or graph.unique_name(name)
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop
        self.swap_memory = swap_memory
        self.maximum_iterations = maximum_iterations
        self.own_grad_state = own_grad_state
        self.pred: Tensor | None = None  # the output of LoopCond
        self.pred_pivot: Operation | None = None
        self.body_pivot: Operation | None = None
        self.enters: list[Tensor] = []  # the Enters of the loop variables
        self.exits: list[Tensor] = []
        self.switches: set[Operation] = set()

    @property
    def loop(self) -> WhileContext:
        """This loop itself."""
        return self

    @property
    def control_pivot(self) -> Operation | None:
        """An operation that runs once in each iteration. It is the control input of ops that read
        only constants.
        """
        return self.body_pivot or self.pred_pivot

    # -- outer tensors inside the loop

    def capture(self, tensor: Tensor) -> Tensor:
        """Return the tensor that ops in the loop use for `tensor`: the tensor itself, or the output
        of a constant Enter.
        """
        if tensor in self.known:
            return self.stand_ins.get(tensor, tensor)
        self.known.add(tensor)
        captured = self._history(tensor)
        if captured is None:
            captured = self._entered(tensor)
        self.stand_ins[tensor] = captured
        return captured

    def _history(self, tensor: Tensor) -> Tensor | None:
        """Return, in a backward loop, the value that a forward `tensor` had in the matching
        iteration.

        Returns None if this is not a backward loop, or if `tensor` is not in the forward loop.
        """
        state = self.own_grad_state
        if state is None or loop_of(output_context(tensor.op)) is not state.forward_context:
            return None
        return state.value(tensor)

    def _entered(self, tensor: Tensor) -> Tensor:
        source = tensor if self.outer is None else self.outer.capture(tensor)
        with self.graph.control_dependencies(None):
            entered = self.enter(source, is_constant=True)
            self.graph.prevent_feeding(entered)
        self.adopt_enter(entered)
        self.known.add(entered)
        return entered

    def enter(self, tensor: Tensor, is_constant: bool = False, name: str | None = None) -> Tensor:
        """Return an Enter of `tensor` into this loop's frame."""
        return enter(tensor, self.name, self.parallel_iterations, is_constant, name)

    def adopt_enter(self, entered: Tensor) -> None:
        """Add to this loop an Enter that was created outside of all contexts.

        The current control dependencies for which the Enter may wait become its control inputs.
        """
        state = self.graph._scope
        op = entered.op
        waited = [
            control for control in controls_of(op._inputs, state) if self._is_waited_for(control)
        ]
        op._control_flow_context = self
        op._add_control_inputs(waited)
        for block in state.controls:
            block.seen.add(op)

    def _is_waited_for(self, op: Operation) -> bool:
        """Return whether an Enter may have `op` as a control input.

        `op` must be outside of this loop, but not outside of the next outer loop.
        """
        context = output_context(op)
        outer_loop = loop_of(self.outer)
        outer = self.outer
        while outer is not context:
            if outer is None or outer is outer_loop:
                return False
            outer = outer.outer
        return True

    def owns(self, op: Operation) -> bool:
        """Return whether the op is a Switch, Exit, Merge or Enter of this loop."""
        if op.type in ("Switch", "RefSwitch"):
            return op in self.switches
        if op.type in ("Exit", "RefExit"):
            return op._outputs[0] in self.exits
        first = op._inputs[0].op if op.type in ("Merge", "RefMerge") else op
        return first.type in ("Enter", "RefEnter") and first._attrs["frame_name"] == self.name

    # -- new ops

    def add_op(self, op: Operation) -> None:
        """Add a new op to this loop. In a backward loop, move a Shape, Size or Rank of a forward
        tensor to the forward loop instead.
        """
        if op.type in _OF_SHAPE and self._move_to_forward_loop(op):
            return
        self.adopt(op)

    def _move_to_forward_loop(self, op: Operation) -> bool:
        """Move the Shape, Size or Rank of a forward tensor from the backward loop into the forward
        loop.

        The stack for the backward loop then holds the shape instead of the tensor itself. Returns
        whether the op was moved.
        """
        state = self.own_grad_state
        source = op._inputs[0].op
        if state is None or loop_of_op(source) is not state.forward_context:
            return False
        forward: ControlFlowContext = source._control_flow_context
        op._control_flow_context = forward
        if forward.loop is forward:
            forward.loop.adopt(op)
        else:
            forward.add_op(op)
        return True

    def adopt(self, op: Operation) -> None:
        """Add the op to this loop: capture its inputs, and replace control inputs from outside."""
        self.add_inputs(op)
        outer_controls = self.drop_outer_controls(op)
        if not op._control_inputs and all(map(is_constant_enter, op._inputs)):
            pivot = self.control_pivot
            assert pivot is not None
            op._control_inputs = (pivot,)
        self.known.update(op._outputs)
        if outer_controls:
            self._wait_for(op, outer_controls)
        self.hide(op)

    def _wait_for(self, op: Operation, outer: Sequence[Operation]) -> None:
        """Make the op wait for ops outside of the loop, through Identities of their outputs."""
        with in_scope_of(op), self.graph.control_dependencies(None), within(self.graph, self):
            waited = [
                raw_ops.Identity(control._outputs[0]).op for control in outer if control._outputs
            ]
        op._control_inputs = tuple(dict.fromkeys([*op._control_inputs, *waited]))

    # -- parts of a loop

    def close(self, merged: Tensor, result: Tensor) -> None:
        """Make `result` the next value of the loop variable whose Merge outputs `merged`."""
        merged.op._update_input(1, next_iteration(result))

    def switch(self, merged: Tensor) -> tuple[Tensor, Tensor]:
        """Return the two outputs of a loop variable's Switch. The first leads to the Exit, the
        second to the body.

        The Switch is colocated with `merged`, the output of the variable's Merge.
        """
        assert self.pred is not None
        outputs = switch(merged, self.pred)
        self.switches.add(outputs[0].op)
        return outputs

    def plain_switch(self, merged: Tensor) -> tuple[Tensor, Tensor]:
        """Return the two outputs of a Switch as `switch` does, but do not colocate the Switch with
        `merged`. The current device scopes determine its device.
        """
        outputs = raw_ops.Switch(merged, self.pred)
        self.switches.add(outputs.output_false.op)
        return outputs.output_false, outputs.output_true

    # -- gradients: of this loop's ops, made in its backward loop

    def exit_gradient(self, op: Operation, grad: Tensor) -> Tensor | None:
        """Return the gradient at the input of an Exit: an Enter of `grad` into the backward loop.

        Returns None if the loop is not differentiable. Raises TypeError if this is itself a
        backward loop.
        """
        if not self.back_prop:
            return None
        if self.own_grad_state is not None:
            raise TypeError(
                "Second-order gradient for while loops not supported: "
                f"'{op.name}' leaves the backward loop '{self.name}'"
            )
        return self._backward().begin(op, grad)

    def switch_gradient(self, op: Operation, *grads: Any) -> Sequence[Tensor | None]:
        """Return the gradients at the data and the predicate of a loop variable's Switch.

        This method is called twice for each Switch: once when its Exit has a gradient, and once
        when the loop's body has one.
        """
        return [self._backward().at_switch(op, *grads), None]

    def merge_gradient(self, op: Operation, grad: Tensor | IndexedSlices) -> Sequence[Tensor]:
        """Return the gradients at the two inputs of a Merge, which are a loop variable's initial
        and next value.

        The gradients are the outputs of the Switch in the backward loop. The first leads to the
        Exit, the second to the body.
        """
        return self._backward().grad_context.switch(dense(grad))

    def enter_gradient(self, op: Operation, grad: Tensor | IndexedSlices) -> Tensor | IndexedSlices:
        """Return the gradient at an Enter's input. If there is a backward loop, the gradient is
        outside of it.
        """
        now = current(self.graph)
        state = None if now is None else now.grad_state
        if state is None or not self.back_prop:
            return grad
        return state.end(op, grad)

    def _backward(self) -> LoopPair:
        """Return the record of this loop and of its backward loop. The current context must be the
        backward loop.
        """
        now = current(self.graph)
        state = None if now is None else now.grad_state
        assert state is not None, f"no backward loop of '{self.name}' is being made"
        return state
