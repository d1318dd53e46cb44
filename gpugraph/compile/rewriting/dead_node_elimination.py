"""Dead node elimination: drops nodes on which no fetch or target of the run depends."""

from __future__ import annotations

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.graph_walks import reachable_backwards
from gpugraph.graph.nodes.runtime_graph import NodeClass


def drop_unneeded(unit: Unit) -> int:
    """Remove the nodes on which none of `unit.roots` depends, except fed nodes. Return the number
    of removed nodes.
    """
    graph = unit.graph
    if _all_are_taken(unit):
        return 0
    kept = reachable_backwards(graph, unit.roots)
    kept.update(node.id for node in unit.args)
    unneeded = [node for node in graph.op_nodes() if node.id not in kept]
    for node in unneeded:
        unit.remove(node)
    return len(unneeded)


def _all_are_taken(unit: Unit) -> bool:
    """Return whether every node has a successor or is a root, and there is no loop. In that case
    every node leads to a root.

    Usually every node has a successor or is a root, and checking these two conditions is faster
    than a traversal of the graph.
    """
    ends = {node.id for node in (*unit.roots, *unit.args)}
    for node in unit.graph.op_nodes():
        if node.node_class is NodeClass.ENTER or not (node._out or node.id in ends):
            return False
    return True
