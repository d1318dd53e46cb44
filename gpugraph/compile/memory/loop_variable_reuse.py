"""Loop variables: finds the tensor with the next value of each loop variable, and whether it may be
computed in the variable's storage.

  i = Merge(start, NextIteration(j))        j = i + 1

`j` can be computed in the storage of `i` if no later op of the iteration reads `i`. If this
iteration ends the loop, the Exit also reads `i`. So an op may compute `j` in this storage only if
the op is skipped when the loop ends.
"""

from __future__ import annotations

from gpugraph.compile.memory.lifetimes import Lifetimes
from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS


class LoopVariables:
    """The loop variables of a unit, with the tensors that hold their next values."""

    def __init__(self, unit: Unit, times: Lifetimes) -> None:
        self.unit = unit
        self.times = times
        self.next_of: dict[TensorId, Node | None] = {}
        if unit.flow is not None:
            for frame in unit.flow.frames.loops():
                for merge in frame.merges:
                    self._note(merge)

    def _note(self, merge: Node) -> None:
        """Record the tensor that holds the next value of a loop variable. If this tensor is a view,
        record the viewed tensor. If it is the next value of two variables, record it for neither.
        """
        backs = [edge for edge in merge._in if edge.is_back_edge]
        if len(backs) != 1 or len(merge.input_types) != 2:
            return
        source, slot = backs[0].src, backs[0].src_output
        while (view := DECLARATIONS[source.type].memory.view) and slot in view:
            if source.node_class is NodeClass.ENTER:
                return
            edge = source.input_edge(view[slot])
            source, slot = edge.src, edge.src_output
        known = (source.id, slot) in self.next_of
        self.next_of[source.id, slot] = None if known else merge

    def free_at(self, position: int, node: Node, slot: int) -> Node | None:
        """Return the Merge whose next value is this output, if the storage of the Merge is free at
        `position`. Otherwise return None.
        """
        merge = self.next_of.get((node.id, slot))
        if merge is None or merge is node:
            return None
        flow = self.unit.flow
        assert flow is not None
        frame = flow.frames.of[merge.id]
        if flow.frames.at(node) is not frame or flow.guards[node.id] != flow.go_on[frame]:
            return None
        return merge if self.times.inner.get((merge.id, 0), -1) <= position else None

    def reads_at(self, position: int, merge: Node) -> bool:
        """Return whether an op at exactly this position reads the current value of the variable."""
        return self.times.inner.get((merge.id, 0), -1) == position
