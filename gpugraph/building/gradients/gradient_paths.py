"""The ops through which gradients flow: those on a path from an x to a y."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from gpugraph.base.dtypes import resource, variant
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import value_dtype
from gpugraph.graph.client.tensor import Tensor

_STOPS = ("StopGradient", "PreventGradient")
_PASSING_HANDLES = ("Enter", "Switch", "Merge", "Identity")


def is_trainable(tensor: Tensor) -> bool:
    """Return whether a gradient can flow through the tensor. For a handle, the dtype of its
    variable decides.
    """
    dtype = tensor._dtype.base_dtype
    if dtype is resource:
        dtype = value_dtype(tensor)
    return dtype.is_floating or dtype.is_complex or dtype is variant


def behind(op: Operation) -> set[Operation]:
    """Return the op and all ops that its inputs depend on."""
    reached, stack = {op}, [op]
    while stack:
        makers = {tensor.op for tensor in stack.pop()._inputs} - reached
        reached |= makers
        stack += makers
    return reached


def _reached(starts: Iterable[Operation], stops: Collection[Operation]) -> set[Operation]:
    """Return `starts` and the ops that depend on them through differentiable tensors.

    A value on a stack passes from its push to the pops. The search does not enter or pass through
    the ops in `stops`.
    """
    reached = set(starts)
    stack = [*reached]
    while stack:
        op = stack.pop()
        followers = {
            consumer
            for tensor in op._outputs
            if is_trainable(tensor)
            for consumer in tensor._consumers or ()
            if consumer.type not in _STOPS
        }
        if op.type == "StackPushV2" and is_trainable(op._inputs[1]):
            followers |= _pops(op)
        followers.difference_update(reached, stops)
        stack += followers
        reached |= followers
    return reached


def _pops(push: Operation) -> set[Operation]:
    """Return the ops that pop from the stack onto which `push` pushes."""
    maker = push
    while maker.type != "StackV2" and maker._inputs:
        maker = maker._inputs[0].op
    users, stack = {maker}, [maker]
    while stack:
        consumers = {user for tensor in stack.pop()._outputs for user in tensor._consumers or ()}
        handles = {user for user in consumers if user.type in _PASSING_HANDLES} - users
        stack += handles
        users |= handles | {user for user in consumers if user.type == "StackPopV2"}
    return {user for user in users if user.type == "StackPopV2"}


def refuse_kept_values(
    ys: Sequence[Tensor], xs: Sequence[Tensor], stops: Collection[Operation]
) -> None:
    """Raise TypeError if a y depends on an x through a value on the stack of a backward loop.

    A loop passes values to its backward loop through stacks, which are not differentiable: a
    second-order gradient would be None, or incomplete.
    """
    if not any(op.type == "StackPushV2" for x in xs[:1] for op in x.graph._ops):
        return
    reached = _reached({x.op for x in xs}, stops)
    pushes = [op for op in reached if op.type == "StackPushV2" and is_trainable(op._inputs[1])]
    if not pushes:
        return
    behind_stacks = _reached({pop for push in pushes for pop in _pops(push)}, stops)
    y = next((y for y in ys if y.op in behind_stacks), None)
    if y is not None:
        raise TypeError(
            f"Second-order gradient for while loops not supported: '{y.op.name}' depends on what "
            f"'{pushes[0].name}' keeps of a loop for its gradient"
        )


def between(ys: Sequence[Tensor], xs: Sequence[Tensor]) -> dict[Operation, None]:
    """Return the ops on all paths from an x to a y, including the ops of x and y. The ops nearest
    to the ys come first.
    """
    from_xs = {x.op for x in xs}
    stack = list(from_xs)
    while stack:
        for tensor in stack.pop()._outputs:
            for consumer in tensor._consumers or ():
                if consumer not in from_xs and is_trainable(tensor):
                    from_xs.add(consumer)
                    stack.append(consumer)
    reached = dict.fromkeys(y.op for y in ys if y.op in from_xs)
    queue = deque(reached)
    while queue:
        for tensor in queue.popleft()._inputs:
            maker = tensor.op
            if maker in from_xs and maker not in reached and is_trainable(tensor):
                reached[maker] = None
                queue.append(maker)
    return reached
