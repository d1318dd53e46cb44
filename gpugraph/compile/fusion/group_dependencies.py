"""Groups of ops under construction, with the dependencies between groups while the groups grow.

A set of groups is an integer with one bit for each group. If other groups were merged into a group,
the group has the bits of those groups too. A node's note records the groups on which the node
depends, and the time at which the note was written. Time is a counter. It is incremented whenever a
group gets more dependencies, if some node or group depends on this group (`_depended_on` has its
bits). Between two calls of `Dependencies.put` these invariants are true:

  - For a group that is not merged into another one, `above` is the set of all other groups on which
    the group depends, directly or through further groups and nodes.
  - A node depends on the groups in its note, and on the dependencies of these groups.
  - A note of the current time is complete: it also contains the dependencies of its groups.

So a node's note is updated only when it is read, and only if some group has changed since the note
was written.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from gpugraph.base.shapes import equal_sizes
from gpugraph.compile.analysis.fusibility import Shape, is_large
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.runtime_graph import Edge, Node, NodeClass


@dataclass(eq=False, slots=True)
class Group:
    """Nodes that will run as one step over an iteration space of `sizes`. Each node follows its
    inputs.

    Args:
      key: the device, loop and guard. Only groups with equal keys can be merged.
      bits: the group's own bit, and the bits of the groups that were merged into it.
      above: the bits of all groups on which the group depends.
      has_taken_in: whether another group was merged into this group.
      into: the group into which this group was merged, or None.
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
        """Return the group into which this group was merged, directly or through other mergers. If
        this group was not merged, return the group itself.
        """
        group = self
        while group.into is not None:
            group = group.into
        return group

    def is_tiled(self) -> bool:
        """Return whether NumPy computes the group tile by tile if there is no native kernel."""
        return self.is_elementwise and is_large(self.sizes)

    def take_in(self, other: Group) -> None:
        """Merge another group into this group."""
        self.nodes += other.nodes
        self.has_taken_in = True
        self.bits |= other.bits
        self.above = (self.above | other.above) & ~self.bits
        self.is_elementwise &= other.is_elementwise and equal_sizes(self.sizes, other.sizes)
        other.into = self


@dataclass(slots=True)
class _Note:
    """The bits of the groups on which a node depends, and the time at which the note was
    written.
    """

    bits: int
    time: int


class Dependencies:
    """All groups, and the groups on which each node and each group depends. A node must be added
    after its inputs.
    """

    def __init__(self) -> None:
        self.groups: list[Group] = []  # the group with bit i at index i
        self.group_of: dict[int, Group] = {}  # by node id; `whole` gives the current one
        self._notes: dict[int, _Note] = {}  # by node id
        self._time = 0
        self._depended_on = 0  # the groups on which some node or group depends
        self._of_loop: dict[Frame, int] = {}  # the dependencies of all of its Enters

    def new_group(self, key: Hashable, sizes: Shape) -> Group:
        """Add and return a new group without nodes."""
        group = Group(key, sizes, [], 1 << len(self.groups), True)
        self.groups.append(group)
        return group

    def note_alone(self, node: Node) -> None:
        """Record the dependencies of a node that is in no group. Back edges into a loop's Merge are
        ignored.
        """
        is_merge = node.node_class is NodeClass.MERGE
        bits = 0
        for edge in node._in:
            if not (is_merge and edge.is_back_edge):
                bits |= self.reach(edge.src)
        self._notes[node.id] = _Note(bits, self._time)
        self._depended_on |= bits

    def note(self, node: Node, edges: Iterable[Edge]) -> tuple[list[int], list[Group | None], int]:
        """Record the dependencies of a node that may join a group.

        Return three results. The first contains, for each edge, the bits of the groups on which the
        node depends through it. The second contains, for each edge, the group of its source or
        None. The third is the union of all these bits.

        Args:
          edges: all edges into the node.
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
        """If the node is an Enter, add its dependencies to those of the loop. If it is an Exit, add
        the dependencies of all Enters to those of the Exit, because a loop runs as a whole.
        """
        note = self._notes[node.id]
        if node.node_class is NodeClass.ENTER:
            self._of_loop[frame] = self._of_loop.get(frame, 0) | note.bits
        elif node.node_class is NodeClass.EXIT:
            note.bits |= self._of_loop[frame]
            note.time = -1  # the dependencies of the loop may be incomplete by now

    def reach(self, node: Node) -> int:
        """Return the bits of a node's group and of all groups on which the node depends."""
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
        """Return the bits of these groups and of all groups on which they depend."""
        todo = closure = bits
        while todo:
            group = self.groups[todo.bit_length() - 1].whole()
            closure |= group.bits | group.above
            todo &= ~group.bits
        return closure

    def put(self, node: Node, reach: int, group: Group, has_taken_in: bool) -> None:
        """Add the node to the group.

        Args:
          reach: the bits of all groups on which the node depends.
          has_taken_in: whether the node caused other groups to be merged into this group.
        """
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
