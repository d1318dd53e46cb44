"""Creation of an operation from a NodeDef message: `tf.Operation(node_def, g, ...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.base.value_text import shown
from gpugraph.building.graph_files.attr_import import (
    check_inputs,
    checked_value_count,
    complete,
    read_attrs,
)
from gpugraph.building.graph_files.graph_cutting import checked_message
from gpugraph.building.graph_files.op_type_support import declared_op
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import here
from gpugraph.graph.client.graph_scopes import is_name
from gpugraph.graph.client.op_inference import infer_shapes, output_types
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import check_valid
from gpugraph.graph.op_library import register_of_node_def


def _make_of_node_def(
    op: Operation, node_def: Any, g: Any, inputs: Any, control_inputs: Any, input_types: Any
) -> None:
    """Initialize `op` from a NodeDef. For the parameters, see the constructor of `Operation`."""
    checked_message(node_def, "NodeDef", "node_def")
    name = node_def.name
    if not is_name(name, inside=False):
        raise ValueError(f"'{name}' is not a valid node name")
    if not isinstance(g, Graph):
        raise TypeError(f"g needs to be a Graph: {shown(g)}")
    g._check_not_finalized()
    op_def = declared_op(node_def.op, name)
    tensors = _checked_inputs(name, g, inputs, input_types)
    attrs = read_attrs(node_def, op_def, name)
    complete(attrs, op_def, [tensor._dtype for tensor in tensors], name)
    check_inputs(op_def, attrs, tensors, name)
    op._set(g, name, op_def, tensors, output_types(op_def, attrs), attrs, here(g._origins))
    if node_def.device:
        check_valid(node_def.device)
        op._device = node_def.device
    op._add_control_inputs(_checked_controls(control_inputs))
    count = checked_value_count(op, node_def.attr["value"].tensor) if op.type == "Const" else None
    if op_def.infer is not None:
        infer_shapes(op)
    context = op._control_flow_context = g._scope.control_flow
    if context is not None:
        context.add_op(op)
    g._add(op, g._scope)
    g._names.setdefault(name.lower(), 1)
    if count is not None:
        g._value_counts[op] = count


def _checked_inputs(name: str, graph: Graph, inputs: Any, input_types: Any) -> tuple[Tensor, ...]:
    """Return the inputs. Raises an error unless the inputs are tensors of this graph and have the
    types `input_types`.
    """
    if not isinstance(inputs, (list, tuple, type(None))):
        raise TypeError(f"inputs needs to be a list of Tensors: {shown(inputs)}")
    tensors: Sequence[Any] = inputs or ()
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"input needs to be a Tensor: {shown(tensor)}")
        if tensor.graph is not graph:
            raise ValueError(f"{tensor!r} must be from the same graph as the operation '{name}'.")
    if input_types is not None:
        actual = [tensor.dtype for tensor in tensors]
        wanted = [as_dtype(dtype) for dtype in input_types]
        if len(actual) != len(wanted) or not all(
            expected.is_compatible_with(dtype) for expected, dtype in zip(wanted, actual)
        ):
            raise TypeError(
                f"In op '{name}', input types ({[dtype.name for dtype in actual]}) are not "
                f"compatible with expected types ({[dtype.name for dtype in wanted]})"
            )
    return tuple(tensors)


def _checked_controls(control_inputs: Any) -> list[Operation]:
    """Return the operations in `control_inputs`. A tensor is replaced by the operation that
    produces the tensor.
    """
    elements = [getattr(element, "op", element) for element in control_inputs or ()]
    for element in elements:
        if not isinstance(element, Operation):
            raise TypeError(
                f"Control input must be an Operation, a Tensor, or IndexedSlices: {shown(element)}"
            )
    return elements


register_of_node_def(_make_of_node_def)
