"""Rewrite: one node in the place of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.compile.analysis.fusibility import Said
from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.devices.native import Fusion, NotNativeError
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import reference
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.fused_members import Member
from gpugraph.ops.fusion.op_expressions import build, expressions_of


class Record:
    """The nodes of a group, inputs first, as members; which tensors they take and give."""

    def __init__(self, unit: Unit, group: Sequence[Node], signatures: Mapping[int, Said]) -> None:
        self.unit = unit
        self.group = group
        self.inside = {node.id for node in group}
        roots = {node.id for node in unit.roots}
        self.inputs: dict[TensorId, int] = {}
        self.taken = {node.id: _taken(node, signatures[node.id]) for node in group}
        for keys in self.taken.values():
            for key in keys:
                if key[0] not in self.inside:
                    self.inputs.setdefault(key, len(self.inputs))
        self.values = dict(self.inputs)
        self.members = [self._member(node, signatures[node.id]) for node in group]
        self.outputs = [
            (node.id, slot)
            for node in group
            for slot in range(len(node.output_types))
            if self._leaves(node, slot, node.id in roots)
        ]

    def _leaves(self, node: Node, slot: int, is_root: bool) -> bool:
        """Whether somebody else reads a tensor, or nobody at all reads the node."""
        takers = [edge for edge in node._out if not edge.is_control]
        if slot == 0 and (is_root or not takers):
            return True
        return any(e.src_output == slot and e.dst.id not in self.inside for e in takers)

    def _member(self, node: Node, signature: Said) -> Member:
        device_type = self.unit.device_types[node.assigned_device]
        expressions = expressions_of(node.type, node.attrs, device_type)
        assert expressions is not None
        sources = tuple([self.values[key] for key in self.taken[node.id]])
        for slot in range(len(node.output_types)):
            self.values[node.id, slot] = len(self.values)
        kernel = reference(self.unit.kernel(node))
        return Member(node.type, signature, kernel, expressions, sources, node.origin)

    def stores(self) -> tuple[int, ...]:
        """The values that are outputs."""
        return tuple(self.values[key] for key in self.outputs)

    def is_one_kernel(self) -> bool:
        """Whether there is one native kernel of all the nodes."""
        unit = self.unit
        fusion = Fusion(unit.device_types[self.group[0].assigned_device] != "CPU")
        try:
            values = []
            for key, slot in self.inputs:
                source = unit.graph.find_id(key)
                assert source is not None
                shape: Any = unit.shapes[key][slot].sizes
                values.append(fusion.input(source.output_types[slot], shape))
            for member in self.members:
                given = [values[k] for k in member.sources]
                values += build(fusion, member.expressions, member.signature, given)
            for at, (key, slot) in zip(self.stores(), self.outputs):
                fusion.output(values[at], _as_kept(fusion.shape(values[at]), unit, key, slot))
            fusion.finish()
        except (NotNativeError, NotImplementedError, ValueError):
            return False
        return True


def _taken(node: Node, signature: Said) -> list[TensorId]:
    """The tensors that a node takes, but on the host. (Groups before this one may be nodes now.)"""
    edges = list(node.input_edges())
    return [(edges[slot].src.id, edges[slot].src_output) for slot in signature.taken]


def _as_kept(shape: tuple[int, ...], unit: Unit, key: int, slot: int) -> tuple[int, ...] | None:
    """The shape of an output where it is more than that of its value."""
    wanted = unit.shapes[key][slot].num_elements()
    count = 1
    for size in shape:
        count *= size
    return None if wanted == count else unit.shapes[key][slot].sizes  # type: ignore[return-value]


def rewrite(record: Record, tiled: bool) -> str:
    """Puts a `_Fused` in the place of the nodes; a line about it."""
    unit, group = record.unit, record.group
    fused = _add(unit, record, tiled)
    names = ", ".join(node.name for node in group)
    unit.fused[fused.id] = [(node.name, node.type, node.origin) for node in group]
    shape = max((unit.shapes[node.id][0] for node in group), key=lambda s: s.num_elements() or 0)
    for node in group:
        unit.shapes.pop(node.id, None)
        unit.graph.remove_node(node)
    unit.roots = list(
        dict.fromkeys(fused if node.id in record.inside else node for node in unit.roots)
    )
    return f"{fused.name}: {len(group)} ops over {shape}, {len(record.outputs)} results: {names}"


def _add(unit: Unit, record: Record, tiled: bool) -> Node:
    """The node, with all edges that led into the group and out of it."""
    graph, group = unit.graph, record.group
    last = group[-1]
    sources = [(graph.find_id(key), slot) for key, slot in record.inputs]
    given = [node.output_types[slot].base_dtype for node, slot in sources if node is not None]
    of_id = {node.id: node for node in group}
    made = [of_id[key].output_types[slot].base_dtype for key, slot in record.outputs]
    shapes = [unit.shapes[key][slot] for key, slot in record.outputs]
    fused = graph.add_node(
        graph.new_name(f"{last.name}/fused"),
        DECLARATIONS["_Fused"].op_def,
        attrs={
            "Tin": given,
            "Tout": made,
            "shapes": shapes,
            "members": tuple(record.members),
            "stores": record.stores(),
            "tiled": tiled,
        },
        input_types=given,
        output_types=made,
        requested_device=last.requested_device,
        origin=last.origin,
    )
    fused.assigned_device = last.assigned_device
    unit.shapes[fused.id] = shapes
    unit.reasons[fused.id] = f"fused: {unit.reasons.get(last.id, '')}"
    for index, (node, slot) in enumerate(sources):
        assert node is not None
        graph.add_edge(node, slot, fused, index)
    _connect(unit, record, fused)
    return fused


def _connect(unit: Unit, record: Record, fused: Node) -> None:
    """Leads the group's control inputs to the node, and its outputs from it."""
    graph = unit.graph
    for node in record.group:
        for before in node.control_inputs:
            if before.id not in record.inside:
                graph.add_control_edge(before, fused)
        for edge in list(node._out):
            if edge.dst.id in record.inside or not edge.dst.is_op:
                continue
            if edge.is_control:
                graph.add_control_edge(fused, edge.dst)
            else:
                slot = record.outputs.index((node.id, edge.src_output))
                graph.update_edge(fused, slot, edge.dst, edge.dst_input)
