"""Graphs: the client's graph, which a program builds, and the runtime graph, which compiler passes
change.

The client graph (`Graph`, `Operation`, `Tensor`; scopes, collections, default stacks) only grows.
It holds the signature of each op and the user's line that created it, but no arrays and no devices.
The runtime graph (`RuntimeGraph`, `Node`, `Edge`) is copied from the client graph for a run. This
module defines nothing. It imports the names that other packages need.
"""

from gpugraph.graph.client.client_graph import Graph as Graph
from gpugraph.graph.client.creation_origin import Origin as Origin
from gpugraph.graph.client.default_graph_functions import (
    add_to_collection as add_to_collection,
    add_to_collections as add_to_collections,
    colocate_with as colocate_with,
    container as container,
    control_dependencies as control_dependencies,
    device as device,
    executing_eagerly as executing_eagerly,
    get_collection as get_collection,
    get_collection_ref as get_collection_ref,
    get_default_graph as get_default_graph,
    get_default_session as get_default_session,
    init_scope as init_scope,
    name_scope as name_scope,
    reset_default_graph as reset_default_graph,
)
from gpugraph.graph.client.graph_collections import GraphKeys as GraphKeys
from gpugraph.graph.client.operation import Operation as Operation
from gpugraph.graph.client.tensor import Tensor as Tensor
from gpugraph.graph.device_names import DeviceSpec as DeviceSpec
from gpugraph.graph.inference_context import InferContext as InferContext
from gpugraph.graph.nodes.node_and_edge import Edge as Edge, Node as Node, NodeClass as NodeClass
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph as RuntimeGraph
from gpugraph.graph.op_def import (
    ArgDef as ArgDef,
    AttrDef as AttrDef,
    NodeDef as NodeDef,
    OpDef as OpDef,
    VersionDef as VersionDef,
)
from gpugraph.graph.op_library import OP_DEFS as OP_DEFS
