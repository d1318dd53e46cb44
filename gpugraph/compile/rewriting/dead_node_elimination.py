"""Dead nodes: those that do not lead to what a run fetches or runs are dropped."""

from __future__ import annotations

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.graph_walks import reachable_backwards


def drop_unneeded(unit: Unit) -> int:
    """Removes what does not lead to `unit.roots`, but what is fed; how many nodes that were."""
    graph = unit.graph
    kept = reachable_backwards(graph, unit.roots)
    kept.update(node.id for node in unit.args)
    unneeded = [node for node in graph.op_nodes() if node.id not in kept]
    for node in unneeded:
        unit.remove(node)
    return len(unneeded)
