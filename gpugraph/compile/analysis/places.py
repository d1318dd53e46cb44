"""Places: sets of ops that always run equally often, with their order.

Ops of one loop (or of none) and one guard are in one place. Passes that recompute or reorder ops
keep them in their place, where their inputs are available whenever they run. A graph without
branches and loops is one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpugraph.compile.analysis.flow_analysis import flow_of, has_control_flow
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.guards import ALWAYS, Flow, Guard, holds_never
from gpugraph.graph.nodes.graph_walks import depths, topological_order
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.runtime_graph import Node


class GuardedPlace(NamedTuple):
    """Its ops, inputs first; the depth of each op in it or in an inner loop, by id (for the latter,
    the depth of the loop); and the guard."""

    nodes: list[Node]
    depth: Mapping[int, int]
    guard: Guard = ALWAYS


def places(unit: Unit) -> list[GuardedPlace]:
    """Return the places of a graph. InvalidArgumentError for loops that are not well-formed."""
    order = [node for node in topological_order(unit.graph) if node.is_op]
    if not has_control_flow(unit):
        return [GuardedPlace(order, depths(unit.graph, []))]
    flow = flow_of(unit)
    depth_of = {frame: _depths(flow, frame, order) for frame in flow.levels}
    nodes_of: dict[tuple[Frame, Guard], list[Node]] = {}
    for node in order:
        frame, guard = flow.frames.at(node), flow.guards[node.id]
        if frame not in flow.carried and not holds_never(guard):
            nodes_of.setdefault((frame, guard), []).append(node)
    return [
        GuardedPlace(nodes, depth_of[frame], guard) for (frame, guard), nodes in nodes_of.items()
    ]


def _depths(flow: Flow, frame: Frame, order: list[Node]) -> dict[int, int]:
    """Return the depths of a frame's own ops, and of the ops in inner loops."""
    level = flow.levels[frame].depth
    depth = {}
    for node in order:
        inner = flow.frames.at(node)
        if inner is frame:
            depth[node.id] = level[node]
        elif frame in inner.up():
            depth[node.id] = level[frame.child_towards(inner)]
    return depth
