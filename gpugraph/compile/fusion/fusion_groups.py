"""Fuse: groups of ops become one step each.

It looks at the whole placed graph, since fusing inside one device's partition can close a cycle
through another device. An op joins the groups of what it reads where

  - all go over the same space (`fusible`), on the same device, in the same loop and under the
    same condition; what has one number a row may be with what has a row of them,
  - the value that it takes is known within a kernel: a sum over all rows isn't,
  - and no other input of the op depends on the group (the group stays convex).

With a C compiler each group becomes one native kernel, at first by its ops' own kernels. Without
one only large elementwise tensors are fused, and go tile by tile: small ones gain nothing, for they
are in the cache in any case. `OptimizerOptions.opt_level` L0 leaves every op a step of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from gpugraph.compile.analysis.flow_analysis import flow_of, has_control_flow
from gpugraph.compile.analysis.fusibility import Said, Shape, Space, fusible, is_large, kernels_on
from gpugraph.compile.fusion.fused_node import Record, rewrite
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.compile.unit.loop_levels import loops_whole
from gpugraph.config import OptimizerOptions
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

MOST = 256
"""What a group may weigh: a compiler's time grows faster than the text."""

HEAVY = {"Sin": 16, "Cos": 16, "Tan": 16, "Pow": 8, "Erf": 4}
"""What ops weigh whose functions are long; all others 1."""


@dataclass(eq=False)
class Group:
    """Nodes that run as one, in an order of inputs first. `bits` are its own and those of the
    groups it took in, `above` those of all groups that it depends on."""

    key: Hashable
    sizes: Shape
    nodes: list[Node]
    bits: int
    is_elementwise: bool
    above: int = 0
    into: Group | None = field(default=None)

    def whole(self) -> Group:
        """The group that this one is part of by now."""
        group = self
        while group.into is not None:
            group = group.into
        return group

    def is_tiled(self) -> bool:
        """Whether it goes tile by tile where there is no native kernel."""
        return self.is_elementwise and is_large(self.sizes)


def fuse(unit: Unit) -> None:
    """Replaces the nodes of each group of two or more by one `_Fused`."""
    with unit.report("fuse") as say:
        options = unit.target.config.graph_options.optimizer_options
        if options.opt_level == OptimizerOptions.L0:
            say("switched off: opt_level is L0", ())
            return
        native = jit(unit.target.config)
        lines: list[str] = []
        count = fused = 0
        search = _Search(unit, kernels_on(unit, native.is_on))
        for group in search.groups():
            for record in _kernels(search, group):
                lines.append(rewrite(record, group.is_tiled()))
                count, fused = count + len(record.group), fused + 1
        done = f"{count} ops became {fused} fused steps" if fused else "nothing to fuse"
        say(done if native.is_on else f"{done} (no native kernels: {native.reason})", lines)


def grouping(unit: Unit) -> Mapping[int, Group]:
    """By node id, the group that each op would be in if the graph stayed as it is."""
    if unit.target.config.graph_options.optimizer_options.opt_level == OptimizerOptions.L0:
        return {}
    search = _Search(unit, kernels_on(unit, jit(unit.target.config).is_on))
    search.groups()
    return {node: group.whole() for node, group in search.group_of.items()}


def _kernels(search: _Search, group: Group) -> Iterator[Record]:
    """The group, in as few parts as can be one kernel each."""
    todo = [group.nodes]
    while todo:
        nodes = todo.pop()
        if len(nodes) < 2:
            continue
        if sum(HEAVY.get(node.type, 1) for node in nodes) <= MOST:
            record = Record(search.unit, nodes, search.signatures)
            if not search.native[nodes[0].assigned_device] or record.is_one_kernel():
                yield record
                continue
        half = len(nodes) // 2
        todo += [nodes[half:], nodes[:half]]


