"""Contexts: the branch or loop in which an operation is created, and its access to tensors outside.

A context is active while the function of a branch, or the condition or body of a loop, is called.
Every op that is created during the call is passed to the context (`add_op`). The op reads tensors
from outside only through the context:

    outside      x ---------------.                  n (control input)
                                  |                  |
    context      capture(x): Switch or Enter         dropped, or waited for inside
                                  |
                                 op <- - - control pivot, if nothing else delays it

`known` holds the tensors that were captured or created inside. `stand_ins` maps captured tensors to
the tensors that ops inside use instead. If contexts are nested, a tensor from outside is first
captured by the outer context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.platform import logging

_WAYS_IN = ("Enter", "RefEnter", "Switch", "RefSwitch")
_EXITS = ("Exit", "RefExit")
_MERGES = ("Merge", "RefMerge")
_NEXT_ITERATIONS = ("NextIteration", "RefNextIteration")


class ControlFlowContext(ABC):
    """The base class of branches and loops."""

    back_prop = True

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.outer: ControlFlowContext | None = current(graph)
        self.known: set[Tensor] = set()
        self.stand_ins: dict[Tensor, Tensor] = {}
        self.nested: list[ControlFlowContext] = []
        if self.outer is not None:
            self.outer.nested.append(self)

    # -- implemented by each kind

    @property
    @abstractmethod
    def loop(self) -> LoopContext | None:
        """The innermost loop: this context or one around it."""

    @property
    @abstractmethod
    def control_pivot(self) -> Operation | None:
        """An operation of this context. It is the control input of ops that have no other input
        from the context.
        """

    @abstractmethod
    def capture(self, tensor: Tensor) -> Tensor:
        """Return the tensor that ops in this context use for `tensor`: the tensor itself, or the
        output of a Switch or Enter.
        """

    @abstractmethod
    def add_op(self, op: Operation) -> None:
        """Add a new op to this context: capture its inputs, and remove or replace its control
        inputs from outside.
        """

    @abstractmethod
    def owns(self, op: Operation) -> bool:
        """Return whether the Switch, Merge, Enter or Exit belongs to this branch or loop.

        If an inner branch or loop comes from a GraphDef and has no context, its ops have this
        context, but this method returns False for them.
        """

    # -- shared

    @property
    def grad_state(self) -> LoopPair | None:
        """The record of the innermost loop if that is a backward loop, otherwise None."""
        loop = self.loop
        return None if loop is None else loop.own_grad_state

    def outwards(self) -> Iterator[ControlFlowContext]:
        """Yield this context and all contexts around it, innermost first."""
        context: ControlFlowContext | None = self
        while context is not None:
            yield context
            context = context.outer

    def leave(self, tensors: Iterable[Tensor]) -> None:
        """Add `tensors`, which are results of this context, to the known tensors of the outer
        context.
        """
        if self.outer is not None:
            self.outer.known.update(tensors)

    def add_inputs(self, op: Operation) -> None:
        """Replace each input of an op by the tensor that the context uses instead. Any ops created
        for this are in the op's own name scope.

        The back edge of an imported loop, from NextIteration to Merge, is not replaced. The
        NextIteration joins the context later.
        """
        if not op._inputs:
            return
        with in_scope_of(op):
            for index, tensor in enumerate(op._inputs):
                if op.type in _MERGES and tensor.op.type in _NEXT_ITERATIONS:
                    continue
                stand_in = self.capture(tensor)
                if stand_in is not tensor:
                    op._update_input(index, stand_in)

    def drop_outer_controls(self, op: Operation) -> list[Operation]:
        """Remove an op's control inputs that are outside of the enclosing loop. Return them."""
        loop = self.loop
        if loop is None or not op._control_inputs:
            return []
        outer = [
            control
            for control in op._control_inputs
            if loop_of(output_context(control)) is not loop
        ]
        if outer:
            op._control_inputs = tuple(
                [control for control in op._control_inputs if control not in outer]
            )
        return outer

    def hide(self, op: Operation) -> None:
        """Prevent the op from being fetched and fed, unless it is an Exit from the outermost
        context.
        """
        if self.outer is None and is_exit(op):
            return
        self.graph.prevent_fetching(op)
        for tensor in op._outputs:
            self.graph.prevent_feeding(tensor)

    def check_use(self, tensor: Tensor, op: Operation, user: ControlFlowContext | None) -> None:
        """Raise ValueError if `op`, which is in the context `user`, can't use `tensor`, which is in
        this context.
        """
        source = output_context(tensor.op)
        if source is None or source is user:
            return
        loop, source_loop = loop_of(user), source.loop
        if loop is None:
            if source_loop is None or op.type in _WAYS_IN:
                return
        elif _is_inside(loop, source_loop) or _meets_in_gradients(loop, source_loop):
            return
        assert source_loop is not None
        message = _refusal(tensor.op, op, loop, source_loop)
        logging.info("%s", message)
        raise ValueError(message)


