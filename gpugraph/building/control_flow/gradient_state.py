"""LoopGradients: the loops that one call of `gradients` differentiates.

`gradients` visits ops in reverse topological order, consumers first. The ops of a loop have no such
order. Therefore the differentiation of a loop begins when the gradients at all its Exits exist, and
its Switches are visited twice. This class decides when a loop begins, and in which control flow
context the gradients of an op are created.

It follows the ControlFlowState of TensorFlow's python/ops/control_flow_state.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

from gpugraph.building.control_flow.backward_loop import LoopGradient
from gpugraph.building.control_flow.cond_context import CondContext
from gpugraph.building.control_flow.context_base import (
    ControlFlowContext,
    current,
    is_exit,
    loop_of,
    loop_of_op,
    output_context,
    within,
)
from gpugraph.building.control_flow.switch_merge_enter_exit import is_list, switch
from gpugraph.building.control_flow.while_context import WhileContext
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import value_dtype, value_static_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import zeros, zeros_like
from gpugraph.ops.control.switch_merge_and_loop_ops import no_gradient_without_context
from gpugraph.ops.framework.identity_and_shape import value_shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant


class LoopGradients:
    """The `LoopGradient` of each forward loop, which records the loop and its backward loop."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.home = current(graph)
        self._by_loop: dict[ControlFlowContext, LoopGradient] = {}

    def add(self, op: Operation) -> list[Operation]:
        """Begin the backward loop of the loop that the Exit `op` leaves. Return all Exits of that
        loop.

        The list is empty if the backward loop has begun already.
        """
        forward = loop_of_op(op)
        if not isinstance(forward, WhileContext) or forward in self._by_loop:
            return []
        outer = self._by_loop.get(loop_of(forward.outer))  # type: ignore[arg-type]
        state = self._by_loop[forward] = LoopGradient(forward, outer, self.home)
        return [tensor.op for tensor in state.forward_exits]

    def __bool__(self) -> bool:
        return bool(self._by_loop)

    # -- contexts

    def _state(self, op: Operation, before: bool) -> LoopGradient | None:
        loop = loop_of_op(op)
        if before and is_exit(op) and loop is not None:
            loop = loop_of(loop.outer)
        return None if loop is None else self._by_loop.get(loop)

    def backward(self, op: Operation, before: bool = False) -> AbstractContextManager[None]:
        """Return a context manager that builds ops in the backward loop of the op's loop. If there
        is none, it has no effect.

        Args:
          before: whether the ops compute gradients at the outputs of `op`, instead of gradients at
            its inputs. The output of an Exit is outside of its loop.
        """
        state = self._state(op, before)
        return nullcontext() if state is None else within(self.graph, state.grad_context)

    def check_branch(self, op: Operation) -> None:
        """Raise LookupError if `op` belongs to a branch that is in a differentiated loop but has no
        context.

        A branch that was imported from a GraphDef has no context.
        """
        if self._state(op, False) is not None and not _has_context(op):
            raise no_gradient_without_context(op)

    # -- order

    def is_loop_switch(self, op: Operation) -> bool:
        """Return whether `op` is the Switch of a loop variable."""
        context = op._control_flow_context
        return context is not None and context.loop is context and op in context.switches

    def first_exits(self, pending: dict[Operation, int], ys: set[Operation]) -> list[Tensor]:
        """Return the Exits of those loops for which no Exit will receive a gradient.

        The differentiation of these loops can begin immediately. Mark the Enters of all their loop
        variables in `pending` as reachable.

        Args:
          pending: for each operation, the number of gradients at its outputs that are still
            missing.
          ys: the operations of the tensors that are differentiated.
        """
        exits: list[Tensor] = []
        for state in self._by_loop.values():
            for tensor in state.forward_exits:
                if pending.get(tensor.op, 0) == 0:
                    state.pending_exits -= 1
                    if tensor.op not in ys:
                        state.unused_exits.append(tensor)
                    if state.pending_exits == 0:
                        exits += state.unused_exits
            for entered in state.forward_context.enters:
                if pending.get(entered.op, 0) == 0:
                    pending[entered.op] = 1
        return exits

    def exit_reached(
        self, tensor: Tensor, has_gradient: Callable[[Operation], bool]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Record that the Exit `tensor` was reached, whether or not it has a gradient.

        Returns two lists: the loop's Exits with a gradient, and the loop's Exits without a
        gradient. Both lists are empty while other Exits of the loop are pending.
        """
        state = self._by_loop[tensor.op._control_flow_context]
        state.deferred_exits.append(tensor)
        state.pending_exits -= 1
        if state.pending_exits:
            return [], []
        used: list[Tensor] = []
        for deferred in state.deferred_exits:
            (used if has_gradient(deferred.op) else state.unused_exits).append(deferred)
        return used, state.unused_exits

    def finish(self, grads: Iterable[Tensor], since: int) -> None:
        """Complete the backward loops.

        Intermediate results for gradients that were not requested, such as the gradient at a
        constant factor, remain in the graph, but no op of a loop waits for them.

        Args:
          grads: the requested gradients.
          since: the id of the first op that this call of `gradients` created.
        """
        for state in self._by_loop.values():
            state.finish()
        needed = self._needed(grads, since)
        for state in self._by_loop.values():
            state.forget(needed)

    def _needed(self, grads: Iterable[Tensor], since: int) -> set[Operation]:
        """Return the new ops on which the requested gradients or the new loops depend.

        Args:
          since: the index, in the graph's operations, of the first new op.
        """
        stack = [tensor.op for tensor in grads]
        stack += [op for op in self.graph._ops[since:] if op.type in ("NextIteration", "LoopCond")]
        needed = set(stack)
        while stack:
            op = stack.pop()
            sources = [tensor.op for tensor in op._inputs]
            if op.type not in (
                "NextIteration",
                "ControlTrigger",
            ):  # ops whose control inputs are pushes and pops
                sources += op._control_inputs
            for source in sources:
                if source not in needed and source._id >= since:
                    needed.add(source)
                    stack.append(source)
        return needed

    # -- zeros

    def zeros_for_exit(self, tensor: Tensor) -> Tensor:
        """Return zeros as the gradient at `tensor`, an Exit on which none of the differentiated
        tensors depends.
        """
        around = loop_of(tensor.op._control_flow_context.outer)
        outer = None if around is None else self._by_loop.get(around)
        known = tensor.shape.is_fully_defined() and not is_list(tensor)
        if outer is None:
            return zeros(tensor.shape, tensor.dtype) if known else _zeros_like(tensor)
        if known:
            with within(self.graph, outer.grad_context):
                return zeros(tensor.shape, tensor.dtype)
        if is_list(tensor):
            kept = outer.push(tensor)
            with within(self.graph, outer.grad_context):
                return _zeros_like(outer.pop(kept, tensor))
        with within(self.graph, around):
            shape = raw_ops.Shape(tensor)
        kept = outer.push(shape)
        with within(self.graph, outer.grad_context):
            return zeros(outer.pop(kept, shape), tensor.dtype)

    def zeros_for(self, op: Operation, index: int) -> Tensor | None:
        """Return zeros as the gradient at output `index` of `op`, for an output that has no
        gradient although another output of `op` has one.

        Returns None if `op` is the Switch of a loop variable.
        """
        if self.is_loop_switch(op):
            return None
        state = self._state(op, False)
        tensor = op._outputs[index]
        if state is None:
            return zeros_for_switch(op, tensor) if is_cond_switch(op) else _zeros_like(tensor)
        context: ControlFlowContext = op._control_flow_context
        branch = context if is_cond_switch(op) and isinstance(context, CondContext) else None
        if branch is None and is_list(tensor):
            return _zeros_like(state.pop(state.push(tensor), tensor))
        dtype, known = value_dtype(tensor), value_static_shape(tensor)
        if known.is_fully_defined():
            zeros_like_value = constant(0, dtype, known)
            if branch is None:
                return zeros_like_value
            return switch(zeros_like_value, state.predicate(branch.pred))[1 - branch.branch]
        if branch is None:
            with within(self.graph, context):
                shape = value_shape(tensor, optimize=False)
        else:
            shape = _shape_on_other_side(op, branch)
        kept = state.push(shape, dead_branch=branch is not None)
        return zeros(state.pop(kept, shape, branch is not None), dtype)


def _zeros_like(tensor: Tensor) -> Tensor:
    return zeros_like(tensor, optimize=False)


def is_cond_switch(op: Operation) -> bool:
    """Return whether `op` is a Switch that brings a tensor into a branch."""
    context = op._control_flow_context
    is_switch = op.type in ("Switch", "RefSwitch")
    return is_switch and isinstance(context, CondContext) and context.owns(op)


def _shape_on_other_side(op: Operation, branch: CondContext) -> Tensor:
    """Return the shape of the data of `op`, a Switch into `branch`, as a tensor that is alive only
    if the branch is not taken.
    """
    with within(branch.graph, branch.outer):
        dead = switch(op._inputs[0], branch.pred)[1 - branch.branch]
        shape = value_shape(dead, optimize=False)
    dead.op._control_flow_context = branch
    shape.op._control_flow_context = branch
    return shape


def zeros_for_switch(op: Operation, tensor: Tensor) -> Tensor:
    """Return zeros like `tensor`, an output of the Switch `op` into a branch.

    The zeros are alive only if the branch is not taken. In this case, they are the gradient.
    """
    branch = op._control_flow_context
    other = raw_ops.Switch(op._inputs[0], branch.pred)[1 - branch.branch]
    if is_list(tensor):
        return _zeros_like(other)
    pivot = raw_ops.Identity(other)
    shape = value_shape(other, optimize=False)
    with branch.graph.control_dependencies([pivot]):
        return zeros(shape, value_dtype(tensor))


def find_loops(
    graph: Graph, between: Iterable[Operation], colocate: bool
) -> tuple[LoopGradients | None, list[Operation]]:
    """Begin the backward loops of all loops that have an Exit among the ops `between`.

    Returns the loops (None if there are none), and all Exits of the loops.

    Raises LookupError if an inner loop has no context because it comes from a GraphDef.
    """
    loops = LoopGradients(graph)
    inside = [op for op in between if op._control_flow_context is not None]
    exits: list[Operation] = []
    for op in filter(is_exit, inside):
        if not op._control_flow_context.owns(op):
            raise no_gradient_without_context(op)
    for op in filter(is_exit, inside):
        with graph.colocate_with(op) if colocate else nullcontext():
            exits += loops.add(op)
    return (loops if exits else None), exits


def _has_context(op: Operation) -> bool:
    """Return whether a Switch or Merge belongs to a context. For any other op, return True."""
    if op.type in ("Switch", "RefSwitch"):
        return bool(op._control_flow_context.owns(op))
    if op.type in ("Merge", "RefMerge"):
        context = output_context(op._inputs[0].op)
        if op._inputs[0].op.type in ("Enter", "RefEnter"):
            context = op._control_flow_context
        return context is not None and context.owns(op)
    return True
