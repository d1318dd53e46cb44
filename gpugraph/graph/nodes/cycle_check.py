"""Detection of cycles in a runtime graph. Only an edge from a NextIteration to a Merge may close a
cycle.

A graph with any other cycle can't run. The error lists the nodes of the cycle in order. The check
is modelled on TensorFlow's core/graph/validate.cc.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.graph.nodes.node_and_edge import Node, origins
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph

_NAMES_SHOWN = 20


def validate_no_cycle(graph: RuntimeGraph, extra_edges: Collection[tuple[Node, Node]] = ()) -> None:
    """Check that only edges from a NextIteration to a Merge close cycles.

    Takes time linear in the number of nodes and edges. Raises InvalidArgumentError with the nodes
    of one cycle, in the order of its edges, and their origins.

    Args:
      extra_edges: pairs (before, after) that are treated as edges.
    """
    followers: dict[int, list[Node]] = {}
    for before, after in extra_edges:
        followers.setdefault(before.id, []).append(after)
    pending = [0] * graph.num_node_ids
    for edge in graph.edges():
        if not edge.is_back_edge:
            pending[edge.dst.id] += 1
    for _, after in extra_edges:
        pending[after.id] += 1
    ready = [node for node in graph.nodes() if not pending[node.id]]
    left = graph.num_nodes
    while ready:
        node = ready.pop()
        left -= 1
        after_node = [edge.dst for edge in node._out if not edge.is_back_edge]
        for dst in (*after_node, *followers.get(node.id, ())):
            pending[dst.id] -= 1
            if not pending[dst.id]:
                ready.append(dst)
    if left:
        raise _cycle_error(_some_cycle(graph, pending, extra_edges))


def _some_cycle(
    graph: RuntimeGraph, pending: list[int], extra_edges: Iterable[tuple[Node, Node]]
) -> list[Node]:
    """Return a cycle among the nodes that could not be ordered.

    Args:
      pending: by node id, the number of inputs from nodes that could not be ordered. Each node with
        such an input has a predecessor that could not be ordered either. So a walk backwards from
        any of these nodes reaches a cycle.
    """
    waiting_for: dict[int, Node] = {}
    for edge in graph.edges():
        if pending[edge.src.id] and pending[edge.dst.id] and not edge.is_back_edge:
            waiting_for.setdefault(edge.dst.id, edge.src)
    for before, after in extra_edges:
        if pending[before.id] and pending[after.id]:
            waiting_for.setdefault(after.id, before)
    node = next(node for node in graph.nodes() if pending[node.id])
    seen: dict[int, Node] = {}
    while node.id not in seen:
        seen[node.id] = node
        node = waiting_for[node.id]
    walked = list(seen.values())
    cycle = walked[walked.index(node) :][::-1]
    first = min(range(len(cycle)), key=lambda i: cycle[i].id)
    return cycle[first:] + cycle[:first]


def _cycle_error(cycle: list[Node]) -> InvalidArgumentError:
    shown = cycle[:_NAMES_SHOWN]
    names = [node.name for node in shown]
    names += ["..."] if len(shown) < len(cycle) else [cycle[0].name]
    message = (
        f"Graph is invalid, contains a cycle with {len(cycle)} nodes, "
        f"including: {' -> '.join(names)}{origins(*shown)}"
    )
    return invalid_argument(message)
