"""Graphs: the client's, which a program builds, and the runtime's, which passes change.

The client graph (`Graph`, `Operation`, `Tensor`; scopes, collections, default stacks) only grows;
it knows op signatures, and the user's line behind each operation, but no array and no device.
The runtime graph (`RuntimeGraph`, `Node`, `Edge`) is copied from it for a run. This face
re-exports what other rooms and users of the room need; it defines nothing.
"""

from gpugraph.graph.client import OP_DEFS, Graph
from gpugraph.graph.collections import GraphKeys
from gpugraph.graph.defaults import (
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
from gpugraph.graph.device_name import DeviceSpec
from gpugraph.graph.infer import InferContext
from gpugraph.graph.node import Edge, Node, NodeClass
from gpugraph.graph.op_def import ArgDef, AttrDef, NodeDef, OpDef, VersionDef
from gpugraph.graph.operation import Operation
from gpugraph.graph.origin import Origin
from gpugraph.graph.runtime_graph import RuntimeGraph
from gpugraph.graph.tensor import Tensor

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
