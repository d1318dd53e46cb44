"""`tf.graph_util.convert_variables_to_constants`: a graph with its variables' values inside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from gpugraph.base.dtypes import as_dtype, int32
from gpugraph.formats import messages_pb2
from gpugraph.graph_files.graph_cutting import checked_message, extract_sub_graph, node_name
from gpugraph.ops.framework.make_tensor_proto import make_tensor_proto
from gpugraph.platform import logging

_REFERENCES = ("Variable", "VariableV2")
_HANDLE = "VarHandleOp"
_READS = ("ReadVariableOp", "ResourceGather")


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Iterable[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """What some nodes of a GraphDef need, with the variables' values as constants: frozen.

    Args:
      sess: a session whose variables have the values to keep.
      input_graph_def: a GraphDef of the session's graph.
      output_node_names: the names of the nodes.
      variable_names_whitelist: the only variables to freeze; all of them by default.
      variable_names_blacklist: variables that stay what they are.

    Raises:
      AssertionError: there is no node of such a name.
      TypeError: `input_graph_def` is no GraphDef.
      ValueError: a read of what is no variable, or a gather with batch dimensions.
    """
    checked_message(input_graph_def, "GraphDef", "graph_def")
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    nodes = {node.name: node for node in graph_def.node}
    names = [
        node.name
        for node in graph_def.node
        if node.op in (*_REFERENCES, _HANDLE)
        if variable_names_whitelist is None or node.name in variable_names_whitelist
        if variable_names_blacklist is None or node.name not in variable_names_blacklist
    ]
    fetches = [_fetch(nodes[name]) for name in names]
    values = dict(zip(names, sess.run(fetches) if fetches else []))
    logging.info("Froze %d variables.", len(values))
    result = messages_pb2.GraphDef()
    identities = _identities_of_handles(nodes, values)
    for node in graph_def.node:
        result.node.extend(_frozen(node, nodes, values, identities))
    result.library.CopyFrom(graph_def.library)
    result.versions.CopyFrom(graph_def.versions)
    logging.info("Converted %d variables to const ops.", len(values))
    return result


def _fetch(node: Any) -> str:
    """What is fetched for the value of a variable: for a handle, the read beside it."""
    return f"{node.name}/Read/ReadVariableOp:0" if node.op == _HANDLE else f"{node.name}:0"


def _path_to_handle(node: Any, nodes: dict[str, Any]) -> list[str]:
    """The nodes from the first input of a read to the handle: Identities, then that."""
    path: list[str] = []
    while node.input and (name := node_name(node.input[0])) in nodes and name not in path:
        path.append(name)
        node = nodes[name]
        if node.op != "Identity":
            break
    if not path or nodes[path[-1]].op != _HANDLE:
        raise ValueError("Cannot find the variable that is an input to the ReadVariableOp.")
    return path


def _identities_of_handles(nodes: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The Identities between frozen handles and their reads, with the dtype of the variable."""
    identities: dict[str, Any] = {}
    for node in nodes.values():
        if node.op in _READS:
            *between, handle = _path_to_handle(node, nodes)
            if handle in values:
                identities.update(dict.fromkeys(between, node.attr["dtype"]))
    return identities


def _frozen(
    node: Any, nodes: dict[str, Any], values: dict[str, Any], identities: dict[str, Any]
) -> Iterator[Any]:
    """What stands for a node in the frozen graph."""
    if node.name in values:
        yield _constant(node.name, node.attr["dtype"].type, values[node.name])
        return
    if node.op in _READS and _path_to_handle(node, nodes)[-1] in values:
        yield from _read_of_constant(node)
        return
    copy = messages_pb2.NodeDef()
    copy.CopyFrom(node)
    if node.name in identities:
        copy.attr["T"].CopyFrom(identities[node.name])
    yield copy


def _read_of_constant(node: Any) -> Iterator[Any]:
    """An Identity, or a GatherV2 with its axis, in place of a read of a variable."""
    result = messages_pb2.NodeDef(name=node.name, op="Identity", input=node.input[:1])
    if node.op == "ReadVariableOp":
        result.attr["T"].CopyFrom(node.attr["dtype"])
    else:
        if node.attr["batch_dims"].i:
            raise ValueError("batch_dims != 0 is not supported by freeze_graph.")
        axis = _constant(f"{node.name}/axis", int32.as_datatype_enum, 0)
        yield axis
        result.op = "GatherV2"
        result.input.extend([node.input[1], axis.name])
        result.attr["Tparams"].CopyFrom(node.attr["dtype"])
        result.attr["Tindices"].CopyFrom(node.attr["Tindices"])
        result.attr["Taxis"].CopyFrom(axis.attr["dtype"])
    if "_class" in node.attr:
        result.attr["_class"].CopyFrom(node.attr["_class"])
    yield result


def _constant(name: str, dtype: int, value: Any) -> Any:
    node = messages_pb2.NodeDef(name=name, op="Const")
    node.attr["dtype"].type = dtype
    node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, as_dtype(dtype)))
    return node
