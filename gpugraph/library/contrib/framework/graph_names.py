"""The current name scope, the graph of some values, and the placeholders of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import (
    get_default_graph,
    graph_of,
    graph_or_default,
)
from gpugraph.graph.client.tensor import Tensor


def get_name_scope() -> str:
    """Return the current name scope of the default graph, without a trailing slash."""
    graph = get_default_graph()
    return graph.get_name_scope()


def get_graph_from_inputs(op_input_list: Iterable[Any], graph: Graph | None = None) -> Graph:
    """Return the graph that contains all tensors, operations and variables in the list.

    For an empty list, return the default graph.

    Raises ValueError if the items are in several graphs, or not in `graph`.

    Args:
      graph: the graph to which all items must belong. If `graph` is None, any graph is allowed.
    """
    values = list(op_input_list)
    if graph is None:
        return graph_of(values)
    for value in values:
        if isinstance(getattr(value, "graph", None), Graph) and value.graph is not graph:
            raise ValueError(f"{value!r} is not from the passed-in graph.")
    return graph


def get_placeholders(graph: Graph) -> list[Tensor]:
    """Return the output tensors of all Placeholder operations of a graph."""
    operations = graph_or_default(graph).get_operations()
    return [op.outputs[0] for op in operations if op.type == "Placeholder"]
