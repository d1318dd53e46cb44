"""The paths of a variable's value from a read of the variable to the users of the value. Paths may
lead through branches and into loops.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.loop_frames import Frame, loop_frames
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass


class ReadPaths:
    """The paths from reads of variables to their users, in the graph of one unit."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.frames = loop_frames(unit.graph)
        self._entered: dict[tuple[int, int, Frame], Node] = {}
        self._sides: dict[tuple[int, int], Node] = {}

    def users(self, read: Node, side: Node | None) -> Iterator[tuple[Edge, Node | None]]:
        """Yield the edges to all users of a read, including those that are reached through Switches
        and loop-invariant Enters. `side` is alive if and only if the branch of the read is taken,
        or None outside of branches.

        Each edge is paired with a node that is alive if and only if the last Switch on the path
        takes the branch that leads to the user. If there is no Switch on the path, the edge is
        paired with `side`.
        """
        stack: list[tuple[Node, int, Node | None]] = [(read, 0, side)]
        while stack:
            node, slot, side = stack.pop()
            for edge in list(node._out):
                if edge.src_output != slot:
                    continue
                after = edge.dst
                if after.node_class is NodeClass.SWITCH and edge.dst_input == 0:
                    stack += [(after, output, self._side(after, output)) for output in (0, 1)]
                elif after.node_class is NodeClass.ENTER and after.attrs.get("is_constant"):
                    stack.append((after, 0, None))
                else:
                    yield edge, side

    def frame_of(self, edge: Edge) -> Frame:
        """Return the frame in which the value of an edge is read. If the reader is an Enter, this
        is the frame outside of its loop.
        """
        frame = self.frames.at(edge.dst)
        if edge.dst.node_class is not NodeClass.ENTER:
            return frame
        assert frame.parent is not None
        return frame.parent

    def repeats(self, frame: Frame, write: Node) -> bool:
        """Return whether a loop contains both the write and `frame`. The loop may be `frame`
        itself.
        """
        loops = set(frame.up()) - {self.frames.root}
        return not loops.isdisjoint(self.frames.at(write).up())

    def leads(self, write: Node, read: Node) -> bool:
        """Return whether `read` depends on `write`."""
        stack, seen = [read], {read.id}
        while stack:
            node = stack.pop()
            if node is write:
                return True
            for edge in node._in:
                if edge.src.is_op and edge.src.id not in seen and not edge.is_back_edge:
                    seen.add(edge.src.id)
                    stack.append(edge.src)
        return False

    def reference(self, read: Node, frame: Frame) -> tuple[Node, int]:
        """Return an output that is available in `frame` and is the same reference as the input of
        `read`. If `read` is outside of the loop of `frame`, a RefEnter is added.
        """
        return self._entering(read.input_edge(0), self.frames.at(read), frame)

    def waiting(self, view: Node, read: Node, again: Node, frame: Frame) -> Node:
        """Return the node that must wait so that `again`, a copy of `read` in `frame`, runs after
        `view`: the copy, or the RefEnter of the loop around it in the frame of the view.
        """
        held = self.frames.at(view)
        inner = next((loop for loop in frame.up() if loop.parent is held), None)
        return again if frame is held or inner is None else self.reference(read, inner)[0]

    def repeated_view(self, view: Edge, value: Node, frame: Frame) -> Node:
        """Add a copy of the view at the end of an edge, of `value`, which is in `frame`."""
        graph, node = self.unit.graph, view.dst
        copy = graph.copy_node(node)
        graph.add_edge(value, 0, copy, view.dst_input)
        for edge in node._in:
            if not edge.is_control and edge.dst_input != view.dst_input:
                source, slot = self._entering(edge, self.frames.at(node), frame)
                graph.add_edge(source, slot, copy, edge.dst_input)
        return copy

    def _entering(self, edge: Edge, held: Frame, frame: Frame) -> tuple[Node, int]:
        """Return the tensor of an edge of the frame `held` in `frame`; add Enters for the loops
        between.
        """
        if frame is held or frame.parent is None:
            return edge.src, edge.src_output
        key = (edge.src.id, edge.src_output, frame)
        if key not in self._entered:
            source, slot = self._entering(edge, held, frame.parent)
            self._entered[key] = self._enter(source, slot, frame)
        return self._entered[key], 0

    def _enter(self, source: Node, slot: int, frame: Frame) -> Node:
        dtype = source.output_types[slot]
        attrs = {
            "T": dtype.base_dtype,
            "frame_name": frame.enters[0].attrs["frame_name"],
            "is_constant": True,
            "parallel_iterations": 1,
        }
        entered = self.unit.add_op(
            "RefEnter" if dtype.is_ref_dtype else "Enter",
            source,
            [(source, slot)],
            attrs=attrs,
            output_types=[dtype],
            suffix="Enter",
            device="",
        )
        entered.input_types = (dtype,)
        self.frames.of[entered.id] = frame
        return entered

    def _side(self, switch: Node, slot: int) -> Node:
        """Return a node that is alive if and only if this output of a Switch is alive. The node is
        an Identity of the output.
        """
        key = (switch.id, slot)
        if key not in self._sides:
            side = self._sides[key] = self.unit.add_identity(switch, slot, "side")
            self.frames.of[side.id] = self.frames.at(switch)
        return self._sides[key]
