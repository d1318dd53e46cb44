"""Conversion of a program's operations on the outputs of layers to layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.keras_objects import LAYER_CLASSES


def record_operations(tensors: Iterable[Any]) -> None:
    """Create a TensorFlowOpLayer for each operation between layers' outputs and `tensors`.

    Tensors that depend on no layer, and tensors that a layer created, are left unchanged.
    """
    for tensor in tensors:
        if isinstance(tensor, Tensor) and not hasattr(tensor, "_keras_history"):
            for operation, places in dependent_operations(tensor):
                _record(operation, places)


def _record(operation: Operation, places: Sequence[int]) -> None:
    inputs = [operation.inputs[place] for place in places]
    constants = {
        place: value for place, value in enumerate(operation.inputs) if place not in places
    }
    outputs = list(operation.outputs)
    layer = LAYER_CLASSES["TensorFlowOpLayer"](operation.node_def, operation.name, constants)
    layer.record_call(_only(inputs), _only(outputs), {})


def _only(tensors: list[Any]) -> Any:
    return tensors[0] if len(tensors) == 1 else tensors


def dependent_operations(tensor: Tensor) -> list[tuple[Operation, list[int]]]:
    """Return the operations that compute `tensor` from outputs of layers. Each operation comes
    after its predecessors.

    Each operation is paired with a list of the indices of those inputs that depend on layers'
    outputs.
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
