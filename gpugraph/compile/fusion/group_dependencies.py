"""Groups of ops under construction, and the groups that each node depends on, while groups grow.

A set of groups is an integer with a bit for each. A group that merged others has their bits too.
Between two calls of `Dependencies.put` these invariants hold:

  - `above` of a group that is not part of another is the set of all groups that it depends on, over
    any path, without itself.
  - A node depends on the groups in its note, and on their dependencies. If its note is of
    the current time, the note has them all.
  - The time advances whenever a group gets more dependencies, if a node or a group depends on it
    (`_depended_on` has one of its bits). So a note of the current time is complete.

The dependencies of a node are therefore updated only where they are needed, and only if some
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
    """Nodes that run as one, sorted inputs first, over an iteration space of `sizes`.

    `bits` are its own and those of the groups merged into it, `above` those of all groups that it
    depends on. Only groups of equal `key` can be merged.
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
        """Return the group that this one is part of now."""
        group = self
        while group.into is not None:
            group = group.into
        return group

    def is_tiled(self) -> bool:
        """Return whether it is computed tile by tile if there is no native kernel."""
        return self.is_elementwise and is_large(self.sizes)

    def take_in(self, other: Group) -> None:
        """Merge the other group into this one."""
        self.nodes += other.nodes
        self.has_taken_in = True
        self.bits |= other.bits
        self.above = (self.above | other.above) & ~self.bits
        self.is_elementwise &= other.is_elementwise and self.sizes == other.sizes
        other.into = self


@dataclass(slots=True)
class _Note:
    """The groups that a node depends on, as bits, valid at a time."""

    bits: int
    time: int


class Dependencies:
    """All groups, and the groups that nodes and groups depend on. Nodes are added inputs first."""

    def __init__(self) -> None:
        self.groups: list[Group] = []  # by the number of their bit
        self.group_of: dict[int, Group] = {}  # by node id; may have been merged into another
        self._notes: dict[int, _Note] = {}  # by node id
        self._time = 0
        self._depended_on = 0  # the groups that a node or a group depends on
        self._of_loop: dict[Frame, int] = {}  # dependencies of a loop, which runs as a whole

    def new_group(self, key: Hashable, sizes: Shape) -> Group:
        """Return a new group without nodes."""
        group = Group(key, sizes, [], 1 << len(self.groups), True)
        self.groups.append(group)
        return group

    def note_alone(self, node: Node) -> None:
        """Record the dependencies of a node outside of groups; an edge that closes a loop brings
        none."""
        is_merge = node.node_class is NodeClass.MERGE
        bits = 0
        for edge in node._in:
            if not (is_merge and edge.is_back_edge):
                bits |= self.reach(edge.src)
        self._notes[node.id] = _Note(bits, self._time)
        self._depended_on |= bits

    def note(self, node: Node, edges: Iterable[Edge]) -> tuple[list[int], list[Group | None], int]:
        """Record the dependencies of a node that may join a group.

        edges: all edges into the node. Returns the dependencies by each edge, the groups at the
        starts of the edges, and all dependencies.
        """
        reach, groups, bits = [], [], 0
        group_of = self.group_of
        for edge in edges:
            part = self.reach(edge.src)
            bits |= part
            reach.append(part)
            groups.append(group_of.get(edge.src.id))  # `reach` has replaced merged groups
        self._notes[node.id] = _Note(bits, self._time)
        return reach, groups, bits

    def note_loop(self, node: Node, frame: Frame) -> None:
        """Record that all Exits of a loop depend on the dependencies of all of its Enters."""
        note = self._notes[node.id]
        if node.node_class is NodeClass.ENTER:
            self._of_loop[frame] = self._of_loop.get(frame, 0) | note.bits
        elif node.node_class is NodeClass.EXIT:
            note.bits |= self._of_loop[frame]
            note.time = -1  # the dependencies of the loop may be incomplete by now

    def reach(self, node: Node) -> int:
        """Return the bits of a node's group and of all groups that it depends on."""
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
        """Return the groups, and all that they depend on now."""
        todo = closure = bits
        while todo:
            group = self.groups[todo.bit_length() - 1].whole()
            closure |= group.bits | group.above
            todo &= ~group.bits
        return closure

    def put(self, node: Node, reach: int, group: Group, has_taken_in: bool) -> None:
        """Add the node to the group, which may have merged others for it. reach: all groups that
        the node depends on."""
        group.nodes.append(node)
        above = reach & ~group.bits
        self.group_of[node.id] = group
        self._depended_on |= above
        if above & ~group.above or has_taken_in:
            group.above |= above
            self._pass_on(group)

    def _pass_on(self, grown: Group) -> None:
        """Propagate the new dependencies of a group to all groups that depend on it."""
        if not grown.bits & self._depended_on:
            return
        self._time += 1
        for group in self.groups:
            if group.into is None and group.above & grown.bits:
                group.above |= (grown.above | grown.bits) & ~group.bits
