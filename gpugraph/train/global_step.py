"""The global step: one variable that counts training steps."""

from __future__ import annotations

from typing import Any

from gpugraph import dtypes
from gpugraph.graph.client import Graph
from gpugraph.graph.collections import GraphKeys
from gpugraph.graph.stack import graph_stack
from gpugraph.variables import Variable

__all__ = ["create_global_step", "get_global_step", "get_or_create_global_step"]


def get_global_step(graph: Graph | None = None) -> Any:
    """The graph's global step, or None; ValueError when there are several."""
    chosen: Graph = graph if graph is not None else graph_stack.top()
    found = chosen.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise ValueError(f"There are several global steps: {[each.name for each in found]}")
    return found[0] if found else None


def create_global_step(graph: Graph | None = None) -> Variable:
    """A new int64 global step; ValueError when there is one."""
    chosen: Graph = graph if graph is not None else graph_stack.top()
    if get_global_step(chosen) is not None:
        raise ValueError('"global_step" already exists.')
    with chosen.as_default(), chosen.name_scope(None):
        return Variable(
            0,
            trainable=False,
            dtype=dtypes.int64,
            name="global_step",
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The graph's global step, made when there is none."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found
