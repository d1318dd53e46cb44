"""Loop variables whose sizes differ between iterations, such as a sequence that grows.

    x = Merge(start, next)      start [4, 1]   next [4, L + 1]
    the shape of x              [4, L]         L is a size of the loop, with a value per iteration

In a compilation with open sizes, such a size is a `Size` with its own name. Each iteration computes
its value from the sizes of the iteration before. In any other compilation, the size is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import Size, hint, least_of, varies
from gpugraph.compile.analysis.flow_analysis import flow_of, has_control_flow
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.guards import ALWAYS, Flow, Is
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

_UNKNOWN = TensorShape.of(None)

_STEPS = 2
"""The difference between the hint of a size and the larger of its first two values. The hint should
be neither 1 nor another special value.
"""


class GrowingVariables:
    """The sizes of loop variables in one compilation.

    Attributes:
      exits: for each loop variable with such sizes, by name, an Exit of its loop.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._flow: Flow | None = None
        self._is_steady: dict[int, bool] = {}
        self.exits: dict[str, Node] = {}

    def joined(self, merge: Node, current: TensorShape, other: TensorShape) -> TensorShape:
        """Return the shape of a loop variable that has two shapes: the initial value's or its own,
        and the shape of another value.
        """
        one, two = current.sizes, other.sizes
        if one is None or two is None or len(one) != len(two):
            return _UNKNOWN
        return TensorShape.of(
            tuple([self._joined(merge, axis, *pair) for axis, pair in enumerate(zip(one, two))])
        )

    def _joined(self, merge: Node, axis: int, one: Any, other: Any) -> Any:
        if one is None or other is None:
            return None
        name = f"{merge.name}:size{axis}"
        known = self.unit.growing.get(merge.id, {})
        is_own = type(one) is Size and one.reports() == {name}
        if is_own or _are_equal(one, other):
            return one
        if not self._may_grow(merge):
            return None
        guess = known[name] if name in known else max(hint(one), hint(other)) + _STEPS
        self.unit.growing.setdefault(merge.id, {})[name] = guess
        if self.unit.report_of is None:
            return None
        least = least_of(one) if hint(other) >= hint(one) else 0
        return self.unit.report_of(name, guess, max(least, 0))

    def _may_grow(self, merge: Node) -> bool:
        if merge.id not in self._is_steady:
            is_on_cpu = set(self.unit.device_types.values()) == {"CPU"}
            is_usable = is_on_cpu and is_steady(self._flow_of_any_values(), merge)
            self._is_steady[merge.id] = is_usable
            if is_usable and (exits := self._flow_of_any_values().frames.of[merge.id].exits):
                self.exits[merge.name] = exits[0]
        return self._is_steady[merge.id]

    def runs_in_each_iteration(self, node: Node) -> bool:
        """Return whether a node of a loop runs in each iteration (`is_in_each_iteration`)."""
        if not has_control_flow(self.unit) or set(self.unit.device_types.values()) != {"CPU"}:
            return False
        return is_in_each_iteration(self._flow_of_any_values(), node)

    def _flow_of_any_values(self) -> Flow:
        """Return the loops and guards. No predicate is constant, because the known values may be
        those of the first iteration.
        """
        if self._flow is None:
            values, self.unit.values = self.unit.values, {}
            try:
                self._flow = flow_of(self.unit)
            finally:
                self.unit.values = values
        return self._flow


def is_steady(flow: Flow, merge: Node) -> bool:
    """Return whether a loop variable has a value in each iteration of its loop, and the loop runs
    in each run or in each iteration of the loop around it.
    """
    frame = flow.frames.of.get(merge.id)
    if frame is None or len(merge.input_types) != 2:
        return False
    return all(_is_regular(flow, one) for one in frame.up() if one.parent is not None)


def is_in_each_iteration(flow: Flow, node: Node) -> bool:
    """Return whether a node is in a loop that runs in each run, or in each iteration of the loop
    around it, and the node runs in each of its iterations.
    """
    frame = flow.frames.at(node)
    if frame is flow.frames.root or flow.guards[node.id] not in (ALWAYS, flow.go_on[frame]):
        return False
    return all(_is_regular(flow, one) for one in frame.up() if one.parent is not None)


def _is_regular(flow: Flow, frame: Frame) -> bool:
    parent, go_on = frame.parent, flow.go_on.get(frame)
    assert parent is not None
    around = ALWAYS if parent.parent is None else flow.go_on.get(parent)
    if (
        frame.loop_cond is None
        or frame in flow.carried
        or flow.outer[frame] not in (ALWAYS, around)
    ):
        return False
    if go_on is None or len(go_on) != 1 or not all(isinstance(atom, Is) for atom in go_on):
        return False
    if any(node.id in flow.irregular for node in frame.exits):
        return False
    return not any(node.id in flow.entered for node in frame.enters)


def without_loop_sizes(shape: TensorShape) -> TensorShape:
    """Return a shape in which each size that depends on a loop variable's size is unknown. A
    container's element has such a shape, since another iteration may read it.
    """
    if shape.sizes is None or not any(map(varies, shape.sizes)):
        return shape
    return TensorShape.of(tuple([None if varies(s) else s for s in shape.sizes]))


def are_same_sizes(one: Sequence[Any] | None, other: Sequence[Any] | None) -> bool:
    """Return whether two shapes have the same sizes, where the same Size is the same polynomial."""
    if one is None or other is None:
        return one is other
    return list(map(_terms, one)) == list(map(_terms, other))


def _terms(size: Any) -> Any:
    return size.terms if type(size) is Size else size


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two sizes are equal. Sizes of loops are only equal if they are equal in each
    iteration.
    """
    if varies(one) or varies(other):
        difference = one - other
        return type(difference) is not Size and not difference
    return bool(one == other)


def sizes_around(unit: Unit, merge: Node) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the first value and the next value of each size of a loop variable, by the size's
    name.
    """
    shapes: dict[bool, Sequence[Any]] = {}
    for edge in merge._in:
        if not edge.is_control:
            is_next = edge.src.node_class is NodeClass.NEXT_ITERATION
            shapes[is_next] = unit.shapes[edge.src.id][edge.src_output].sizes or ()
    own = unit.shapes[merge.id][0].sizes or ()
    names = {axis: f"{merge.name}:size{axis}" for axis in range(len(own))}
    used = {
        axis: name
        for axis, name in names.items()
        if name in unit.growing.get(merge.id, {}) and varies(own[axis])
    }
    first = {name: shapes[False][axis] for axis, name in used.items()}
    return first, {name: shapes[True][axis] for axis, name in used.items()}
