"""Which operations lie between layers: those that depend on tensors which layers made."""

from __future__ import annotations

from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor


def dependent_operations(tensor: Tensor) -> list[tuple[Operation, list[int]]]:
    """Operations from layers' tensors to this one, each after those before it.

    With each the places of its inputs that depend on layers' tensors.
    """
    depends: dict[Operation, list[int]] = {}
    order: list[Operation] = []
    stack: list[tuple[Operation, bool]] = [(tensor.op, False)]
    while stack:
        operation, is_known = stack.pop()
        if is_known:
            depends[operation] = [
                place
                for place, value in enumerate(operation.inputs)
                if hasattr(value, "_keras_history") or depends.get(value.op)
            ]
            order.append(operation)
        elif operation not in depends:
            depends[operation] = []
            stack.append((operation, True))
            stack += [
                (value.op, False)
                for value in operation.inputs
                if not hasattr(value, "_keras_history") and value.op not in depends
            ]
    return [(operation, depends[operation]) for operation in order if depends[operation]]
