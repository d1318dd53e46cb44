"""Fused nodes. A fused node replaces a group of ops, which are then the members of the node."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from math import prod
from typing import Any

from gpugraph.base.sizes import hint, literals_refused
from gpugraph.compile.analysis.fusibility import Fusible
from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.devices.native import Fusion, NotNativeError
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.kernel import NodeSignature
from gpugraph.ops.fusion.fused_members import FusedMember
from gpugraph.ops.fusion.member_memory import MemoryLayout
from gpugraph.ops.fusion.op_expressions import build


class Kind:
    """The common properties of all groups whose ops are equal except for their names.

    Attributes:
      is_kernel: whether each of these groups can be one native kernel, or None until
        `Record.is_one_kernel` has determined it.
    """

    __slots__ = ("is_kernel", "layout")

    def __init__(self) -> None:
        self.is_kernel: bool | None = None
        self.layout = MemoryLayout()


class Record:
    """A group as the members of a fused node, each after its inputs, with the tensors that the
    group reads and returns.

    Args:
      candidates: the group's ops by node id.
      roots: the ids of nodes that are fetched or run as targets.
      kinds: the kinds of all groups so far, by the properties of their ops except names. If the
        group has a new kind, this kind is added to `kinds`.
    """

    def __init__(
        self,
        unit: Unit,
        group: Sequence[Node],
        candidates: Mapping[int, Fusible],
        roots: Collection[int],
        kinds: dict[Hashable, Kind],
    ) -> None:
        self.unit = unit
        self.group = group
        self.inside = {node.id for node in group}
        self.inputs: dict[TensorId, int] = {}
        self.leaving: list[Edge] = []  # edges from the group to other nodes
        fusible = [candidates[node.id] for node in group]
        sources = [self._sources(node, op.slots) for node, op in zip(group, fusible)]
        self.values = dict(self.inputs)
        self.members = [self._member(*of_node) for of_node in zip(group, fusible, sources)]
        self.outputs = [key for node in group for key in self._leave(node, node.id in roots)]
        self.stores = tuple([self.values[key] for key in self.outputs])
        ops = tuple([op.kind for op in fusible])
        numbers = [number for member in self.members for number in member.sources]
        key = ops, (*numbers, len(self.inputs)), self.stores
        self.kind = kinds.get(key) or kinds.setdefault(key, Kind())

    def _member(self, node: Node, fusible: Fusible, keys: Sequence[TensorId]) -> FusedMember:
        values = self.values
        sources = tuple([values[key] for key in keys])
        for slot in range(len(node.output_types)):
            values[node.id, slot] = len(values)
        of_node = node.name, node.attrs, node.input_types, node.output_types
        signature = NodeSignature(*of_node, *fusible.shapes_and_values)
        return FusedMember(
            node.type, signature, fusible.call, fusible.expressions, sources, node.origin
        )

    def _sources(self, node: Node, slots: Sequence[int]) -> list[TensorId]:
        """Return the tensors that a node reads from device memory. Tensors from outside the group
        are recorded in `inputs`.
        """
        edges = node.input_edges()
        if len(slots) < len(edges):
            edges = [edges[slot] for slot in slots]
        keys = [(edge.src.id, edge.src_output) for edge in edges]
        for key in keys:
            if key[0] not in self.inside and key not in self.inputs:
                self.inputs[key] = len(self.inputs)
        return keys

    def _leave(self, node: Node, is_root: bool) -> list[TensorId]:
        """Return the outputs of the node that are read outside the group. If nothing reads the
        node, or it is a root, return its first output.
        """
        slots = set()
        is_read = False
        for edge in node._out:
            is_data = edge.src_output >= 0
            is_read |= is_data
            if edge.dst.id not in self.inside:
                self.leaving.append(edge)
                if is_data:
                    slots.add(edge.src_output)
        if is_root or not is_read:
            slots.add(0)
        return [(node.id, slot) for slot in sorted(slots)] if slots else []

    def is_one_kernel(self) -> bool:
        """Return whether one native kernel can compute all nodes of the group together."""
        if self.kind.is_kernel is None:
            self.kind.is_kernel = self._builds_kernel()
        return self.kind.is_kernel

    def _builds_kernel(self) -> bool:
        unit = self.unit
        fusion = Fusion()
        try:
            values = []
            for key, slot in self.inputs:
                source = _node(unit, key)
                shape: Any = unit.shapes[key][slot].sizes
                values.append(fusion.input(source.output_types[slot], shape))
            for member in self.members:
                sources = [fusion.stored(values[number]) for number in member.sources]
                with literals_refused():
                    values += build(fusion, member.expressions, member.signature, sources)
            for number, (key, slot) in zip(self.stores, self.outputs):
                value = values[number]
                fusion.output(value, _stored_shape(fusion.shape(value), unit, key, slot))
            fusion.finish()
        except (NotNativeError, NotImplementedError, ValueError):
            return False
        return True


def _stored_shape(
    shape: tuple[int, ...], unit: Unit, key: int, slot: int
) -> tuple[int, ...] | None:
    """Return the shape of an output if the output has more elements than `shape`, the shape in
    which the kernel computes the value. Otherwise return None.
    """
    stored = unit.shapes[key][slot]
    return None if stored.num_elements() == prod(shape) else stored.sizes  # type: ignore[return-value]


def rewrite(record: Record, tiled: bool) -> tuple[Node, str]:
    """Replace the nodes of the group by one `_Fused`. Return the `_Fused` node and a line for the
    report.

    Args:
      tiled: whether NumPy computes the group tile by tile if there is no native kernel.
    """
    unit, group = record.unit, record.group
    fused = _add(unit, record, tiled)
    names = ", ".join(node.name for node in group)
    unit.fused[fused.id] = [(node.name, node.type, node.origin) for node in group]
    shapes = [unit.shapes[node.id][0] for node in group]
    shape = max(shapes, key=lambda shape: hint(shape.num_elements() or 0))
    unit.remove(*group)
    count = len(record.outputs)
    return fused, f"{fused.name}: {len(group)} ops over {shape}, {count} results: {names}"


def _add(unit: Unit, record: Record, tiled: bool) -> Node:
    """Add the `_Fused` node to the graph, with all edges into the group and out of the group."""
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
        "stores": record.stores,
        "tiled": tiled,
        "layout": record.kind.layout,
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
    """Move the group's incoming control edges and its outgoing edges to the `_Fused` node."""
    graph = unit.graph
    for node in record.group:
        if len(node._in) > len(node.input_types):
            outside = [source for source in node.control_inputs if source.id not in record.inside]
            unit.add_control_inputs(fused, outside)
    for edge in record.leaving:
        if not edge.dst.is_op:
            continue
        if edge.is_control:
            graph.add_control_edge(fused, edge.dst)
        else:
            slot = record.outputs.index((edge.src.id, edge.src_output))
            graph.update_edge(fused, slot, edge.dst, edge.dst_input)
