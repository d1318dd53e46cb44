"""`tf.graph_util`: extraction of chosen nodes and their dependencies, and removal of nodes that
only training needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.base.dtypes import int32, string
from gpugraph.base.shapes import TensorShape
from gpugraph.formats import messages_pb2

_VARIABLE_TYPES = frozenset({"Variable", "VariableV2", "Queue", "TruncatedNormal"})
_VARIABLE_TYPES |= {"Assign", "AssignAdd", "AssignSub"}
_VARIABLE_TYPES |= {"ScatterAdd", "ScatterSub", "ScatterUpdate"}
_HOST_TYPES = {
    "Const": ("dtype", (string, int32)),
    "DynamicStitch": ("T", (int32,)),
    "ParallelDynamicStitch": ("T", (int32,)),
    "Cast": ("SrcT", (int32,)),
}
"""Op types that run only on the CPU for certain dtypes of an attr: the attr and its dtypes."""

_COLOCATION = "loc:@"


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Return whether TensorFlow can't run an Operation or NodeDef on a GPU.

    Args:
      pin_variables_on_cpu: whether to return True for variables and ops that change them as well.
    """
    node_def = checked_message(getattr(node, "node_def", node), "NodeDef", "node")
    if pin_variables_on_cpu and node_def.op in _VARIABLE_TYPES:
        return True
    if node_def.op not in _HOST_TYPES:
        return False
    attr, dtypes = _HOST_TYPES[node_def.op]
    return node_def.attr[attr].type in [dtype.as_datatype_enum for dtype in dtypes]


def checked_message(message: Any, name: str, argument: str) -> Any:
    """Return `message` if it is a message of the type `name`, from this package or from TensorFlow
    itself.

    Raises TypeError for any other value.

    Args:
      argument: the name of the caller's parameter, for the error.
    """
    descriptor = getattr(type(message), "DESCRIPTOR", None)
    if getattr(descriptor, "full_name", "") != f"tensorflow.{name}":
        kind = {"GraphDef": "graph_pb2.GraphDef"}.get(name, name)
        raise TypeError(f"{argument} must be a {kind} proto.")
    return message


def node_name(text: str) -> str:
    """Return the name of the node in an input of a NodeDef: "a" for "a", "a:1" and "^a"."""
    return text.removeprefix("^").partition(":")[0]


def colocated_names(node: Any) -> list[str]:
    """Return the names of the nodes that a node is colocated with."""
    if "_class" not in node.attr:
        return []
    groups = [group.decode("utf-8", "replace") for group in node.attr["_class"].list.s]
    return [group.removeprefix(_COLOCATION) for group in groups]


def extract_sub_graph(graph_def: Any, dest_nodes: Iterable[str]) -> Any:
    """Return a GraphDef of the nodes `dest_nodes` and their dependencies, in their original order.

    If a node is colocated with another node, that node is treated as a dependency.

    Raises:
      TypeError: `graph_def` is not a GraphDef, or `dest_nodes` is a string.
      AssertionError: there is no node with one of the names in `dest_nodes`.
    """
    checked_message(graph_def, "GraphDef", "graph_def")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {node.name: node for node in graph_def.node}
    stack = list(dest_nodes)
    for name in stack:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    reached = set(stack)
    while stack:
        node = nodes[stack.pop()]
        for name in [*map(node_name, node.input), *colocated_names(node)]:
            if name in nodes and name not in reached:
                reached.add(name)
                stack.append(name)
    result = type(graph_def)()
    result.node.extend([node for node in graph_def.node if node.name in reached])
    result.library.CopyFrom(graph_def.library)
    result.versions.CopyFrom(graph_def.versions)
    return result


def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> TensorShape:
    """Return the static shape of a tensor, given its name in NodeDefs: `"a"` or `"a:1"`."""
    name = input_name if ":" in input_name else f"{input_name}:0"
    shape: TensorShape = graph.get_tensor_by_name(name).get_shape()
    return shape


def remove_training_nodes(input_graph: Any, protected_nodes: Iterable[str] | None = None) -> Any:
    """Return a GraphDef without CheckNumerics nodes, and without Identities and StopGradients.

    The consumers of a removed node read its input instead. An Identity or StopGradient is kept if
    it has control inputs, is itself a control input, or is colocated with other nodes. Raises
    TypeError if `input_graph` is not a GraphDef.

    Args:
      protected_nodes: the names of nodes that are always kept.
    """
    checked_message(input_graph, "GraphDef", "graph_def")
    protected = frozenset(protected_nodes or ())
    checks = {
        node.name: node.input[0]
        for node in input_graph.node
        if node.op == "CheckNumerics" and node.name not in protected and node.input
    }
    nodes = _without(input_graph.node, checks, drop_controls=True)
    needed = protected.union(
        *([name for text in node.input if (name := node_name(text)) and text[0] == "^"]
          for node in nodes),
        *map(colocated_names, nodes),
    )  # fmt: skip
    passes = {
        node.name: node.input[0]
        for node in nodes
        if node.op in ("Identity", "StopGradient") and node.name not in needed and node.input
        if not any(text.startswith("^") for text in node.input)
    }
    result = messages_pb2.GraphDef()
    result.node.extend(_without(nodes, passes, drop_controls=False))
    return result


def _without(nodes: Iterable[Any], passes: dict[str, str], drop_controls: bool) -> list[Any]:
    """Return copies of all nodes except those in `passes`. The consumers of a removed node read its
    input instead.

    Args:
      passes: maps the name of each node to remove to its input.
      drop_controls: whether control inputs from removed nodes are removed too.
    """
    result = []
    for node in nodes:
        if node.name in passes:
            continue
        copy = messages_pb2.NodeDef()
        copy.CopyFrom(node)
        del copy.input[:]
        for text in node.input:
            if not (drop_controls and text.startswith("^") and text[1:] in passes):
                copy.input.append(_around(text, passes))
        result.append(copy)
    return result


def _around(text: str, passes: dict[str, str]) -> str:
    """Return the input that replaces the input `text`. Follow the inputs of nodes in `passes` until
    a node is not in `passes`.
    """
    seen: set[str] = set()
    while not text.startswith("^") and (name := node_name(text)) in passes and name not in seen:
        seen.add(name)
        text = passes[name]
    return text
