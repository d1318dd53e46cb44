"""Export of graphs as MetaGraphDefs: nodes, collections, and the producer's version."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.version import GIT_VERSION, TENSORFLOW_VERSION
from gpugraph.base.whole_files import write_whole
from gpugraph.building.graph_files.call_op_types import CALL_OP_DEFS
from gpugraph.building.graph_files.graph_cutting import checked_message, node_name
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.collection_protos import collection_protos
from gpugraph.graph.client.default_graph_functions import graph_or_default
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.node_messages import graph_def_of, op_def_message
from gpugraph.graph.client.scoped_names import is_in_scope, strip_name_scope
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.platform import logging

UNBOUND = "$unbound_inputs_"
"""The prefix of an input's name in the exported nodes if the input is outside of the scope."""

_SAVES = frozenset({"SaveV2", "Save", "SaveSlice", "RestoreV2", "Restore", "RestoreSlice"})
_FRAMES = ("Enter", "RefEnter")


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    meta_info_def: Any = None,
    collection_list: Iterable[str] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Export a graph, or the content of one of its name scopes, as a MetaGraphDef.

    Args:
      filename: the file to write, or None.
      graph_def: a GraphDef that supplies the nodes, by default the graph's.
      graph: the graph, by default the default graph.
      export_scope: the scope to export. The scope's name is removed from the names in the result.
      as_text: whether the file is in protobuf's text format.
      unbound_inputs_col_name: the name of the collection that lists the inputs from outside the
        scope.
      clear_devices: whether to drop the device of each node.
      saver_def: the SaverDef of the MetaGraphDef.
      clear_extraneous_savers: whether to omit the operations of all savers except the saver of
        `saver_def`.
      strip_default_attrs: whether nodes omit attrs that have their default value.
      meta_info_def: a MetaInfoDef that supplies the initial values of the MetaGraphDef's fields.
      collection_list: the names of the collections to export, by default all.

    Returns:
      The MetaGraphDef, and the variables of the scope by their names without the scope.

    Raises:
      TypeError: a message or graph has the wrong type.
      ValueError: the GraphDef, or the message to write, is larger than 2 GiB.
    """
    graph = graph_or_default(graph)
    excluded: frozenset[str] = frozenset()
    if graph_def is not None:
        checked_message(graph_def, "GraphDef", "graph_def")
    if saver_def is not None:
        checked_message(saver_def, "SaverDef", "saver_def")
    if export_scope or clear_extraneous_savers or clear_devices:
        if graph_def is None:
            graph_def = graph_def_of(
                graph._ops, graph._versions, True, graph._functions, sort_controls=False
            )
        if clear_extraneous_savers:
            excluded = _nodes_of_other_savers(graph_def, saver_def)
        unbound: list[str] = []
        graph_def = _scoped(graph_def, export_scope, excluded, clear_devices, unbound)
        if unbound_inputs_col_name:
            graph.clear_collection(unbound_inputs_col_name)
            for name in unbound:
                graph.add_to_collection(unbound_inputs_col_name, name)
    variables = {
        strip_name_scope(variable.name, export_scope): variable
        for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=export_scope)
        if _is_exported(variable, export_scope, excluded)
    }
    meta_graph = _meta_graph(graph, graph_def, meta_info_def, strip_default_attrs)
    if saver_def is not None:
        meta_graph.saver_def.MergeFrom(saver_def)
    keys = graph.get_all_collection_keys() if collection_list is None else list(collection_list)
    for key in keys:
        items = graph.get_collection(key)
        if clear_extraneous_savers and key == GraphKeys.SAVERS and saver_def is not None:
            read = collection_protos(key).from_proto
            items = items if read is None else [read(saver_def)]
        items = [item for item in items if _is_exported(item, export_scope, excluded)]
        _add_collection(meta_graph, key, items, export_scope)
    if filename:
        _write(meta_graph, filename, as_text)
    return meta_graph, variables


def _write(meta_graph: Any, filename: str, as_text: bool) -> None:
    write_whole(os.fspath(filename), messages_pb2.file_content(meta_graph, as_text))


def _meta_graph(graph: Graph, graph_def: Any, meta_info_def: Any, strip_default_attrs: bool) -> Any:
    """Return a MetaGraphDef of the nodes, with TensorFlow's version and the OpDefs that the nodes
    need.
    """
    meta_graph = messages_pb2.MetaGraphDef()
    info = meta_graph.meta_info_def
    if meta_info_def is not None:
        checked_message(meta_info_def, "MetaGraphDef.MetaInfoDef", "meta_info_def")
        info.MergeFrom(meta_info_def)
    info.tensorflow_version, info.tensorflow_git_version = TENSORFLOW_VERSION, GIT_VERSION
    if graph_def is None:
        graph_def = graph.as_graph_def(add_shapes=True)
    meta_graph.graph_def.MergeFrom(graph_def)
    if not info.stripped_op_list.op:
        info.stripped_op_list.MergeFrom(stripped_op_list_for_graph(graph_def))
    info.stripped_op_list.SetInParent()
    if strip_default_attrs:
        _strip_defaults(meta_graph)
    return meta_graph


def ops_used_by_graph_def(graph_def: Any) -> list[str]:
    """Return the sorted op types of a GraphDef's nodes and of the nodes of its functions, without
    duplicates.
    """
    nodes = [*graph_def.node]
    for function in graph_def.library.function:
        nodes += function.node_def
    return sorted({node.op for node in nodes})


def stripped_op_list_for_graph(graph_def: Any) -> Any:
    """Return an OpList of the op types of a GraphDef, sorted by name. Unknown op types are
    omitted.
    """
    op_list = messages_pb2.OpList()
    for name in ops_used_by_graph_def(graph_def):
        op_def = OP_DEFS.get(name) or CALL_OP_DEFS.get(name)
        if op_def is not None:
            op_list.op.append(op_def_message(op_def))
    return op_list


def _strip_defaults(meta_graph: Any) -> None:
    defaults = {
        (op.name, attr.name): attr.default_value.SerializeToString(deterministic=True)
        for op in meta_graph.meta_info_def.stripped_op_list.op
        for attr in op.attr
        if attr.HasField("default_value")
    }
    for node in meta_graph.graph_def.node:
        for key in list(node.attr):
            default = defaults.get((node.op, key))
            if default == node.attr[key].SerializeToString(deterministic=True):
                del node.attr[key]
    meta_graph.meta_info_def.stripped_default_attrs = True


# -- nodes of a scope


def _is_exported(item: Any, export_scope: str | None, excluded: Collection[str]) -> bool:
    """Return whether a collection's item, or a name, is in the scope and not excluded."""
    name = item if isinstance(item, str) else getattr(item, "name", None)
    if not isinstance(name, str):
        return True
    if name in excluded:
        return False
    return name.startswith(UNBOUND) or is_in_scope(name, export_scope)


