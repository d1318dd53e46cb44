"""Graphs: the client's, which a program builds, and the runtime's, which passes change.

The client graph (`Graph`, `Operation`, `Tensor`; scopes, collections, default stacks) only grows;
it knows op signatures, and the user's line behind each operation, but no array and no device.
The runtime graph (`RuntimeGraph`, `Node`, `Edge`) is copied from it for a run. This face
re-exports what other rooms and users of the room need; it defines nothing.
"""

from gpugraph.graph.client.client_graph import OP_DEFS, Graph
from gpugraph.graph.client.creation_origin import Origin
from gpugraph.graph.client.default_graph_functions import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    executing_eagerly,
    get_collection,
    get_collection_ref,
    get_default_graph,
    get_default_session,
    init_scope,
    name_scope,
    reset_default_graph,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.nodes.node_and_edge import Edge, Node, NodeClass
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph
from gpugraph.graph.op_def import ArgDef, AttrDef, NodeDef, OpDef, VersionDef

__all__ = [
    # the client graph
    "Graph",
    "GraphKeys",
    "Operation",
    "Origin",
    "Tensor",
    # of the default graph
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "container",
    "control_dependencies",
    "device",
    "executing_eagerly",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "init_scope",
    "name_scope",
    "reset_default_graph",
    # as data
    "ArgDef",
    "AttrDef",
    "DeviceSpec",
    "InferContext",
    "NodeDef",
    "OP_DEFS",
    "OpDef",
    "VersionDef",
    # the runtime graph
    "Edge",
    "Node",
    "NodeClass",
    "RuntimeGraph",
]
