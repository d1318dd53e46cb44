"""Private attributes of TensorFlow's graphs, tensors and shapes that programs read.

The import of this module adds them to this package's classes. The module is imported before a
program reads the first name of the package. Nothing in this package uses the attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from gpugraph.base.dimensions import Dimension
from gpugraph.base.shapes import TensorShape
from gpugraph.building.variables.partitioned_variable import PartitionedVariable
from gpugraph.building.variables.variable import Variable
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.node_messages import op_def_message
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scope_state import NO_PLACES, controls_of, requested_device
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import DeviceSpec, merge_device
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops.elementwise.division import div as _div


def _dims(shape: TensorShape) -> list[Dimension] | None:
    """Return the list of Dimensions, or None if the rank is unknown (`TensorShape._dims`)."""
    return shape.dims


def _apply_device_functions(graph: Graph, op: Any) -> None:
    """Set the device of `op` to the device that the scopes request, if any
    (`Graph._apply_device_functions`).

    Programs pass an object that has an op's interface and records the device. The device is passed
    as a name to the method `_set_device_from_string`. If `op` lacks that method, it is passed as a
    DeviceSpec to `_set_device`.
    """
    device = requested_device(op, graph._scope)
    if not device:
        return
    if hasattr(op, "_set_device_from_string"):
        op._set_device_from_string(device)
    else:
        op._set_device(DeviceSpec.from_string(device))


def _shape_tuple(tensor: Tensor) -> tuple[int | None, ...] | None:
    """Return a tuple of the sizes, with None for each unknown size. Return None if the rank is
    unknown.

    This is `Tensor._shape_tuple()`.
    """
    return None if tensor.shape.sizes is None else tuple(tensor.shape.as_list())


def _as_node_def_input(tensor: Tensor) -> str:
    """Return the tensor's name in the format of the inputs of a NodeDef
    (`Tensor._as_node_def_input()`).
    """
    return tensor.op.name + (f":{tensor.value_index}" if tensor.value_index else "")


def _control_outputs(op: Operation) -> list[Operation]:
    """Return the operations that have `op` as a control input (`Operation._control_outputs`)."""
    return [other for other in op.graph.get_operations() if op in other.control_inputs]


def _remove_all_control_inputs(op: Operation) -> None:
    """Remove all control inputs (`Operation._remove_all_control_inputs()`)."""
    op._remove_control_inputs(op.control_inputs)


def _set_control_flow_context(op: Operation, context: Any) -> None:
    """Set the branch or loop of `op` (`Operation._set_control_flow_context(context)`)."""
    op._control_flow_context = context


def _set_context_of_graph(graph: Graph, context: Any) -> None:
    """Set the branch or loop of new operations (`Graph._set_control_flow_context(context)`)."""
    graph._scope.control_flow = context


def _set_container(graph: Graph, container: str) -> None:
    graph._scope.container = container


_GRAPH_NUMBERS = count()


def _graph_key(graph: Graph) -> str:
    """Return a text that identifies the graph (`Graph._graph_key`), which programs use as a dict
    key.
    """
    if "_key" not in vars(graph):
        vars(graph).setdefault("_key", f"grap-key-{next(_GRAPH_NUMBERS)}/")
    return str(vars(graph)["_key"])


def _device_functions(graph: Graph) -> list[Callable[[Any], Any]]:
    """Return a function from an op to a device for each device scope. The first function is for the
    outermost scope.

    This is `Graph._device_functions_outer_to_inner`. Each function merges the device that its scope
    requests with the device that the op already has.
    """
    return [
        request if callable(request) else merge_device(request or "")
        for request in graph._scope.devices
    ]


def _note_in_control_dependencies(graph: Graph, op: Operation) -> None:
    """Make open `control_dependencies` blocks add no control input to ops that read an output of
    `op`.

    This is `Graph._record_op_seen_by_control_dependencies(op)`.
    """
    for block in graph._scope.controls:
        block.seen.add(op)


def _controls_for_inputs(graph: Graph, input_ops: Sequence[Operation]) -> list[Operation]:
    """Return the control inputs of a new op that takes outputs of `input_ops`.

    This is `Graph._control_dependencies_for_inputs(ops)`.
    """
    outputs = [op.outputs[0] for op in input_ops if op.outputs]
    return list(controls_of(outputs, graph._scope))


def _scope_places(op: Operation) -> Any:
    return getattr(op, "_scope_places", NO_PLACES)


def _override_operator(operator: str, function: Any) -> None:
    """Replace the method that implements a Python operator (`Tensor._override_operator(name,
    function)`).
    """
    setattr(Tensor, operator, function)


def _overload_operator(cls: type, operator: str) -> None:
    """Define a Python operator of a class of variables. It applies the operator to `value()`.

    This is `Variable._OverloadOperator(operator)`.
    """
    function = getattr(Tensor, operator)

    def run(variable: Any, *args: Any) -> Any:
        return function(variable.value(), *args)

    setattr(cls, operator, run)


def _overload_all_operators(cls: type) -> None:
    """Define all Python operators, so that they apply the operator to `value()`
    (`Variable._OverloadAllOperators()`).
    """
    for operator in Tensor.OVERLOADABLE_OPERATORS - {"__eq__", "__ne__"}:
        _overload_operator(cls, operator)


PRIVATE_ATTRIBUTES: dict[type, dict[str, Any]] = {
    Operation: {
        "_colocation_dict": property(lambda op: dict(_scope_places(op).colocations)),
        "_control_outputs": property(_control_outputs),
        "_device_assignments": property(lambda op: list(_scope_places(op).devices)),
        "_get_control_flow_context": lambda op: op._control_flow_context,
        "_graph": property(lambda op: op.graph),
        "_input_types": property(lambda op: [tensor.dtype for tensor in op.inputs]),
        "_is_stateful": property(lambda op: op.op_def.is_stateful),
        "_node_def": property(lambda op: op.node_def),
        "_output_types": property(lambda op: [out.dtype.as_datatype_enum for out in op.outputs]),
        "_remove_all_control_inputs": _remove_all_control_inputs,
        "_set_control_flow_context": _set_control_flow_context,
        "_set_device_from_string": lambda op, device: op._set_device(device),
        "_traceback": property(lambda op: op.traceback),
    },
    Tensor: {
        "__div__": _div,
        "__nonzero__": Tensor.__bool__,
        "__rdiv__": lambda tensor, other: _div(other, tensor),
        "_as_node_def_input": _as_node_def_input,
        "_as_tf_output": lambda tensor: tensor,
        "_id": property(id),
        "_op": property(lambda tensor: tensor.op),
        "_override_operator": staticmethod(_override_operator),
        "_rank": lambda tensor: tensor.shape.rank,
        "_shape_tuple": _shape_tuple,
        "_value_index": property(lambda tensor: tensor.value_index),
    },
    Variable: {
        "_OverloadAllOperators": classmethod(_overload_all_operators),
        "_OverloadOperator": classmethod(_overload_operator),
    },
    PartitionedVariable: {"_get_variable_list": lambda variable: list(variable)},
    TensorShape: {"_dims": property(_dims), "_v2_behavior": False},
    Graph: {
        "_add_control_dependencies": False,
        "_apply_device_functions": _apply_device_functions,
        "_building_function": False,
        "_c_graph": property(lambda graph: graph),
        "_container": property(lambda graph: graph._scope.container, _set_container),
        "_control_dependencies_for_inputs": _controls_for_inputs,
        "_control_dependencies_stack": property(lambda graph: list(graph._scope.controls)),
        "_current_control_dependencies": lambda graph: {
            op for block in graph._scope.controls for op in block.inputs
        },
        "_device_functions_outer_to_inner": property(_device_functions),
        "_get_control_flow_context": lambda graph: graph._scope.control_flow,
        "_get_op_def": lambda graph, kind: op_def_message(OP_DEFS[kind]),
        "_get_operation_by_name_unsafe": lambda graph, name: graph.get_operation_by_name(name),
        "_graph_key": property(_graph_key),
        "_gradient_override_map": property(lambda graph: dict(graph._scope.overrides)),
        "_is_function": lambda graph, name: str(name) in graph._functions,
        "_last_id": property(lambda graph: graph.version),
        "_mutation_lock": lambda graph: graph._lock,
        "_nodes_by_id": property(lambda graph: {op._id: op for op in graph.get_operations()}),
        "_nodes_by_name": property(lambda graph: {op.name: op for op in graph.get_operations()}),
        "_record_op_seen_by_control_dependencies": _note_in_control_dependencies,
        "_set_control_flow_context": _set_context_of_graph,
        "_unfeedable_tensors": property(lambda graph: graph._unfeedable),
        "_unfetchable_ops": property(lambda graph: graph._unfetchable),
        "_variable_creator_stack": property(lambda graph: list(graph._scope.creators)),
    },
}
"""By class, the private attributes that programs read, by name."""


def set_private_attributes(table: dict[type, dict[str, Any]]) -> None:
    """Set the attributes in the table on the classes."""
    for owner, attributes in table.items():
        for name, value in attributes.items():
            setattr(owner, name, value)


set_private_attributes(PRIVATE_ATTRIBUTES)
