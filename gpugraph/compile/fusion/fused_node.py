"""Fused nodes: one node in the place of a group, with the group's ops as its members."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Any

from gpugraph.compile.analysis.fusibility import Fusible
from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.devices.native import Fusion, NotNativeError
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import NodeSignature, reference
from gpugraph.ops.fusion.fused_members import Member
from gpugraph.ops.fusion.op_expressions import build


class Record:
    """The nodes of a group, inputs first, as members; which tensors they take and give.

    known: whether groups are one kernel, by all that matters of them; it grows.
    """

    def __init__(
        self,
        unit: Unit,
        group: Sequence[Node],
        candidates: Mapping[int, Fusible],
        known: dict[Hashable, bool],
    ) -> None:
        self.unit = unit
        self._known = known
        self._kinds = [candidates[node.id].kind for node in group]
        self.group = group
        self.inside = {node.id for node in group}
        roots = {node.id for node in unit.roots}
        sources = {node.id: _sources(node, candidates[node.id].signature) for node in group}
        outside = [key for keys in sources.values() for key in keys if key[0] not in self.inside]
        self.inputs = {key: number for number, key in enumerate(dict.fromkeys(outside))}
        self.values = dict(self.inputs)
        self.members = [self._member(node, candidates[node.id], sources[node.id]) for node in group]
        self.outputs = [
            (node.id, slot)
            for node in group
            for slot in range(len(node.output_types))
            if self._leaves(node, slot, node.id in roots)
        ]

    def _leaves(self, node: Node, slot: int, is_root: bool) -> bool:
        """Whether a node outside reads a tensor, or none at all reads the node."""
        readers = [edge for edge in node._out if not edge.is_control]
        if slot == 0 and (is_root or not readers):
            return True
        return any(edge.src_output == slot and edge.dst.id not in self.inside for edge in readers)

    def _member(self, node: Node, candidate: Fusible, keys: Sequence[TensorId]) -> Member:
        sources = tuple([self.values[key] for key in keys])
        for slot in range(len(node.output_types)):
            self.values[node.id, slot] = len(self.values)
        kernel = reference(self.unit.kernel(node))
        return Member(
            node.type, candidate.signature, kernel, candidate.expressions, sources, node.origin
        )

    def stores(self) -> tuple[int, ...]:
        """The values that are outputs."""
        return tuple(self.values[key] for key in self.outputs)

    def is_one_kernel(self) -> bool:
        """Whether there is one native kernel of all the nodes."""
        sources = [member.sources for member in self.members]
        key = (*self._kinds, *sources, self.stores(), len(self.inputs))
        if key not in self._known:
            self._known[key] = self._builds_kernel()
        return self._known[key]

    def _builds_kernel(self) -> bool:
        unit = self.unit
        fusion = Fusion(unit.device_types[self.group[0].assigned_device] != "CPU")
        try:
            values = []
            for key, slot in self.inputs:
                source = _node(unit, key)
                shape: Any = unit.shapes[key][slot].sizes
                values.append(fusion.input(source.output_types[slot], shape))
            for member in self.members:
                sources = [values[number] for number in member.sources]
                values += build(fusion, member.expressions, member.signature, sources)
            for number, (key, slot) in zip(self.stores(), self.outputs):
                value = values[number]
                fusion.output(value, _stored_shape(fusion.shape(value), unit, key, slot))
            fusion.finish()
        except (NotNativeError, NotImplementedError, ValueError):
            return False
        return True


def _sources(node: Node, signature: NodeSignature) -> list[TensorId]:
    """The tensors that a node takes, but on the host. (Groups before this one may be nodes now.)"""
    edges = node.input_edges()
    return [(edges[slot].src.id, edges[slot].src_output) for slot in signature.device_inputs()]


def _stored_shape(
    shape: tuple[int, ...], unit: Unit, key: int, slot: int
) -> tuple[int, ...] | None:
    """The shape of an output where it is more than that of its value."""
    stored = unit.shapes[key][slot]
    return None if stored.num_elements() == prod(shape) else stored.sizes  # type: ignore[return-value]


def rewrite(record: Record, tiled: bool) -> str:
    """Puts a `_Fused` in the place of the nodes; a line about it."""
    unit, group = record.unit, record.group
    fused = _add(unit, record, tiled)
    names = ", ".join(node.name for node in group)
    unit.fused[fused.id] = [(node.name, node.type, node.origin) for node in group]
    shape = max((unit.shapes[node.id][0] for node in group), key=lambda s: s.num_elements() or 0)
    for node in group:
        unit.remove(node)
    unit.roots = list(
        dict.fromkeys(fused if node.id in record.inside else node for node in unit.roots)
    )
    return f"{fused.name}: {len(group)} ops over {shape}, {len(record.outputs)} results: {names}"


def _add(unit: Unit, record: Record, tiled: bool) -> Node:
    """The node, with all edges that led into the group and out of it."""
    last = record.group[-1]
    sources = [(_node(unit, key), slot) for key, slot in record.inputs]
    nodes = {node.id: node for node in record.group}
    output_types = [nodes[key].output_types[slot].base_dtype for key, slot in record.outputs]
    shapes = [unit.shapes[key][slot] for key, slot in record.outputs]
    attrs = {
        "Tin": [node.output_types[slot].base_dtype for node, slot in sources],
        "Tout": output_types,
        "shapes": shapes,
        "members": tuple(record.members),
        "stores": record.stores(),
        "tiled": tiled,
    }
    fused = unit.add_op(
        "_Fused",
        last,
        sources,
        attrs=attrs,
        output_types=output_types,
        suffix="fused",
        shapes=shapes,
    )
    unit.reasons[fused.id] = f"fused: {unit.reasons.get(last.id, '')}"
    _connect(unit, record, fused)
    return fused


def _node(unit: Unit, key: int) -> Node:
    node = unit.graph.find_id(key)
    assert node is not None
    return node


def _connect(unit: Unit, record: Record, fused: Node) -> None:
    """Leads the group's control inputs to the node, and its outputs from it."""
    graph = unit.graph
    for node in record.group:
        outside = [source for source in node.control_inputs if source.id not in record.inside]
        unit.add_control_inputs(fused, outside)
        for edge in list(node._out):
            if edge.dst.id in record.inside or not edge.dst.is_op:
                continue
            if edge.is_control:
                graph.add_control_edge(fused, edge.dst)
            else:
                slot = record.outputs.index((node.id, edge.src_output))
                graph.update_edge(fused, slot, edge.dst, edge.dst_input)
