"""Merge in place: branches compute their results in the storage of the Merge that joins them.

  a = f(x) if p                Merge(a, b) has one storage; f writes it if p is true,
  b = g(x) if not p            g if it is false, and the Merge has nothing to copy

An input may use this storage only if the op that computes it never runs when another input is
alive.
"""

from __future__ import annotations

from gpugraph.base.shapes import equal_sizes
from gpugraph.compile.placement.graph_partition import memory_of_output
from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.compile.unit.guards import Found, apart
from gpugraph.graph.nodes.loop_frames import is_loop_merge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS

_ELSEWHERE = {NodeClass.CONSTANT, NodeClass.VARIABLE, NodeClass.ARG, NodeClass.MERGE}


def merge_places(unit: Unit) -> dict[TensorId, Node]:
    """Return the tensors that may be computed in the storage of a Merge, each with its Merge. A
    tensor is omitted if it is an input of two Merges.
    """
    merge_of: dict[TensorId, Node] = {}
    doubtful: set[TensorId] = set()
    for node in unit.graph.op_nodes() if unit.flow is not None else ():
        if node.node_class is NodeClass.MERGE and not is_loop_merge(node):
            for key in _makers(unit, node):
                if key in merge_of:
                    doubtful.add(key)
                merge_of[key] = node
    return {key: node for key, node in merge_of.items() if key not in doubtful}


def _makers(unit: Unit, merge: Node) -> list[TensorId]:
    """Return those inputs of a Merge that can be computed directly in the Merge's storage. If an
    input is a view, the result contains the viewed tensor instead.
    """
    flow = unit.flow
    assert flow is not None
    shape = unit.shapes[merge.id][0]
    if Found(merge.id, "merge") in flow.guards[merge.id] or not shape.is_fully_defined():
        return []
    edges = merge.input_edges()
    guards = [flow.of_output(edge.src, edge.src_output) for edge in edges]
    makers = []
    for number, edge in enumerate(edges):
        node, slot = _maker(edge.src, edge.src_output)
        others = [guard for index, guard in enumerate(guards) if index != number]
        if (
            node.node_class not in _ELSEWHERE
            and flow.frames.at(node) is flow.frames.at(merge)
            and all(apart(flow.guards[node.id], guard) for guard in others)
            and equal_sizes(unit.shapes[node.id][slot].sizes, shape.sizes)
            and node.output_types[slot] is merge.output_types[0]
            and memory_of_output(unit, node, slot) == memory_of_output(unit, merge, 0)
        ):
            makers.append((node.id, slot))
    return makers


def _maker(node: Node, slot: int) -> tuple[Node, int]:
    """Return the output that a view refers to, through any number of views. If the tensor is not a
    view, return the tensor itself.
    """
    while (
        slot in (view := DECLARATIONS[node.type].memory.view)
        and node.node_class is not NodeClass.EXIT
    ):
        edge = node.input_edge(view[slot])
        node, slot = edge.src, edge.src_output
    return node, slot