class LoopContext(ControlFlowContext):
    """The inside of a loop.

    Attributes:
      own_grad_state: the record of a backward loop, or None for any other loop.
    """

    name: str
    own_grad_state: LoopPair | None

    @abstractmethod
    def adopt(self, op: Operation) -> None:
        """Add the op to this loop: capture its inputs, and replace control inputs from outside."""

    @abstractmethod
    def switch(self, merged: Tensor) -> tuple[Tensor, Tensor]:
        """Return the two outputs of a loop variable's Switch. The first leads to the Exit, the
        second to the body.
        """


class LoopPair(Protocol):
    """A forward loop and the backward loop that computes its gradient (`LoopGradient`)."""

    @property
    def forward_context(self) -> LoopContext:
        """The loop whose gradient is computed."""

    @property
    def grad_context(self) -> LoopContext:
        """The loop that computes the gradient."""

    def value(self, tensor: Tensor) -> Tensor:
        """Return the value that a forward tensor had in the iteration that the backward loop is
        reversing.
        """

    def predicate(self, pred: Tensor) -> Tensor:
        """Return the value that a forward branch's predicate had in the iteration that the backward
        loop is reversing.
        """

    def begin(self, op: Operation, grad: Tensor) -> Tensor:
        """Return the Enter that brings `grad`, the gradient at an Exit of the forward loop, into
        the backward loop.
        """

    def at_switch(
        self, op: Operation, exit_grad: Tensor | None, body_grad: Tensor | IndexedSlices | None
    ) -> Tensor | None:
        """Return the gradient at a loop variable's Switch. `gradients` visits each Switch twice;
        the second visit returns None.
        """

    def end(self, op: Operation, grad: Tensor | IndexedSlices) -> Tensor | IndexedSlices:
        """Return the gradient at an Enter's input: the result of the backward loop."""


def _refusal(maker: Operation, op: Operation, loop: LoopContext | None, source: LoopContext) -> str:
    where = "they are in different while loops"
    if loop is None:
        where = f"'{maker.name}' is in a while loop"
    reason = f"Cannot use '{maker.name}' as input to '{op.name}' because {where}."
    user = f"'{op.name}'" if loop is None else f"'{op.name}', in the loop '{loop.name}',"
    return (
        f"{reason} See info log for more details. '{maker.name}', in the loop '{source.name}', was "
        f"made at {maker.origin}, {user} at {op.origin}. What is needed outside of a loop must be "
        "one of its loop variables."
    )


def _is_inside(context: ControlFlowContext, outer: ControlFlowContext | None) -> bool:
    """Return whether `context` is `outer` or is inside `outer`. If `outer` is None, return True."""
    return outer is None or any(around is outer for around in context.outwards())


def _meets_in_gradients(loop: LoopContext, source: LoopContext | None) -> bool:
    """Return whether ops of `loop` may use tensors of `source` because one of the two loops
    computes the gradients of the other loop.

    This is true if `loop` is the backward loop of `source`, of a loop inside `source`, or of the
    loop around `source`. It is also true if `source` is the backward loop of `loop`, or the
    backward loop of that backward loop, and so on.
    """
    record = loop.own_grad_state
    if record is not None:
        if _is_inside(record.forward_context, source):
            return True
        if source is not None and source.outer is record.forward_context:
            return True
    theirs = None if source is None else source.own_grad_state
    while theirs is not None:
        if theirs.forward_context is loop:
            return True
        theirs = theirs.forward_context.own_grad_state
    return False


def current(graph: Graph) -> ControlFlowContext | None:
    """Return the context in which this thread currently creates ops of `graph`."""
    return graph._scope.control_flow


@contextmanager
def within(graph: Graph, context: ControlFlowContext | None) -> Iterator[None]:
    """Create the ops of a `with` block in `context`. None means outside of all contexts."""
    state = graph._scope
    old: Any = state.control_flow
    state.control_flow = context
    try:
        yield
    finally:
        state.control_flow = old


@contextmanager
def in_scope_of(op: Operation) -> Iterator[None]:
    """Put the ops of a `with` block into the name scope of `op`. If `op` is a Const, use the
    current name scope.
    """
    state = op.graph._scope
    old = state.name
    state.name = old if op.type == "Const" else op.name
    try:
        yield
    finally:
        state.name = old


def is_exit(op: Operation) -> bool:
    """Return whether the op is an Exit, whose output is outside of its loop."""
    return op._op_def.name in _EXITS


def output_context(op: Operation) -> ControlFlowContext | None:
    """Return the context of the op's outputs. For an Exit, this is the context around its loop. For
    any other op, it is the op's own context.
    """
    context: ControlFlowContext | None = op._control_flow_context
    if context is not None and is_exit(op):
        return context.outer
    return context


def loop_of(context: ControlFlowContext | None) -> LoopContext | None:
    """Return the innermost loop around a context, which may be the context itself. Return None if
    there is no loop.
    """
    return None if context is None else context.loop


def loop_of_op(op: Operation) -> LoopContext | None:
    """Return the innermost loop that contains the op. For an Exit, this is the loop that it
    leaves.
    """
    return loop_of(op._control_flow_context)
