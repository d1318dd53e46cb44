"""Import of MetaGraphDefs: the nodes, and the collections, which may contain variables, branches
and loops.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.building.graph_files.import_graph_def import import_graph_def
from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.collection_protos import collection_protos
from gpugraph.graph.client.default_graph_functions import get_default_graph, graph_or_default
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.scoped_names import prepend_name_scope, strip_name_scope
from gpugraph.platform import files, logging

_VARIABLES = frozenset(
    {
        *(GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES),
        *(GraphKeys.MODEL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES),
        *(GraphKeys.MOVING_AVERAGE_VARIABLES, GraphKeys.CONCATENATED_VARIABLES),
        GraphKeys.TRAINABLE_RESOURCE_VARIABLES,
    }
)
"""Collections in which items with equal messages are imported as one Variable object."""


def read_meta_graph_file(filename: Any) -> Any:
    """Return the MetaGraphDef in a file, in binary or text format. Raises OSError if the file can't
    be read.
    """
    path = os.fspath(filename)
    if not files.Exists(path) or files.IsDirectory(path):
        raise OSError(f"File {path} does not exist.")
    with files.GFile(path, "rb") as file:
        content = file.read()
    try:
        return messages_pb2.parse_message(messages_pb2.MetaGraphDef, content)
    except ValueError as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from error


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, Any]:
    """Add the nodes and collections of a MetaGraphDef to a graph.

    Args:
      meta_graph_or_file: a MetaGraphDef, or the path of a file that holds one.
      clear_devices: whether to drop the device of each node.
      graph: the graph, by default the default graph.
      import_scope: the name scope of the added nodes, by default none.
      input_map: see `tf.import_graph_def`.
      unbound_inputs_col_name: the name of the collection that lists the inputs that `input_map`
        must supply.
      restore_collections_predicate: receives a collection's name and returns whether to add the
        collection.

    Returns:
      The variables of the scope by their names without the scope.

    Raises:
      ValueError: an input is missing from `input_map`, or an error of `tf.import_graph_def`.
      OSError: the file does not exist, or is not a MetaGraphDef.
    """
    return import_scoped_meta_graph_with_return_elements(
        meta_graph_or_file,
        clear_devices,
        graph,
        import_scope,
        input_map,
        unbound_inputs_col_name,
        restore_collections_predicate,
    )[0]


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
    return_elements: list[str] | None = None,
) -> tuple[dict[str, Any], list[Any] | None]:
    """Import a MetaGraphDef as `import_scoped_meta_graph` does, and return its result.

    Also return the elements that `return_elements` names, as `tf.import_graph_def` does.
    """
    meta_graph = _checked_meta_graph(meta_graph_or_file)
    _check_bound(meta_graph, input_map, unbound_inputs_col_name)
    info = meta_graph.meta_info_def
    with graph_or_default(graph).as_default():
        graph = get_default_graph()
        graph_def = meta_graph.graph_def
        if clear_devices:
            for node in graph_def.node:
                node.device = ""
        scope = graph.unique_name(import_scope or "", mark_as_used=False)
        elements = import_graph_def(
            graph_def,
            input_map,
            return_elements,
            import_scope or scope,
            producer_op_list=info.stripped_op_list if info.HasField("stripped_op_list") else None,
        )
        variables: dict[bytes, Any] = {}
        first = (GraphKeys.TRAINABLE_VARIABLES,)
        for key in sorted(meta_graph.collection_def, key=lambda key: (key not in first, key)):
            if key != unbound_inputs_col_name and restore_collections_predicate(key):
                _add_items(graph, key, meta_graph.collection_def[key], scope, variables)
        found = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope)
        return {strip_name_scope(variable.name, scope): variable for variable in found}, elements


def _checked_meta_graph(meta_graph_or_file: Any) -> Any:
    descriptor = getattr(type(meta_graph_or_file), "DESCRIPTOR", None)
    if descriptor is None:
        return read_meta_graph_file(meta_graph_or_file)
    if descriptor.full_name != "tensorflow.MetaGraphDef":
        raise TypeError(f"A MetaGraphDef or a path is needed, not a {descriptor.full_name}")
    if isinstance(meta_graph_or_file, messages_pb2.MetaGraphDef):
        return meta_graph_or_file
    return messages_pb2.MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())


def _check_bound(meta_graph: Any, input_map: Any, collection: str | None) -> None:
    """Raise ValueError unless the keys of `input_map` are exactly the unbound inputs of the
    graph.
    """
    if not collection or collection not in meta_graph.collection_def:
        return
    names = [item.decode() for item in meta_graph.collection_def[collection].bytes_list.value]
    if names and sorted(names) != sorted(input_map or ()):
        missing = ",".join(name for name in names if name not in (input_map or ()))
        raise ValueError(
            f"Graph contains unbound inputs: {missing}. Must provide these inputs through "
            "input_map."
        )


def _add_items(
    graph: Graph, key: str, collection: Any, scope: str, variables: dict[bytes, Any]
) -> None:
    """Add the items of a CollectionDef to the graph's collection `key`.

    Args:
      variables: the variables created so far, by their serialized messages.
    """
    kind = collection.WhichOneof("kind")
    if kind is None:
        logging.error("Cannot identify data type for collection %s. Skipping.", key)
        return
    protos = collection_protos(key)
    values = getattr(collection, kind).value
    if protos.from_proto is not None and kind == "bytes_list":
        for content in values:
            item = variables.get(content) if key in _VARIABLES else None
            if item is None:
                message = _parsed(protos.message_class, content, key)
                item = variables[content] = protos.from_proto(message, import_scope=scope)
            graph.add_to_collection(key, item)
        return
    for value in values:
        graph.add_to_collection(key, _plain_item(graph, kind, value, scope))


@uninterrupted
def _parsed(message_class: Any, content: bytes, key: str) -> Any:
    try:
        return message_class.FromString(content)
    except ValueError:
        raise
    except Exception as error:
        name = message_class.DESCRIPTOR.name
        raise ValueError(f"An item of the collection '{key}' is no {name}: {error}") from error


def _plain_item(graph: Graph, kind: str, value: Any, scope: str) -> Any:
    """Return an item of a collection that has no message class. A string is treated as a name and
    put into `scope`.
    """
    if kind == "node_list":
        return graph.as_graph_element(prepend_name_scope(value, scope))
    if kind == "bytes_list":
        text = value.decode("utf-8", "surrogateescape")
        return prepend_name_scope(text, scope)
    return int(value) if kind == "int64_list" else value


def copy_scoped_meta_graph(
    from_scope: str | None,
    to_scope: str | None,
    from_graph: Graph | None = None,
    to_graph: Graph | None = None,
) -> dict[str, Any]:
    """Copy the content of a name scope into another name scope of the same graph, or into another
    graph.

    Returns the variables of the copy by their names without the scope. Raises ValueError if the
    scopes are the same and the graphs are the same.
    """
    source, target = graph_or_default(from_graph), graph_or_default(to_graph)
    if source is target and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same "
            "graph."
        )
    meta_graph, _ = export_scoped_meta_graph(export_scope=from_scope, graph=source)
    return import_scoped_meta_graph(meta_graph, graph=target, import_scope=to_scope)
