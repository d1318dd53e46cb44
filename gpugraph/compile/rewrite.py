"""Rewrite: one node in the place of a group."""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.compile.unit import TensorId, Unit
from gpugraph.graph.runtime_graph import Node
from gpugraph.kernel import reference
from gpugraph.ops.declare import DECLARATIONS
from gpugraph.ops.fused import Member

__all__ = ["rewrite"]


def rewrite(unit: Unit, group: Sequence[Node]) -> str:
    """Puts a `_Fused` in the place of the nodes, which come inputs first; a line about it."""
    inside = {node.id: at for at, node in enumerate(group)}
    roots = {node.id for node in unit.roots}
    outputs = [node for node in group if node.id in roots or _is_used_outside(node, inside)]
    inputs: dict[TensorId, int] = {}
    members = []
    for node in group:
        sources = []
        for edge in node.input_edges():
            if edge.src.id in inside:
                sources.append(~inside[edge.src.id])
            else:
                sources.append(inputs.setdefault((edge.src.id, edge.src_output), len(inputs)))
        members.append(_member(unit, node, tuple(sources), outputs))
    fused = _add(unit, group, outputs, members, list(inputs))
    names = ", ".join(node.name for node in group)
    unit.fused[fused.id] = [(node.name, node.type, node.origin) for node in group]
    for node in group:
        unit.shapes.pop(node.id, None)
        unit.graph.remove_node(node)
    unit.roots = list(dict.fromkeys(fused if node.id in inside else node for node in unit.roots))
    shape = unit.shapes[fused.id][0]
    return f"{fused.name}: {len(group)} ops over {shape}, {len(outputs)} results: {names}"


def _is_used_outside(node: Node, inside: dict[int, int]) -> bool:
    """Whether somebody else reads the node, or nobody at all."""
    takers = [edge.dst.id for edge in node._out if not edge.is_control]
    return not takers or any(each not in inside for each in takers)


def _member(unit: Unit, node: Node, sources: tuple[int, ...], outputs: Sequence[Node]) -> Member:
    store = outputs.index(node) if node in outputs else -1
    kernel = reference(unit.kernel(node))
    dtype = node.output_types[0].base_dtype
    return Member(node.name, node.type, node.attrs, kernel, sources, dtype, store)


def _add(
    unit: Unit,
    group: Sequence[Node],
    outputs: Sequence[Node],
    members: Sequence[Member],
    inputs: Sequence[TensorId],
) -> Node:
    """The node, with all edges that led into the group and out of it."""
    graph = unit.graph
    last = group[-1]
    sources = [(graph.find_id(key), slot) for key, slot in inputs]
    given = [node.output_types[slot].base_dtype for node, slot in sources if node is not None]
    made = [node.output_types[0].base_dtype for node in outputs]
    shape = unit.shapes[last.id][0]
    fused = graph.add_node(
        graph.new_name(f"{last.name}/fused"),
        DECLARATIONS["_Fused"].op_def,
        attrs={"Tin": given, "Tout": made, "shape": shape, "members": tuple(members)},
        input_types=given,
        output_types=made,
        requested_device=last.requested_device,
        origin=last.origin,
    )
    fused.assigned_device = last.assigned_device
    unit.shapes[fused.id] = [shape] * len(made)
    unit.reasons[fused.id] = f"fused: {unit.reasons.get(last.id, '')}"
    for index, (node, slot) in enumerate(sources):
        assert node is not None
        graph.add_edge(node, slot, fused, index)
    inside = {node.id for node in group}
    for node in group:
        for before in node.control_inputs:
            if before.id not in inside:
                graph.add_control_edge(before, fused)
        slot = outputs.index(node) if node in outputs else -1
        for edge in list(node._out):
            if edge.dst.id in inside or not edge.dst.is_op:
                continue
            if edge.is_control:
                graph.add_control_edge(fused, edge.dst)
            else:
                graph.update_edge(fused, slot, edge.dst, edge.dst_input)
    return fused
