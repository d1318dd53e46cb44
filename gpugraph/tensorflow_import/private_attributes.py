"""What programs read of graphs, tensors and shapes that TensorFlow keeps to itself.

It becomes attributes of the classes when this module is imported, before a program has the first
name of the package. Nothing in this package uses any of them.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dimensions import Dimension
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scope_state import requested_device
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import DeviceSpec


def _dims(shape: TensorShape) -> list[Dimension] | None:
    """`TensorShape._dims`: as `dims`."""
    return shape.dims


def _apply_device_functions(graph: Graph, op: Any) -> None:
    """`Graph._apply_device_functions`: gives `op` the device that the scopes ask for, if any.

    Programs find the device out by an object of their own that notes what it is given: a name by
    `_set_device_from_string`, or a DeviceSpec by `_set_device` where it has only that.
    """
    device = requested_device(op, graph._scope)
    if not device:
        return
    if hasattr(op, "_set_device_from_string"):
        op._set_device_from_string(device)
    else:
        op._set_device(DeviceSpec.from_string(device))


def _shape_tuple(tensor: Tensor) -> tuple[int | None, ...] | None:
    """`Tensor._shape_tuple()`: the sizes, None for those that are open; None without a rank."""
    return None if tensor.shape.sizes is None else tuple(tensor.shape.as_list())


def _as_node_def_input(tensor: Tensor) -> str:
    """`Tensor._as_node_def_input()`: how a NodeDef names it as an input."""
    return tensor.op.name + (f":{tensor.value_index}" if tensor.value_index else "")


def _control_outputs(op: Operation) -> list[Operation]:
    """`Operation._control_outputs`: what waits for the operation."""
    return [other for other in op.graph.get_operations() if op in other.control_inputs]


PRIVATE_ATTRIBUTES: dict[type, dict[str, Any]] = {
    Operation: {"_control_outputs": property(_control_outputs)},
    Tensor: {"_as_node_def_input": _as_node_def_input, "_shape_tuple": _shape_tuple},
    TensorShape: {"_dims": property(_dims), "_v2_behavior": False},
    Graph: {"_apply_device_functions": _apply_device_functions},
}
"""For each class what programs read of it, by name."""


def set_private_attributes(table: dict[type, dict[str, Any]]) -> None:
    """Gives classes what programs read of them."""
    for owner, attributes in table.items():
        for name, value in attributes.items():
            setattr(owner, name, value)


set_private_attributes(PRIVATE_ATTRIBUTES)
