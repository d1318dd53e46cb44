"""Resources of a graph that are not variables, such as ensembles of trees, with the ops that create
them and that report which of them exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import boolean_mask


class GraphResource(NamedTuple):
    """A resource.

    Args:
      handle: the handle.
      create: the op that creates the resource.
      is_initialized: a bool tensor that is True if the resource exists.
    """

    handle: Any
    create: Any
    is_initialized: Any


def shared_resources() -> list[Any]:
    """Return the graph's resources that the sessions of a cluster share."""
    return get_default_graph().get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """Return the graph's local resources. Each session has its own copies of them."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_RESOURCES)


def register_resource(
    handle: Any, create_op: Any, is_initialized_op: Any, is_shared: bool = True
) -> None:
    """Add a resource to the graph. Monitored sessions create it.

    Args:
      create_op: the op that creates the resource.
      is_initialized_op: a bool tensor that is True if the resource exists.
    """
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    resource = GraphResource(handle, create_op, is_initialized_op)
    get_default_graph().add_to_collection(key, resource)


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Any:
    """Return an op that creates the resources."""
    return group(*(resource.create for resource in resource_list), name=name)


def report_uninitialized_resources(
    resource_list: Sequence[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """Return a vector with the names of the resources that do not exist yet.

    Args:
      resource_list: the resources, by default all resources of the graph.
    """
    listed = shared_resources() + local_resources() if resource_list is None else resource_list
    graph = get_default_graph()
    with graph.name_scope(name), graph.device("/cpu:0"):
        if not listed:
            return convert_to_tensor([], "string")
        flags = raw_ops.Pack([resource.is_initialized for resource in listed])
        names = convert_to_tensor([resource.handle.name for resource in listed])
        return boolean_mask(names, raw_ops.LogicalNot(flags))
