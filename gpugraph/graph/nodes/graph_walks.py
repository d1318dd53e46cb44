"""Orders and traversals of a runtime graph.

Every traversal takes time linear in the number of nodes and edges (orders use a heap, which adds a
logarithmic factor). Traversals are deterministic. They are iterative, so that they support chains
of any length. They visit only the ops of the program: _SOURCE and _SINK are never part of a result.

Orders and depths ignore edges that close a loop (NextIteration to Merge), since they are not
defined on a cycle. `reachable_backwards` and `reverse_dfs` follow these edges, since a loop needs
them. Any other cycle raises InvalidArgumentError with its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import heapify, heappop, heappush

from gpugraph.base.errors import InternalError
from gpugraph.graph.nodes.cycle_check import validate_no_cycle
from gpugraph.graph.nodes.node_and_edge import SINK_ID, Node, NodeClass
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph


def topological_order(graph: RuntimeGraph) -> list[Node]:
    """Return the ops in topological order. Among several possible next ops, the op that was created
    first is next.

    Raises InvalidArgumentError for a cycle.
    """
    pending = _count_inputs(graph)
    nodes = graph.op_nodes()
    by_id = {node.id: node for node in nodes}
    ready = [node.id for node in nodes if not pending[node.id]]
    heapify(ready)
    order = []
    while ready:
        node = by_id[heappop(ready)]
        order.append(node)
        may_loop = node.node_class is NodeClass.NEXT_ITERATION
        for edge in node._out:
            key = edge.dst.id
            if key <= SINK_ID or (may_loop and edge.is_back_edge):
                continue
            left = pending[key] - 1
            pending[key] = left
            if not left:
                heappush(ready, key)
    if len(order) < len(nodes):
        _refuse_cycle(graph)
    return order


def reverse_topological_order(graph: RuntimeGraph) -> list[Node]:
    """Return the reverse of `topological_order`: consumers first."""
    return topological_order(graph)[::-1]


def reachable_backwards(graph: RuntimeGraph, roots: Iterable[Node]) -> set[int]:
    """Return the ids of `roots` and of all ops that they need, along data, control and back
    edges.
    """
    stack = [node for node in roots if node.id > SINK_ID]
    seen = {node.id for node in stack}
    while stack:
        for edge in stack.pop()._in:
            src = edge.src
            if src.id > SINK_ID and src.id not in seen:
                seen.add(src.id)
                stack.append(src)
    return seen


def depths(graph: RuntimeGraph, extra_edges: Collection[tuple[Node, Node]] = ()) -> dict[int, int]:
    """Return, by node id, the number of edges on the longest path that ends at the op.

    An op without inputs has depth 0. Raises InvalidArgumentError for a cycle, also if only the
    extra edges close the cycle.

    Args:
      extra_edges: pairs (before, after), such as a Send and its Recv, that are treated as edges.
    """
    pending = _count_inputs(graph)
    extra: dict[int, list[Node]] = {}
    for before, after in extra_edges:
        extra.setdefault(before.id, []).append(after)
        pending[after.id] += 1
    nodes = graph.op_nodes()
    depth = dict.fromkeys((node.id for node in nodes), 0)
    level = [node for node in nodes if not pending[node.id]]
    done = 0
    while level:  # one depth at a time
        done += len(level)
        following = []
        for node in level:
            beyond = depth[node.id] + 1
            for after in (*_followers(node), *extra.get(node.id, ())):
                depth[after.id] = beyond  # depths increase, so the last assignment is the maximum
                pending[after.id] -= 1
                if not pending[after.id]:
                    following.append(after)
        level = following
    if done < len(nodes):
        _refuse_cycle(graph, extra_edges)
    return depth


def reverse_dfs(
    graph: RuntimeGraph,
    roots: Iterable[Node] | None = None,
    *,
    enter: Callable[[Node], None] | None = None,
    leave: Callable[[Node], None] | None = None,
) -> None:
    """Visit `roots`, their inputs, and so on, depth first, in the order of the nodes' edges.

    Args:
      roots: the first nodes. If `roots` is None, every op is visited, starting with the ops whose
        outputs no op consumes.
      enter: called before a node's inputs are visited.
      leave: called after a node's inputs have been visited.
    """
    starts = _ends(graph) if roots is None else [n for n in roots if n.id > SINK_ID]
    seen: set[int] = set()
    stack: list[tuple[Node, Iterator[Node]]] = []
    for start in starts:
        following: Node | None = start if start.id not in seen else None
        while following is not None or stack:
            if following is not None:
                seen.add(following.id)
                if enter is not None:
                    enter(following)
                stack.append((following, _inputs(following)))
            node, inputs = stack[-1]
            following = next((src for src in inputs if src.id not in seen), None)
            if following is None:
                stack.pop()
                if leave is not None:
                    leave(node)


def _count_inputs(graph: RuntimeGraph) -> list[int]:
    """Return, by node id, the number of edges from other ops into the node, without back edges."""
    pending = [0] * graph.num_node_ids
    for node in graph.op_nodes():
        count = len(node._in)
        if node.node_class is NodeClass.MERGE:
            count -= sum(edge.is_back_edge for edge in node._in)
        pending[node.id] = count
    for edge in graph.source._out:
        pending[edge.dst.id] -= 1
    return pending


def _followers(node: Node) -> list[Node]:
    """Return the ops at the ends of a node's outgoing edges, once for each edge. Back edges are
    ignored.
    """
    if node.node_class is NodeClass.NEXT_ITERATION:
        return [e.dst for e in node._out if e.dst.id > SINK_ID and not e.is_back_edge]
    return [e.dst for e in node._out if e.dst.id > SINK_ID]


def _inputs(node: Node) -> Iterator[Node]:
    return (edge.src for edge in list(node._in) if edge.src.id > SINK_ID)


def _ends(graph: RuntimeGraph) -> list[Node]:
    """Return the ops at which a traversal starts. These ops are the ops without a consumer,
    followed by all ops in reverse order of creation.

    The list of all ops is needed for loops without an exit, in which every op has a consumer.
    """
    nodes = graph.op_nodes()
    unread = [node for node in nodes if all(e.dst.id <= SINK_ID for e in node._out)]
    return unread + nodes[::-1]


def _refuse_cycle(graph: RuntimeGraph, extra_edges: Collection[tuple[Node, Node]] = ()) -> None:
    validate_no_cycle(graph, extra_edges)
    raise InternalError.of_no_node("An order ended early although the graph has no cycle")
