"""Lifetimes: the last position in the order at which each tensor, or a view of it, is used.

A tensor that is computed outside of a loop and used inside must live until the loop ends, because
each iteration may use it. The next value of a loop variable must live until the iteration ends. The
initial value of a loop variable is needed only until the loop's Merges, which come first in the
loop. An Exit may be a view of a tensor of the loop. Then the tensor must live until the last use of
the Exit, which is after the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.graph.nodes.loop_frames import Frame, enters_once, is_loop_merge
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass


class Lifetimes:
    """The last position in the order at which each tensor is used.

    Args:
      views: a function that returns, for each output of a node, the input whose bytes the output
        may share.

    Attributes:
      extent: the position of the last use of each tensor.
      inner: the position of the last use inside the tensor's own loop, ignoring uses of an Exit.
    """

    def __init__(self, unit: Unit, views: Callable[[Node], Mapping[int, int]]) -> None:
        self.unit = unit
        self.flow = unit.flow
        self.position = unit.positions()
        self.end = len(unit.order)
        self.begins: dict[Frame, int] = {}
        if unit.flow is not None:
            self._find_begins(unit)
        self.extent: dict[TensorId, int] = {}
        self.inner: dict[TensorId, int] = {}
        self._fill(views)

    def _find_begins(self, unit: Unit) -> None:
        assert unit.flow is not None
        for position, node in enumerate(unit.order):
            for frame in unit.flow.frames.at(node).up():
                self.begins.setdefault(frame, position)

    def ends(self, frame: Frame) -> int:
        """Return the last position of an iteration of a loop. For the root frame, return the end of
        the order.
        """
        return self.end if frame.end is None else self.position[frame.end.id]

    def _fill(self, views: Callable[[Node], Mapping[int, int]]) -> None:
        recv_of = {send.id: self.position[recv.id] for send, recv in self.unit.send_recv_pairs}
        if self.flow is not None:
            for frame in self.flow.frames.loops():
                entered = [node for node in frame.enters if not enters_once(node)]
                for node in (*entered, *frame.next_iterations):
                    self.extent[node.id, 0] = self.inner[node.id, 0] = self.ends(frame)
        for node in reversed(self.unit.order):
            position = self.position[node.id]
            if node.node_class is NodeClass.RETVAL:
                position = self.end
            elif node.id in recv_of:
                position = recv_of[node.id]
            if self.flow is not None and node.id in self.flow.pred_of:
                self._keep(self.flow.pred_of[node.id], position)  # the predicate is read here
            seen = views(node)
            for edge in node._in:
                if not edge.is_control and not edge.is_back_edge:
                    self._use(node, edge, position, seen)

    def _keep(self, key: TensorId, position: int) -> None:
        self.extent[key] = max(position, self.extent.get(key, -1))
        self.inner[key] = max(position, self.inner.get(key, -1))

    def _use(self, node: Node, edge: Edge, position: int, views: Mapping[int, int]) -> None:
        """Record that `node` uses a tensor at `position`. If outputs of `node` are views of the
        tensor, also record the later uses by their readers.
        """
        key = (edge.src.id, edge.src_output)
        if self.flow is not None:
            position = self._lifted(edge, position)
        last = inner = position
        within = self.extent if node.node_class is NodeClass.ENTER else self.inner
        for output, source in views.items():
            if source == edge.dst_input:
                last = max(last, self.extent.get((node.id, output), position))
                inner = max(inner, within.get((node.id, output), position))
        if self.flow is not None and last > position:
            last, inner = self._lifted(edge, last), self._lifted(edge, inner)
        if last > self.extent.get(key, -1):
            self.extent[key] = last
        if self.flow is not None and not self._comes_after(node):
            self.inner[key] = max(inner, self.inner.get(key, -1))

    def _comes_after(self, node: Node) -> bool:
        """Return whether a node is an Exit that reads only values of the last iteration."""
        assert self.flow is not None
        return node.node_class is NodeClass.EXIT and node.id not in self.flow.irregular

    def _lifted(self, edge: Edge, position: int) -> int:
        """Return the position until which an edge's tensor must live if it is used at `position`.
        If the tensor is computed outside of the loop that uses it, this is the end of that loop.
        """
        assert self.flow is not None
        frames = self.flow.frames
        if is_loop_merge(edge.dst):
            return position
        home = frames.at(edge.src)
        if edge.src.node_class is NodeClass.EXIT:
            assert home.parent is not None
            home = home.parent
        user = frames.at(edge.dst)
        if edge.dst.node_class is NodeClass.ENTER and enters_once(edge.dst):
            return position
        if user is home or home not in list(user.up()):
            return position
        return max(position, self.ends(home.child_towards(user)))
