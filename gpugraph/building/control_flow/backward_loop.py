"""LoopGradient: a loop and its backward loop, which repeats the iterations in reverse.

    forward    count: 0, 1, 2 ... n         x  -> push onto a stack, in each iteration
    backward   count: n, ... 2, 1, 0        pop from it -> the value of x in that iteration

The forward tensors that the backward loop reads are kept on stacks, one for each tensor. There are
two exceptions: constants are created again in the backward loop, and loop invariants enter it
through another Enter. Control dependencies order the pushes with the forward counter and the pops
with the backward counter. Therefore each backward iteration pops the value that the matching
forward iteration has pushed, even if iterations run in parallel. A stack for a value of an inner
loop holds the values of all iterations of the outer loop as well.

The class follows GradLoopState of TensorFlow's python/ops/control_flow_state.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpugraph.building.control_flow.cond_context import CondContext
from gpugraph.building.control_flow.context_base import ControlFlowContext, output_context, within
from gpugraph.building.control_flow.indexed_slices_flow import accumulated_slices, can_accumulate
from gpugraph.building.control_flow.switch_merge_enter_exit import (
    constant_enter,
    exit_loop,
    is_list,
    merge,
    next_iteration,
    switch,
)
from gpugraph.building.control_flow.while_context import WhileContext
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import value_static_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.indexed_slices_to_tensor import dense
from gpugraph.ops.framework.identity_and_shape import value_shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant


class LoopGradient:
    """A forward loop and the backward loop that one call of `gradients` builds for it.

    Args:
      outer: the LoopGradient of the enclosing loop, if that loop is also differentiated.
      home: the control flow context in which `gradients` was called, or None outside of all
        contexts.
    """

    def __init__(
        self, forward: WhileContext, outer: LoopGradient | None, home: ControlFlowContext | None
    ) -> None:
        self.graph: Graph = forward.graph
        self.forward_context = forward
        self.outer = outer
        self.home = home
        self.pending_exits = len(forward.exits)
        self.deferred_exits: list[Tensor] = []
        self.unused_exits: list[Tensor] = []
        self.forward_exits = list(forward.exits)  # without the counter's Exit, added later
        self.backward_merges: dict[Operation, Tensor] = {}  # by forward Switch, the backward Merge
        self._history: dict[Tensor, Tensor] = {}
        self._pushes: dict[Tensor, tuple[Operation, Operation]] = {}  # stack: (push, op after it)
        self._pops: dict[Operation, Tensor] = {}
        self._forward_trigger: Operation | None = None
        self._backward_trigger: Operation | None = None
        around = forward.outer if outer is None else outer.forward_context
        # Without the caller's control dependencies: results of this loop would close a cycle.
        with self._apart(around):
            count = self._count_forward()
        if outer is None:
            with self._apart(around if around is not None else home):
                self.grad_context = self._backward_loop()
                self._count_backward(count)
        else:
            outer.forward_context.known.add(count)
            kept = outer.push(count)
            with self._apart(outer.grad_context):
                self.grad_context = self._backward_loop()
                self._count_backward(outer.pop(kept, count))

    @contextmanager
    def _apart(self, context: ControlFlowContext | None) -> Iterator[None]:
        """Build ops in `context`, without the control dependencies of the caller of `gradients`."""
        with self.graph.control_dependencies(None), within(self.graph, context):
            yield

    def _backward_loop(self) -> WhileContext:
        forward = self.forward_context
        return WhileContext(
            self.graph,
            forward.parallel_iterations,
            forward.back_prop,
            forward.swap_memory,
            forward.maximum_iterations,
            name=forward.name,
            own_grad_state=self,
        )

    # -- the counters

    def _count_forward(self) -> Tensor:
        """Add an iteration counter to the forward loop. Return its final value as a tensor outside
        of the loop.
        """
        loop = self.forward_context
        zero = constant(0, name="f_count")
        if self.outer is not None:  # executions of an inner loop must follow one another
            zero.op._add_control_input(self.outer._forward_add)
        with within(self.graph, loop):
            loop.known.add(zero)
            entered = loop.enter(zero, name="f_count")
            loop.enters.append(entered)
            merged = merge([entered, entered])
            done, goes_on = loop.plain_switch(merged)
            self.forward_index = next_iteration(raw_ops.Add(goes_on, 1))
            merged.op._update_input(1, self.forward_index)
            count = exit_loop(done, name="f_count")
            loop.exits.append(count)
            loop.leave([count])
        return count

    @property
    def _forward_add(self) -> Operation:
        """The op that increments the counter of the forward loop."""
        return self.forward_index.op._inputs[0].op

    def _count_backward(self, count: Tensor) -> None:
        """Build the backward loop's counter, from `count` down to 0, and its condition."""
        loop = self.grad_context
        one = constant(1, name="b_count")
        with within(self.graph, loop):
            loop.known.add(count)
            entered = loop.enter(count, name="b_count")
            loop.enters.append(entered)
            merged = merge([entered, entered])
            loop.pred_pivot = merged.op
            loop.pred = raw_ops.LoopCond(raw_ops.GreaterEqual(merged, one), name="b_count")
            done, goes_on = loop.plain_switch(merged)
            left = raw_ops.Sub(goes_on, one)
            loop.body_pivot = left.op
            self.grad_index = next_iteration(left)
            merged.op._update_input(1, self.grad_index)
            final = exit_loop(done, name="b_count")
            loop.exits.append(final)
            if self.outer is not None:
                self.outer.backward_trigger._add_control_input(final.op)
            loop.leave([final])

    @property
    def forward_trigger(self) -> Operation:
        """A ControlTrigger, which runs even if its control inputs are dead. The forward loop's
        counter waits for it.
        """
        if self._forward_trigger is None:
            self._forward_trigger = self._trigger("f_sync", self.forward_context)
            self.forward_index.op._add_control_input(self._forward_trigger)
        return self._forward_trigger

    @property
    def backward_trigger(self) -> Operation:
        """A ControlTrigger, which runs even if its control inputs are dead. The backward loop's
        counter waits for it.
        """
        if self._backward_trigger is None:
            self._backward_trigger = self._trigger("b_sync", self.grad_context)
            self.grad_index.op._add_control_input(self._backward_trigger)
        return self._backward_trigger

    def _trigger(self, name: str, context: WhileContext) -> Operation:
        with self.graph.control_dependencies(None):
            trigger: Operation = raw_ops.ControlTrigger(name=name)
        trigger._control_flow_context = context
        return trigger

    # -- forward values in the backward loop

    def value(self, tensor: Tensor) -> Tensor:
        """Return the value that the forward `tensor` had in the iteration that the backward loop is
        reversing.
        """
        history = self._history.get(tensor)
        if history is None:
            with within(self.graph, self.grad_context):
                history = self._history[tensor] = self._kept(tensor)
        return history

    def _kept(self, tensor: Tensor) -> Tensor:
        source = tensor
        state = self
        while (entered := constant_enter(source)) is not None:
            source = entered._inputs[0]
            if state.outer is None:  # outside of all loops that this call differentiates
                return self.grad_context.capture(source)
            state = state.outer
        if source.op.type == "Const":
            return constant(source.op._attrs["value"], source.dtype)
        value = state.pop(state.push(source), source)
        return value if state is self else self.grad_context.capture(value)

    def predicate(self, pred: Tensor) -> Tensor:
        """Return the value that a forward branch's `pred` had in the iteration that the backward
        loop is reversing.
        """
        value = self._history.get(pred)
        if value is None:
            value = self._history[pred] = self.pop(self.push(pred), pred)
        return value

    def push(self, value: Tensor, dead_branch: bool = False) -> Tensor:
        """Push `value` onto a new stack in each forward iteration. Return the stack's handle.

        Args:
          dead_branch: whether `value` is alive when the branch of its context is not taken.
        """
        forward = self.forward_context
        context = output_context(value.op)
        with self.graph.control_dependencies(None):
            with within(self.graph, self._home_of_stacks()), self.graph.colocate_with(value.op):
                stack: Tensor = raw_ops.StackV2(
                    constant(-1), elem_type=value.dtype.base_dtype, name="f_acc"
                )
            entered = forward.capture(stack)
            in_loop = context is forward
            made_in = context.outer if dead_branch and context is not None else context
            with within(self.graph, forward if in_loop else made_in):
                pushed = raw_ops.StackPushV2(entered, value, swap_memory=forward.swap_memory).op
        if in_loop:
            waiter = self.forward_index.op
        else:
            _branch_of(value, context)
            pushed._control_flow_context = context
            waiter = self.forward_trigger
        waiter._add_control_input(pushed)
        pushed._add_control_input(self._forward_add)
        self._pushes[stack] = pushed, waiter
        return stack

    def _home_of_stacks(self) -> ControlFlowContext | None:
        """Return the innermost context around both the `gradients` call and the outermost loop."""
        state = self
        while state.outer is not None:
            state = state.outer
        loop_home = state.forward_context.outer
        around = set(loop_home.outwards()) if loop_home is not None else set()
        for context in self.home.outwards() if self.home is not None else ():
            if context in around:
                return context
        return None

    def pop(self, stack: Tensor, value: Tensor, dead_branch: bool = False) -> Tensor:
        """Pop from `stack` the value that `value` had in the iteration that the backward loop is
        reversing, and return it.
        """
        branch = self._branch_between(value.op._control_flow_context, stack)
        with self.graph.control_dependencies(None), within(self.graph, self.grad_context):
            source = stack
            if branch is not None:
                side = 1 - branch.branch if dead_branch else branch.branch
                source = switch(stack, self._known_predicate(branch.pred))[side]
            popped: Tensor = raw_ops.StackPopV2(source, elem_type=value.dtype.base_dtype)
            popped.set_shape(value.shape)
        self._pops[popped.op] = stack
        if self.grad_context.parallel_iterations > 1:
            self.backward_trigger._add_control_input(popped.op)
        return popped

    def _branch_between(
        self, context: ControlFlowContext | None, stack: Tensor
    ) -> CondContext | None:
        """Return the innermost branch that contains `context` and is inside the stack's context, or
        None.
        """
        home = stack.op._control_flow_context
        while context is not None and context is not home:
            if isinstance(context, CondContext):
                return context
            context = context.outer
        return None

    def _known_predicate(self, pred: Tensor) -> Tensor:
        state: LoopGradient | None = self
        while state is not None:
            if pred in state._history:
                return state._history[pred]
            state = state.outer
        return pred

    # -- gradients of the loop's own ops

    def begin(self, op: Operation, grad: Tensor) -> Tensor:
        """Return the Enter that brings `grad`, the gradient at an Exit of the forward loop, into
        the backward loop.
        """
        loop = self.grad_context
        loop.known.add(grad)
        entered = loop.enter(grad, name="b_exit")
        entered._shape = op._inputs[0]._shape  # the static shape that holds in each iteration
        loop.enters.append(entered)
        return entered

    def at_switch(
        self, op: Operation, exit_grad: Tensor | None, body_grad: Tensor | IndexedSlices | None
    ) -> Tensor | None:
        """Return the gradient at a loop variable's Switch. `gradients` visits each Switch twice;
        the second visit returns None.

        The first visit comes from the Exit, before the body's gradient exists, and returns a new
        Merge in the backward loop. The second visit comes from the body, whose gradient becomes the
        next value of the Merge.
        """
        merged = self.backward_merges.get(op)
        if merged is not None:
            if body_grad is not None:
                self.grad_context.close(merged, dense(body_grad))
            return None
        if exit_grad is not None:
            self.backward_merges[op] = merge([exit_grad, exit_grad], name="b_switch")
        return self.backward_merges.get(op)

    def end(self, op: Operation, grad: Tensor | IndexedSlices) -> Tensor | IndexedSlices:
        """Return the gradient of an Enter. For a loop invariant, it is the sum over all iterations.
        Otherwise it is the gradient after the last backward iteration.
        """
        loop = self.grad_context
        if op.attrs["is_constant"]:
            source = op._inputs[0]
            known = self.outer is None or value_static_shape(source).is_fully_defined()
            if known and isinstance(grad, IndexedSlices) and can_accumulate(grad):
                return accumulated_slices(loop, self._around(), grad, source)
            return self._accumulated(op, dense(grad))
        left = exit_loop(dense(grad))
        loop.exits.append(left)
        loop.leave([left])
        return left

    def _accumulated(self, op: Operation, grad: Tensor) -> Tensor:
        """Return the sum of `grad`, the gradient at the loop-invariant Enter `op`, over all
        iterations.
        """
        loop = self.grad_context
        zero = self._zero(op, grad)
        with within(self.graph, loop):
            loop.known.add(zero)
            entered = loop.enter(zero, name="b_acc")
            loop.enters.append(entered)
            merged = merge([entered, entered], name="b_acc")
            done, goes_on = loop.plain_switch(merged)
            terms = goes_on, grad
            loop.close(merged, raw_ops.AddN([*terms]) if is_list(grad) else raw_ops.Add(*terms))
            total = exit_loop(done, name="b_acc")
            loop.exits.append(total)
            loop.leave([total])
        return total

    def _zero(self, op: Operation, grad: Tensor) -> Tensor:
        """Return zeros like the input of `op`, as the sum of gradients before the first
        iteration.
        """
        within_around = within(self.graph, self._around())
        value = op._inputs[0]
        if is_list(grad):
            kept = value if self.outer is None else self.outer.pop(self.outer.push(value), value)
            with within_around:
                return raw_ops.ZerosLike(kept)
        if grad.shape.is_fully_defined():
            with within_around:
                return constant(0, grad.dtype, grad.shape, name="b_acc")
        if self.outer is None:
            with within_around:
                return zeros(value_shape(value, optimize=False), grad.dtype)
        with within(self.graph, self.forward_context.outer):
            shape = value_shape(value, optimize=False)
        kept = self.outer.push(shape)
        with within_around:
            return zeros(self.outer.pop(kept, shape), grad.dtype)

    def _around(self) -> ControlFlowContext | None:
        """Return the context that contains the backward loop."""
        around = self.grad_context.outer
        return around if around is not None else self.home

    def finish(self) -> None:
        """Complete the loop variables whose next value doesn't depend on their current value: pass
        zeros as their gradient to the next backward iteration.
        """
        for merged in self.backward_merges.values():
            entered, again = merged.op._inputs
            if entered is again:
                self._close_with_zeros(merged, entered)

    def forget(self, needed: set[Operation]) -> None:
        """Remove the control dependencies on the push and the pop of a value, unless an op in
        `needed` uses that value.
        """
        for popped, stack in self._pops.items():
            if popped in needed:
                continue
            pushed, waiter = self._pushes[stack]
            waiter._remove_control_inputs([pushed])
            if self._backward_trigger is not None:
                self._backward_trigger._remove_control_inputs([popped])
        for index, trigger in (
            (self.forward_index, self._forward_trigger),
            (self.grad_index, self._backward_trigger),
        ):
            if trigger is not None and not trigger._control_inputs:
                index.op._remove_control_inputs([trigger])

    def _close_with_zeros(self, merged: Tensor, entered: Tensor) -> None:
        loop = self.grad_context
        if entered.shape.is_fully_defined() and not is_list(entered):
            with within(self.graph, loop):
                loop.close(merged, constant(0, entered.dtype, entered.shape))
            return
        with within(self.graph, loop.outer if loop.outer is not None else self.home):
            zero = raw_ops.ZerosLike(entered.op._inputs[0])
        with within(self.graph, loop):
            loop.close(merged, zero)


def _branch_of(value: Tensor, context: Any) -> None:
    if not isinstance(context, CondContext):
        raise TypeError(
            f"'{value.name}' can't be kept for the backward loop: it is in "
            f"{type(context).__name__}, and not in a branch of the loop"
        )
