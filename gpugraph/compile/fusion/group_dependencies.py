"""Groups of ops in the making, and which groups each node depends on, while groups grow.

A set of groups is an integer with a bit for each. A group that took in others has their bits too.
Between two calls of `Dependencies.put` holds:

  - `above` of a group that is part of no other is all groups that it depends on, over any path,
    without itself.
  - A node depends on the groups that are noted for it, and on those that these depend on. Where
    its note is of the current time, the note has them all.
  - The time moves on whenever a group comes to depend on more, if a node or a group depends on it
    (`_depended_on` has one of its bits). So a note of the current time misses nothing.

What a node depends on is therefore brought up to date only where it is needed, and only if some
group has changed since.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from gpugraph.compile.analysis.fusibility import Shape, is_large
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.runtime_graph import Edge, Node, NodeClass


@dataclass(eq=False, slots=True)
class Group:
    """Nodes that run as one, in an order of inputs first, over a space of `sizes`.

    `bits` are its own and those of the groups it took in, `above` those of all groups that it
    depends on. `key` is what groups must agree in to become one.
    """

    key: Hashable
    sizes: Shape
    nodes: list[Node]
    bits: int
    is_elementwise: bool
    above: int = 0
    has_taken_in: bool = False
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

    def take_in(self, other: Group) -> None:
        """Makes the other group part of this one."""
        self.nodes += other.nodes
        self.has_taken_in = True
        self.bits |= other.bits
        self.above = (self.above | other.above) & ~self.bits
        self.is_elementwise &= other.is_elementwise and self.sizes == other.sizes
        other.into = self


@dataclass(slots=True)
class _Note:
    """The groups that a node depends on, as bits, by what was so at a time."""

    bits: int
    time: int


class Dependencies:
    """All groups, and on which of them nodes and groups depend. Nodes come inputs first."""

    def __init__(self) -> None:
        self.groups: list[Group] = []  # by the number of their bit
        self.group_of: dict[int, Group] = {}  # by node id; perhaps part of another by now
        self._notes: dict[int, _Note] = {}  # by node id
        self._time = 0
        self._depended_on = 0  # the groups on which a node or a group depends
        self._of_loop: dict[Frame, int] = {}  # what a loop depends on: it runs as a whole

    def new_group(self, key: Hashable, sizes: Shape) -> Group:
        """A group without nodes."""
        group = Group(key, sizes, [], 1 << len(self.groups), True)
        self.groups.append(group)
        return group

    def note_alone(self, node: Node) -> None:
        """Notes what a node depends on that stays outside of groups; nothing comes over an edge
        that closes a loop."""
        is_merge = node.node_class is NodeClass.MERGE
        bits = 0
        for edge in node._in:
            if not (is_merge and edge.is_back_edge):
                bits |= self.reach(edge.src)
        self._notes[node.id] = _Note(bits, self._time)
        self._depended_on |= bits

    def note(self, node: Node, edges: Iterable[Edge]) -> tuple[list[int], list[Group | None], int]:
        """Notes what a node depends on that may join a group.

        edges: all edges into the node. Returns what it depends on by each, the groups at their
        starts, and all that it depends on.
        """
        reach, groups, bits = [], [], 0
        group_of = self.group_of
        for edge in edges:
            part = self.reach(edge.src)
            bits |= part
            reach.append(part)
            groups.append(group_of.get(edge.src.id))  # whole since `reach`
        self._notes[node.id] = _Note(bits, self._time)
        return reach, groups, bits

    def note_loop(self, node: Node, frame: Frame) -> None:
        """Notes that all Exits of a loop depend on what any of its Enters depends on."""
        note = self._notes[node.id]
        if node.node_class is NodeClass.ENTER:
            self._of_loop[frame] = self._of_loop.get(frame, 0) | note.bits
        elif node.node_class is NodeClass.EXIT:
            note.bits |= self._of_loop[frame]
            note.time = -1  # what the loop depends on may depend on more by now

    def reach(self, node: Node) -> int:
        """The bits of the group that a node is in and of all that it depends on."""
        bits, key = 0, node.id
        note = self._notes.get(key)
        if note is not None:
            if note.time != self._time:
                note.bits, note.time = self._closure(note.bits), self._time
            bits = note.bits
        group = self.group_of.get(key)
        if group is None:
            return bits
        if group.into is not None:
            group = self.group_of[key] = group.whole()
        return bits | group.bits | group.above

    def _closure(self, bits: int) -> int:
        """The groups, and all that they depend on by now."""
        todo = closure = bits
        while todo:
            group = self.groups[todo.bit_length() - 1].whole()
            closure |= group.bits | group.above
            todo &= ~group.bits
        return closure

    def put(self, node: Node, reach: int, group: Group, has_taken_in: bool) -> None:
        """Makes the node part of the group, which may have taken in others for it. reach: all that
        the node depends on."""
        group.nodes.append(node)
        above = reach & ~group.bits
        self.group_of[node.id] = group
        self._depended_on |= above
        if above & ~group.above or has_taken_in:
            group.above |= above
            self._pass_on(group)

    def _pass_on(self, grown: Group) -> None:
        """Makes all that depends on a group depend on what that has come to depend on."""
        if not grown.bits & self._depended_on:
            return
        self._time += 1
        for group in self.groups:
            if group.into is None and group.above & grown.bits:
                group.above |= (grown.above | grown.bits) & ~group.bits
