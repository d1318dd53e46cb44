"""`tf.graph_util.convert_variables_to_constants`: a graph whose variables are replaced by
constants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from gpugraph.base.dtypes import as_dtype, int32
from gpugraph.building.graph_files.graph_cutting import (
    checked_message,
    extract_sub_graph,
    node_name,
)
from gpugraph.formats import messages_pb2
from gpugraph.ops.framework.make_tensor_proto import make_tensor_proto
from gpugraph.platform import logging

_REFERENCES = ("Variable", "VariableV2")
_HANDLE = "VarHandleOp"
_READS = ("ReadVariableOp", "ResourceGather")
_PASSING = ("Switch", "Enter", "Exit", "Identity", "Merge", "NextIteration")


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Iterable[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """Freeze a GraphDef: keep only some nodes and their dependencies, and replace variables by
    constants.

    Args:
      sess: a session whose variables have the values to keep.
      input_graph_def: a GraphDef of the session's graph.
      output_node_names: the names of the nodes to keep together with all their dependencies.
      variable_names_whitelist: the variables to freeze, by default all.
      variable_names_blacklist: variables that are not frozen.

    Raises:
      AssertionError: there is no node with one of the names in `output_node_names`.
      TypeError: `input_graph_def` is not a GraphDef.
      ValueError: the input of a read is not a variable; a read may read one of several variables
        and only some of them are frozen; a gather has batch dimensions; or an op other than a read
        uses the handle of a variable to be frozen.
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
    types = _passing_types(nodes, values)
    for node in graph_def.node:
        result.node.extend(_frozen(node, nodes, values, types))
    result.library.CopyFrom(graph_def.library)
    result.versions.CopyFrom(graph_def.versions)
    logging.info("Converted %d variables to const ops.", len(values))
    return result


def _fetch(node: Any) -> str:
    """Return the name of the tensor that has a variable's value: the output of the variable or, for
    a handle, the output of its read op.
    """
    return f"{node.name}/Read/ReadVariableOp:0" if node.op == _HANDLE else f"{node.name}:0"


class _HandlePaths(NamedTuple):
    """The variable handles that a read op may use, and the nodes between these handles and the
    op.
    """

    between: list[str]
    handles: list[str]


def _paths_to_handles(node: Any, nodes: dict[str, Any]) -> _HandlePaths:
    """Return the variable handles that a read op may use, and the nodes between these handles and
    the op.

    The search follows the first input of Identities and of the ops of branches and loops, and all
    inputs of a Merge. Raises ValueError if the search ends at an op that is not a VarHandleOp.
    """
    paths = _HandlePaths([], [])
    pending = [node_name(node.input[0])] if node.input else []
    while pending:
        name = pending.pop()
        if name in paths.between or name in paths.handles:
            continue
        kind = nodes[name].op if name in nodes else ""
        if kind in _PASSING:
            paths.between.append(name)
            sources = [source for source in nodes[name].input if not source.startswith("^")]
            pending += map(node_name, sources if kind == "Merge" else sources[:1])
        elif kind == _HANDLE:
            paths.handles.append(name)
        else:
            paths.handles.clear()
            break
    if not paths.handles:
        raise ValueError("Cannot find the variable that is an input to the ReadVariableOp.")
    return paths


def _passing_types(nodes: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Map each node between a frozen handle and its reads to the variable's dtype, as an AttrValue.

    In the frozen graph these nodes pass values instead of handles.
    """
    types: dict[str, Any] = {}
    for node in nodes.values():
        if node.op in _READS:
            between, handles = _paths_to_handles(node, nodes)
            frozen = [handle for handle in handles if handle in values]
            if frozen and len(frozen) < len(handles):
                raise ValueError(
                    f"Node '{node.name}' reads '{frozen[0]}', which is frozen, or another variable,"
                    f" which is not, of {', '.join(handles)}: freeze all of them, or none."
                )
            if frozen:
                types.update(dict.fromkeys(between, node.attr["dtype"]))
        elif node.op not in _PASSING:
            _refuse_handles(node, nodes, values)
    return types


def _refuse_handles(node: Any, nodes: dict[str, Any], values: dict[str, Any]) -> None:
    """Raise ValueError if a node uses the handle of a frozen variable for anything but a read."""
    for source in node.input:
        name = node_name(source)
        if name in values and not source.startswith("^") and nodes[name].op == _HANDLE:
            raise ValueError(
                f"Node '{node.name}' (op: '{node.op}') takes the variable '{name}' itself, not its "
                "value, so that this can't be frozen. Leave the variable out by "
                "variable_names_blacklist, or freeze a graph without such nodes."
            )


def _frozen(
    node: Any, nodes: dict[str, Any], values: dict[str, Any], types: dict[str, Any]
) -> Iterator[Any]:
    """Yield the NodeDefs that replace a node in the frozen graph.

    Args:
      values: the values of the frozen variables, by name.
      types: the result of `_passing_types`.
    """
    if node.name in values:
        yield _constant(node.name, node.attr["dtype"].type, values[node.name])
        return
    if node.op in _READS and _paths_to_handles(node, nodes).handles[0] in values:
        yield from _read_of_constant(node)
        return
    copy = messages_pb2.NodeDef()
    copy.CopyFrom(node)
    if node.name in types:
        copy.attr["T"].CopyFrom(types[node.name])
        copy.attr.pop("_output_shapes", None)  # these were the shapes of handles
    yield copy


def _read_of_constant(node: Any) -> Iterator[Any]:
    """Yield the nodes that replace a read of a variable: an Identity, or a GatherV2 and its
    axis.
    """
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
