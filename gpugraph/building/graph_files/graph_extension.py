"""Extension of a server's copy of a graph with the GraphDefs that a client sends."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import AlreadyExistsError
from gpugraph.building.graph_files.function_library import FunctionLibrary
from gpugraph.building.graph_files.graph_def_index import GraphDefIndex, Source, source_of
from gpugraph.building.graph_files.import_graph_def import (
    enter_nodes,
    merge_versions,
    readable_versions,
)
from gpugraph.building.graph_files.node_import import NodeImport
from gpugraph.graph.client.client_graph import Graph


def extend_graph(graph: Graph, graph_def: Any) -> None:
    """Add the nodes of a GraphDef under their names. Nodes of the graph may be their inputs.

    Either all nodes are added or none. Raises the errors of `tf.import_graph_def`, and
    AlreadyExistsError if a name is in use.
    """
    versions = readable_versions(graph_def.versions)
    new = {node.name for node in graph_def.node}
    for name in sorted(new & graph._by_name.keys()):
        raise AlreadyExistsError.of_no_node(f"The graph has an operation '{name}' already")
    mapped: dict[Source, Any] = {}
    for node in graph_def.node:
        for text in node.input:
            source = source_of(text)
            op = None if source is None else graph._by_name.get(source[0])
            if source is not None and op is not None and source[1] < len(op._outputs):
                mapped[source] = op if source[1] < 0 else op._outputs[source[1]]
    index = GraphDefIndex(graph_def.node, mapped)
    names = {name: name for name in (*graph._by_name, *new)}
    library = FunctionLibrary(graph_def.library)
    nodes = NodeImport(graph, index, names, mapped, library, versions.producer)
    nodes.make()
    enter_nodes(nodes, has_own_frames=False)  # such as the gradient of a loop that is there
    merge_versions(graph, versions)
