"""The ops through which gradients go: those on a path from an x to a y."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from gpugraph.base.dtypes import resource, variant
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import value_dtype
from gpugraph.graph.client.tensor import Tensor


def is_trainable(tensor: Tensor) -> bool:
    """Whether a gradient can flow through the tensor, or the variable it is a handle of."""
    dtype = tensor._dtype.base_dtype
    if dtype is resource:
        dtype = value_dtype(tensor)
    return dtype.is_floating or dtype.is_complex or dtype is variant


def behind(op: Operation) -> set[Operation]:
    """The op and all that it needs."""
    found, stack = {op}, [op]
    while stack:
        makers = {tensor.op for tensor in stack.pop()._inputs} - found
        found |= makers
        stack += makers
    return found


def between(ys: Sequence[Tensor], xs: Sequence[Tensor]) -> dict[Operation, None]:
    """Ops on a path from an x to a y, both ends included, those nearest to the ys first."""
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