def _scoped(
    graph_def: Any,
    export_scope: str | None,
    excluded: Collection[str],
    clear_devices: bool,
    unbound: list[str],
) -> Any:
    """Return a GraphDef of the nodes in the scope, with the scope's name removed.

    Args:
      unbound: a list to which the new names of inputs from outside of the scope are appended.
    """
    result = messages_pb2.GraphDef()
    result.versions.CopyFrom(graph_def.versions)
    result.library.CopyFrom(graph_def.library)
    if not result.library.function:
        result.ClearField("library")
    for node in graph_def.node:
        if _is_exported(node.name, export_scope, excluded):
            copy = result.node.add()
            copy.CopyFrom(node)
            _strip_scope(copy, export_scope, unbound)
            if clear_devices:
                copy.device = ""
    return result


def _strip_scope(node: Any, export_scope: str | None, unbound: list[str]) -> None:
    """Remove the scope from the names in a node: its own name, and the names of its inputs and
    frame.

    The prefix `UNBOUND` is added to the name of an input from outside. The resulting name is
    appended to `unbound`.
    """
    if not export_scope:
        return
    for index, text in enumerate(node.input):
        if text.removeprefix("^").startswith(export_scope):
            node.input[index] = strip_name_scope(text, export_scope)
        else:
            mark = "^" if text.startswith("^") else ""
            node.input[index] = f"{mark}{UNBOUND}{text.removeprefix('^')}"
            unbound.append(node.input[index])
    node.name = strip_name_scope(node.name, export_scope)
    if "_class" in node.attr:
        groups = [group.decode("utf-8", "surrogateescape") for group in node.attr["_class"].list.s]
        inside = [group for group in groups if group.partition("@")[2].startswith(export_scope)]
        node.attr["_class"].list.ClearField("s")
        node.attr["_class"].list.SetInParent()
        stripped = [strip_name_scope(group, export_scope).encode() for group in inside]
        node.attr["_class"].list.s.extend(stripped)
    if node.op in _FRAMES:
        frame = node.attr["frame_name"].s.decode("utf-8", "surrogateescape")
        node.attr["frame_name"].s = strip_name_scope(frame, export_scope).encode()


