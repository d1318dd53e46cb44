"""Fuse: groups of elementwise ops over large tensors become one step, which goes tile by tile.

It looks at the whole placed graph, since fusing inside one device's partition can close a cycle
through another device. An op joins a group of what it reads where

  - both are elementwise over tensors of one static shape, of LARGE elements or more,
  - on the same host device, in the same loop and under the same condition,
  - and no other input of the op depends on the group (the group stays convex).

Small tensors gain nothing: they are in the cache in any case. `OptimizerOptions.opt_level` L0
leaves every op a step of its own.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from gpugraph.compile.flow import flow_of, has_control_flow
from gpugraph.compile.rewrite import rewrite
from gpugraph.compile.schedule import loops_whole
from gpugraph.compile.unit import Unit
from gpugraph.config import OptimizerOptions
from gpugraph.graph.frames import Frame
from gpugraph.graph.runtime_graph import Node, NodeClass
from gpugraph.graph.walks import topological_order
from gpugraph.kernel import Elementwise, reference
from gpugraph.ops.kernels import find_kernel

__all__ = ["LARGE", "Group", "fuse"]

LARGE = 1 << 18
"""Elements from which a group is worth its tiles: smaller tensors stay in the cache anyway."""

_SHAPED = {"Select"}
"""Ops whose inputs don't broadcast as NumPy's do."""
_RAISING = {"Div", "FloorDiv", "FloorMod", "Mod", "Pow", "TruncateDiv", "TruncateMod"}
"""Ops that refuse some integers: they stay steps of their own, which errors name."""


@dataclass(eq=False)
class Group:
    """Nodes that run as one, in an order of inputs first. `bits` are its own and those of the
    groups it took in, `above` those of all groups that it depends on."""

    key: Hashable
    nodes: list[Node]
    bits: int
    above: int = 0
    into: Group | None = field(default=None)

    def whole(self) -> Group:
        """The group that this one is part of by now."""
        group = self
        while group.into is not None:
            group = group.into
        return group


def fuse(unit: Unit) -> None:
    """Replaces the nodes of each group of two or more by one `_Fused`."""
    with unit.report("fuse") as say:
        options = unit.target.config.graph_options.optimizer_options
        if options.opt_level == OptimizerOptions.L0:
            say("switched off: opt_level is L0", ())
            return
        groups = [group for group in _Search(unit).groups() if len(group.nodes) > 1]
        lines = [rewrite(unit, group.nodes) for group in groups]
        count = sum(len(group.nodes) for group in groups)
        say(f"{count} ops became {len(groups)} fused steps" if groups else "nothing to fuse", lines)


class _Search:
    """One walk over the graph, inputs first."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.found: list[Group] = []
        self.group_of: dict[int, Group] = {}
        self.above: dict[int, int] = {}  # by node id: the bits of the groups it depends on
        self.loops: dict[Frame, int] = {}  # the same of a loop, which runs as a whole

    def groups(self) -> list[Group]:
        unit = self.unit
        nodes = [node for node in unit.graph.op_nodes() if self._is_large(node)]
        if len(nodes) < 2:
            return []
        large = {node.id for node in nodes}
        if has_control_flow(unit):
            flow = flow_of(unit)
            for node in loops_whole(unit.graph):
                frame = flow.frames.at(node)
                self._visit(node, (frame, flow.guards[node.id]), node.id in large)
                self._note_loop(node, frame)
        else:
            for node in topological_order(unit.graph):
                self._visit(node, None, node.id in large)
        return [group for group in self.found if group.into is None]

    def _is_large(self, node: Node) -> bool:
        """Whether the node is elementwise over a large tensor on a host device."""
        entry = find_kernel(node.type, "GPU", node.attrs)
        if entry is None or not isinstance(entry.kernel, Elementwise):
            return False
        shape = self.unit.shapes[node.id][0]
        count = shape.num_elements()
        if count is None or count < LARGE or node.op_def.is_stateful or node.type in _SHAPED:
            return False
        if node.type in _RAISING and node.output_types[0].is_integer:
            return False
        call = reference(self.unit.kernel(node))
        plain = not (call.dynamic or call.late or node.op_def.host_inputs)
        return plain and self.unit.device_types[node.assigned_device] == "CPU" and self._fits(node)

    def _fits(self, node: Node) -> bool:
        """Whether each input is of the output's shape, or broadcasts to it."""
        sizes = self.unit.shapes[node.id][0].sizes
        assert sizes is not None
        for edge in node.input_edges():
            given = self.unit.shapes[edge.src.id][edge.src_output].sizes
            if given is None or None in given or len(given) > len(sizes):
                return False
            if edge.src.output_types[edge.src_output].is_ref_dtype:
                return False
            if any(a not in (b, 1) for a, b in zip(given[::-1], sizes[::-1])):
                return False
        return True

    def _visit(self, node: Node, place: Hashable, is_large: bool) -> None:
        below = 0
        for edge in node._in:
            if not edge.is_back_edge:
                below |= self._reach(edge.src)
        self.above[node.id] = below
        if is_large:
            self._join(node, place)

    def _note_loop(self, node: Node, frame: Frame) -> None:
        """What any Enter of a loop depends on, all its Exits do."""
        if node.node_class is NodeClass.ENTER:
            self.loops[frame] = self.loops.get(frame, 0) | self.above[node.id]
        elif node.node_class is NodeClass.EXIT:
            self.above[node.id] |= self.loops[frame]

    def _reach(self, node: Node) -> int:
        """The bits of the groups that a node is in or depends on."""
        group = self.group_of.get(node.id)
        return self.above.get(node.id, 0) | (group.whole().bits if group is not None else 0)

    def _join(self, node: Node, place: Hashable) -> None:
        """Puts the node into the groups of its inputs, where they stay convex."""
        shape = self.unit.shapes[node.id][0].sizes
        key = (node.assigned_device, place, shape)
        joined: Group | None = None
        for edge in node.input_edges():
            found = self.group_of.get(edge.src.id)
            group = found.whole() if found is not None else None
            if group is None or group is joined or group.key != key:
                continue
            if not self._is_free(node, group, joined):
                continue
            if joined is None:
                joined = group
            else:
                _take_in(joined, group)
        if joined is None:
            joined = Group(key, [], 1 << len(self.found))
            self.found.append(joined)
        joined.nodes.append(node)
        joined.above |= self.above[node.id] & ~joined.bits
        self.group_of[node.id] = joined

    def _is_free(self, node: Node, group: Group, joined: Group | None) -> bool:
        """Whether no way from the group to the node, or to what it joined, leads through others."""
        for edge in node._in:
            if edge.is_back_edge:
                continue
            source = self.group_of.get(edge.src.id)
            whole = source.whole() if source is not None else None
            if whole is group or (joined is not None and whole is joined):
                continue
            if self._reach(edge.src) & group.bits:
                return False
        if joined is None:
            return True
        return not (joined.above & group.bits or group.above & joined.bits)


def _take_in(joined: Group, group: Group) -> None:
    joined.nodes += group.nodes
    joined.bits |= group.bits
    joined.above = (joined.above | group.above) & ~joined.bits
    group.into = joined
