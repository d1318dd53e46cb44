"""Separate reads, so that an op that runs after a write of a variable reads the new value.

A reference variable is created with an Identity, `name/read`, which all its users share. In a run
that also writes the variable, that read may come before or after the write. A user that the program
orders after the write (by a control dependency, or by an input that depends on the write) expects
the new value. In TensorFlow it gets the new value, because the output of the Identity is the
variable's memory. Here such a user gets a separate read, after the writes that it follows. So does
a user of a view of the shared read (`tf.identity(v)`, a reshape), which is the same memory there;
the view is repeated with the read.

Users that follow no write keep the shared read, which is a snapshot. So do users of a read on which
an assignment with `validate_shape=False` depends, since it replaces the memory. A read that the
program creates itself (`read_value`) is always a snapshot (see
`compile/memory/memory_planning.py`). If a loop writes the variable, users see the value that the
previous iteration has written, so each iteration reads the variable again.

One traversal in topological order computes, for each node, the writes that precede it, as bits of
an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpugraph.compile.analysis.variable_references import references
from gpugraph.compile.lowering.read_paths import ReadPaths
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import TensorId, Unit, variable_key
from gpugraph.compile.unit.loop_levels import loops_whole
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.loop_frames import Frame, Frames, loop_frames
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass, RuntimeGraph
from gpugraph.ops.framework.op_declaration import DECLARATIONS

Key = tuple[str, str]


@compile_pass()
def reread(unit: Unit) -> Outcome:
    """Give a separate read to each user of a shared read that runs after a write, unless the shared
    read itself also runs after that write.
    """
    lines: list[str] = []
    if any(node.node_class is NodeClass.VARIABLE for node in unit.graph.op_nodes()):
        walk = _Walk(unit)
        if walk.reads:
            paths = ReadPaths(unit)
            for read, key in walk.reads:
                lines += _split(walk, read, key, paths)
    return f"{len(lines)} reads of variables were repeated after a write", lines


class _Walk:
    """One traversal in topological order. It numbers the writes of variables, and records for each
    node the writes that precede it.
    """

    def __init__(self, unit: Unit) -> None:
        self.writes: list[Node] = []
        self._written: dict[int, int] = {}  # node id -> the bit of the write that it performs
        self.after: dict[int, int] = {}  # node id -> the bits of the writes among its ancestors
        self.bits_of: dict[Key, int] = {}
        self.reads: list[tuple[Node, Key]] = []
        self._frames = Frames()
        self._in_loop: dict[Frame, int] = {}  # the bits of all writes in a loop
        order = self._inputs_first(unit.graph)
        roots = {key: variable_key(node) for key, node in references(order).items()}
        reads: list[tuple[Node, Key]] = []
        for node in order:
            bits = 0
            for edge in node._in:
                bits |= self.reached(edge.src)
            self.after[node.id] = bits
            if node.node_class is not NodeClass.VARIABLE:
                self._visit(node, roots, reads)
        self.reads = [(node, key) for node, key in reads if key in self.bits_of]

    def _inputs_first(self, graph: RuntimeGraph) -> list[Node]:
        if any(node.node_class is NodeClass.ENTER for node in graph.op_nodes()):
            self._frames = loop_frames(graph)
            return loops_whole(graph)
        return topological_order(graph)

    def reached(self, node: Node) -> int:
        """Return the bits of all writes among a node and its ancestors. For an Exit, include all
        writes in its loop.
        """
        bits = self.after.get(node.id, 0) | self.written(node)
        if node.node_class is NodeClass.EXIT:
            bits |= self._in_loop.get(self._frames.at(node), 0)
        return bits

    def written(self, node: Node) -> int:
        """Return the bits of the writes that a node performs."""
        return self._written.get(node.id, 0)

    def of(self, bits: int) -> list[Node]:
        """Return the nodes of the writes with these bits."""
        return [write for bit, write in enumerate(self.writes) if bits >> bit & 1]

    def _visit(self, node: Node, roots: dict[TensorId, Key], reads: list[tuple[Node, Key]]) -> None:
        decl = DECLARATIONS.get(node.type)
        for edge in node._in:
            key = None if edge.is_control else roots.get((edge.src.id, edge.src_output))
            if key is None or decl is None:
                continue
            if edge.dst_input in decl.memory.writes:
                bit = 1 << len(self.writes)
                self.writes.append(node)
                self._written[node.id] = self._written.get(node.id, 0) | bit
                for frame in self._frames.at(node).up():
                    self._in_loop[frame] = self._in_loop.get(frame, 0) | bit
                self.bits_of[key] = self.bits_of.get(key, 0) | bit
            is_copy = "/read/_" in node.name  # of a shared read, by `serial_updates`
            if node.is_identity and (is_copy or node.name == f"{edge.src.name}/read"):
                reads.append((node, key))


def _split(walk: _Walk, read: Node, key: Key, paths: ReadPaths) -> list[str]:
    """Add separate reads for some users of `read`, the shared read of the variable `key`, and
    return a report line for each.

    Each of these users must see a write that might happen after `read`, or is in a loop that writes
    the variable.
    """
    bits = walk.bits_of[key]
    seen = walk.after[read.id] & bits
    for write in walk.of(bits):
        if not write.attrs.get("validate_shape", True) and paths.leads(read, write):
            seen |= walk.written(write)
    users: dict[_UserPosition, list[Edge]] = {}
    stack: list[tuple[Edge, Node | None, _ViewPath]]
    stack = [(edge, side, _ViewPath()) for edge, side in paths.users(read, None)]
    while stack:
        edge, side, path = stack.pop()
        if edge.dst.id not in walk.after:
            continue
        frame = paths.frame_of(edge)
        missed = walk.after[edge.dst.id] & bits & ~seen
        again = frame is not path.frame and any(
            paths.repeats(frame, write) for write in walk.of(bits)
        )
        is_behind = bool(missed & ~path.seen) or again
        if is_behind:
            steps = [step for step in (*path.views, edge) if paths.frame_of(step) is frame]
            anchors = _anchors(walk, steps, missed)
            place = _UserPosition(frame, side, missed, anchors, path.views)
            users.setdefault(place, []).append(edge)
        if _leads_to_view(edge):
            state = (missed, frame) if is_behind else (path.seen, path.frame)
            path = _ViewPath((*path.views, edge), *state)
            stack += [(user, branch, path) for user, branch in paths.users(edge.dst, side)]
    lines = []
    for place, edges in users.items():
        later = [
            write for write in walk.of(bits & ~place.missed) if paths.repeats(place.frame, write)
        ]
        lines.append(_read_again(paths, read, place, edges, later))
    return lines


def _leads_to_view(edge: Edge) -> bool:
    """Return whether an edge leads to a view of its tensor, outside of control flow."""
    node = edge.dst
    if node.node_class not in (NodeClass.IDENTITY, NodeClass.OTHER):
        return False
    decl = DECLARATIONS.get(node.type)
    if decl is None or decl.op_def.is_stateful:
        return False
    return decl.memory.view.get(0) == edge.dst_input


class _ViewPath(NamedTuple):
    """The views between a read and a user.

    Args:
      views: the edges into the views.
      seen: the bits of the writes that the last repeated read on the path follows.
      frame: the loop of that read, or None.
    """

    views: tuple[Edge, ...] = ()
    seen: int = 0
    frame: Frame | None = None


class _UserPosition(NamedTuple):
    """The properties by which users are grouped. Users with equal properties share one new read.

    Args:
      frame: the loop that contains the users.
      side: a node that is alive if and only if the branch of the users is taken, or None.
      missed: the bits of the writes that precede the users but not the shared read.
      anchors: the inputs of the users that depend on these writes.
      views: the edges into the views between the read and the users.
    """

    frame: Frame
    side: Node | None
    missed: int
    anchors: frozenset[Node]
    views: tuple[Edge, ...]


def _anchors(walk: _Walk, path: Sequence[Edge], missed: int) -> frozenset[Node]:
    """Return the inputs of the user and of the views before it that depend on the writes `missed`.
    The new read waits for these inputs instead of the writes, because the writes may be in branches
    that are not taken.

    Args:
      path: the edges into the views, and the edge into the user.
    """
    others = [
        other.src
        for edge in path
        for other in edge.dst._in
        if other is not edge and (other.is_control or edge.dst.node_class is not NodeClass.MERGE)
    ]
    return frozenset(node for node in others if walk.reached(node) & missed)


def _read_again(
    paths: ReadPaths, read: Node, place: _UserPosition, edges: list[Edge], later: list[Node]
) -> str:
    """Add one read for the users with the properties `place`. The read runs after the writes that
    precede the users and before the writes `later`. Return a report line.
    """
    frame, side, _, anchors, views = place
    unit, graph = paths.unit, paths.unit.graph
    again = graph.copy_node(read)
    source, slot = paths.reference(read, frame)
    graph.add_edge(source, slot, again, 0)
    if frame is paths.frames.root:
        unit.add_control_inputs(again, read.control_inputs)
    if side is not None:
        graph.add_control_edge(side, again)
    unit.add_control_inputs(again, sorted(anchors, key=lambda node: node.id))
    if side is None and not anchors:  # else a dead read would make them dead
        for write in later:
            if paths.frames.at(write) is frame and not paths.leads(write, again):
                graph.add_control_edge(again, write)
    names = ", ".join(f"'{edge.dst.name}'" for edge in edges)
    value = again
    for view in views:
        if view.dst.control_inputs:  # what the view waits for happens too
            graph.add_control_edge(view.dst, paths.waiting(view.dst, read, again, frame))
        if not view.dst.is_identity:
            value = paths.repeated_view(view, value, frame)
    for edge in list(edges):
        graph.update_edge(value, 0, edge.dst, edge.dst_input)
    return f"{again.name}: for {names}"
