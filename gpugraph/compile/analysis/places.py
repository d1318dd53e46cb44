"""Places: sets of ops that always run the same number of times.

A place consists of the ops with the same loop (or no loop) and the same guard. Passes that
recompute or reorder ops put an op only into its own place, where its inputs are available whenever
the op runs. A graph without branches and loops is one place.
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
    """The ops that have the same loop and the same guard.

    Args:
      nodes: these ops, in topological order.
      depth: the depth of each op in the loop's order, by node id. An op of an inner loop has the
        depth of that loop.
    """

    nodes: list[Node]
    depth: Mapping[int, int]
    guard: Guard = ALWAYS


def places(unit: Unit) -> list[GuardedPlace]:
    """Return the places of a graph: the sets of ops with the same loop and the same guard. Two
    kinds of ops are in no place: ops that never run, and ops of a loop whose variables may end in
    different iterations.

    Raises InvalidArgumentError if a loop is not well-formed.
    """
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
    """Return the depth of each op in a frame, by node id. An op of an inner loop has the depth of
    that loop.
    """
    level = flow.levels[frame].depth
    depth = {}
    for node in order:
        inner = flow.frames.at(node)
        if inner is frame:
            depth[node.id] = level[node]
        elif frame in inner.up():
            depth[node.id] = level[frame.child_towards(inner)]
    return depth