class _Search:
    """One walk over the graph, inputs first."""

    def __init__(self, unit: Unit, native: Mapping[str, bool]) -> None:
        self.unit = unit
        self.native = native
        self.found: list[Group] = []
        self.group_of: dict[int, Group] = {}
        self.spaces: dict[int, Space] = {}
        self.signatures: dict[int, Said] = {}
        self.at: dict[int, int] = {}  # when the walk came to a node
        self.above: dict[int, int] = {}  # by node id: the bits of the groups it depends on
        self.known_at: dict[int, int] = {}  # the turn at which that was so
        self.turn = 0  # counts how often a group grew on which others depend
        self.depended_on = 0
        self.loops: dict[Frame, int] = {}  # the same of a loop, which runs as a whole

    def groups(self) -> list[Group]:
        """What may be fused, each with its nodes in an order of inputs first."""
        unit = self.unit
        for node in unit.graph.op_nodes():
            found = fusible(unit, node, self.native)
            if found is not None:
                self.signatures[node.id], self.spaces[node.id] = found
        if len(self.spaces) < 2:
            return []
        if has_control_flow(unit):
            flow = flow_of(unit)
            for node in loops_whole(unit.graph):
                frame = flow.frames.at(node)
                self._visit(node, (frame, flow.guards[node.id]))
                self._note_loop(node, frame)
        else:
            for node in topological_order(unit.graph):
                self._visit(node, None)
        groups = [each for each in self.found if each.into is None and len(each.nodes) > 1]
        for group in groups:
            group.nodes.sort(key=lambda node: self.at[node.id])
        return groups

    def _visit(self, node: Node, place: Hashable) -> None:
        self.at[node.id] = len(self.at)
        below = 0
        for edge in node._in:
            if not edge.is_back_edge:
                below |= self._reach(edge.src)
        self.above[node.id] = below
        self.known_at[node.id] = self.turn
        if node.id not in self.spaces:
            self.depended_on |= below
        else:
            self._join(node, place)

    def _note_loop(self, node: Node, frame: Frame) -> None:
        """What any Enter of a loop depends on, all its Exits do."""
        if node.node_class is NodeClass.ENTER:
            self.loops[frame] = self.loops.get(frame, 0) | self.above[node.id]
        elif node.node_class is NodeClass.EXIT:
            self.above[node.id] |= self.loops[frame]
            self.known_at[node.id] = -1  # what the loop depends on may depend on more by now

    def _reach(self, node: Node) -> int:
        """The bits of the groups that a node is in or depends on, by what these are now."""
        if self.known_at.get(node.id, self.turn) != self.turn:
            self.above[node.id] = self._closed(self.above[node.id])
            self.known_at[node.id] = self.turn
        found = self.above.get(node.id, 0)
        group = self.group_of.get(node.id)
        if group is not None:
            whole = group.whole()
            found |= whole.bits | whole.above
        return found

    def _closed(self, bits: int) -> int:
        """The groups, and all that they depend on by now."""
        todo = found = bits
        while todo:
            each = self.found[todo.bit_length() - 1].whole()
            found |= each.bits | each.above
            todo &= ~each.bits
        return found

    def _tell(self, grown: Group) -> None:
        """Who depends on a group depends on what it has come to depend on."""
        if not grown.bits & self.depended_on:
            return
        self.turn += 1
        for each in self.found:
            if each.into is None and each.above & grown.bits:
                each.above |= (grown.above | grown.bits) & ~each.bits

    def _join(self, node: Node, place: Hashable) -> None:
        """Puts the node into the groups of its inputs, where they stay convex."""
        space = self.spaces[node.id]
        key = (node.assigned_device, place)
        joined: Group | None = None
        merged = False
        sizes = space.sizes
        for edge in node.input_edges():
            found = self.group_of.get(edge.src.id)
            group = found.whole() if found is not None else None
            if group is None or group is joined or group.key != key:
                continue
            if joined is not None:
                sizes = joined.sizes
            common = _common(group.sizes, sizes, self.native[node.assigned_device])
            if common is None or not self._is_free(node, group, joined):
                continue
            sizes = common
            if joined is None:
                joined = group
            else:
                _take_in(joined, group)
                merged = True
            joined.sizes = sizes
        if joined is None:
            joined = Group(key, sizes, [], 1 << len(self.found), True)
            self.found.append(joined)
        joined.nodes.append(node)
        joined.is_elementwise = joined.is_elementwise and self._is_even(space, joined)
        new = self._reach(node) & ~joined.bits
        self.group_of[node.id] = joined
        self.depended_on |= new
        if new & ~joined.above or merged:
            joined.above |= new
            self._tell(joined)

    def _is_even(self, space: Space, group: Group) -> bool:
        return space.is_elementwise and space.sizes == group.sizes

    def _is_free(self, node: Node, group: Group, joined: Group | None) -> bool:
        """Whether no way from the group to the node, or to what it joined, leads through others."""
        for edge in node._in:
            if edge.is_back_edge:
                continue
            source = self.group_of.get(edge.src.id)
            whole = source.whole() if source is not None else None
            if whole is not None and (whole is group or whole is joined):
                if self._is_inside(edge):
                    continue
                return False
            if self._reach(edge.src) & group.bits:
                return False
        if joined is None:
            return True
        return not (joined.above & group.bits or group.above & joined.bits)

    def _is_inside(self, edge: Edge) -> bool:
        """Whether a kernel knows the value before all is done."""
        return edge.is_control or self.spaces[edge.src.id].inside[edge.src_output]


def _common(one: Shape, other: Shape, native: bool) -> Shape | None:
    """The space of both, if one kernel may go over them."""
    if one == other:
        return one
    if not native or len(one) != len(other) or not one or one[:-1] != other[:-1]:
        return None
    if 1 not in (one[-1], other[-1]):
        return None
    return max(one, other)


def _take_in(joined: Group, group: Group) -> None:
    joined.nodes += group.nodes
    joined.bits |= group.bits
    joined.above = (joined.above | group.above) & ~joined.bits
    joined.is_elementwise = (
        joined.is_elementwise and group.is_elementwise and joined.sizes == group.sizes
    )
    group.into = joined
