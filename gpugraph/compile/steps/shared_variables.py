"""Checks of variables that several graphs declare under the same name. For example, the graphs of
several sessions on one server may declare the same variable.

TensorFlow's kernels read a variable's shape when they run. A plan, however, is compiled for the
shape that its graph declares. If the variable has another shape, the plan would have to discard the
variable's value. Such a plan is therefore rejected, unless it assigns a new value to the variable
and the variable is a resource variable.
"""

from __future__ import annotations

from gpugraph.base.dtypes import runtime_name
from gpugraph.base.errors import InternalError, InvalidArgumentError, OpError
from gpugraph.base.shapes import shape_text
from gpugraph.devices import VariableState
from gpugraph.graph.nodes.runtime_graph import Node


def check_dtype(state: VariableState, node: Node) -> None:
    """Raise TensorFlow's InternalError or InvalidArgumentError if the variable already exists with
    a dtype other than the node's.
    """
    declared, held = runtime_name(node.attrs["dtype"]), runtime_name(state.dtype)
    if declared == held:
        return
    assign = _assignment(node)
    if not node.attrs.get("_by_handle"):
        raise InternalError(
            node.node_def,
            None,
            f"Output 0 of type {held}_ref does not match declared output type {declared}_ref for "
            f"node {{{{node {node.name}}}}}",
        )
    if assign is None:
        raise _refusal(
            node, f"Trying to read variable with wrong dtype. Expected {declared} got {held}"
        )
    raise _refusal(
        assign, f"Trying to assign variable with wrong dtype. Expected {held} got {declared}"
    )


def check_shape(state: VariableState, node: Node) -> None:
    """Raise InvalidArgumentError if an earlier assignment or plan has given the variable a shape
    other than the node's.
    """
    declared, block = node.attrs["shape"].as_list(), state.block
    held = declared if block is None else list(block.array.shape)
    if declared == held:
        return
    assign = _assignment(node)
    if assign is not None and node.attrs.get("_by_handle"):
        return
    if assign is not None:
        raise _refusal(
            assign,
            "Assign requires shapes of both tensors to match. "
            f"lhs shape= {shape_text(held)} rhs shape= {shape_text(declared)}",
        )
    raise _refusal(
        node,
        f"The variable {state.name} has shape {shape_text(held)} in another graph, but "
        f"shape {shape_text(declared)} in this one",
    )


def _assignment(node: Node) -> Node | None:
    """Return the Assign of the variable in this plan, or None."""
    users = (edge.dst for edge in node._out if not edge.is_control)
    return next((user for user in users if user.type == "Assign"), None)


def _refusal(node: Node, message: str) -> OpError:
    return InvalidArgumentError(node.node_def, None, message)