def _nodes_of_other_savers(graph_def: Any, saver_def: Any) -> frozenset[str]:
    """Return the names of the nodes in the scopes of all savers except the saver of `saver_def`."""
    saves = {node.name for node in graph_def.node if node.op in _SAVES}
    scopes = {name.rpartition("/")[0] for name in saves} - saves
    if saver_def is not None:
        for name in (saver_def.save_tensor_name, saver_def.restore_op_name):
            scopes.discard(node_name(name).rpartition("/")[0])
    prefixes = tuple(f"{scope}/" for scope in scopes)
    return frozenset(node.name for node in graph_def.node if node.name.startswith(prefixes))


# -- collections


@uninterrupted
def _add_collection(meta_graph: Any, key: Any, items: list[Any], export_scope: str | None) -> None:
    """Write a collection into a MetaGraphDef. If the collection can't be serialized, log a warning
    instead.
    """
    if not isinstance(key, (str, bytes)):
        logging.warning(
            "Only collections with string type keys will be serialized. This key has %s", type(key)
        )
        return
    if not items:
        return
    name = key if isinstance(key, str) else key.decode()
    collection = messages_pb2.CollectionDef()
    try:
        _write_items(collection, name, items, export_scope)
    except Exception as error:
        logging.warning(
            "Issue encountered when serializing %s.\nType is unsupported, or the types of the "
            "items don't match field type in CollectionDef. Note this is a warning and probably "
            "safe to ignore.\n%s",
            name,
            error,
        )
        return
    meta_graph.collection_def[name].CopyFrom(collection)


def _write_items(collection: Any, key: str, items: list[Any], export_scope: str | None) -> None:
    protos = collection_protos(key)
    if protos.to_proto is not None:
        messages = [protos.to_proto(item, export_scope=export_scope) for item in items]
        content = [
            message.SerializeToString(deterministic=True)
            for message in messages
            if message is not None
        ]
        collection.bytes_list.value.extend(content)
        return
    first = items[0]
    if isinstance(first, (str, bytes)):
        content = [item.encode() if isinstance(item, str) else item for item in items]
        collection.bytes_list.value.extend(content)
    elif isinstance(first, int):
        collection.int64_list.value.extend(items)
    elif isinstance(first, float):
        collection.float_list.value.extend(items)
    elif getattr(getattr(first, "DESCRIPTOR", None), "full_name", "") == "google.protobuf.Any":
        collection.any_list.value.extend(items)
    else:
        names = [item.name for item in items if is_in_scope(item.name, export_scope)]
        collection.node_list.value.extend([strip_name_scope(name, export_scope) for name in names])
