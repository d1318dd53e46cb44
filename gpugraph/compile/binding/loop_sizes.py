"""Sizes of loop variables that differ between iterations. Each iteration starts with a stage that
computes all sizes of the iteration.

    start            first = [1]      sizes = first
    each iteration   a stage reads `sizes`, computes words, offsets, and next = [L + 1]
                     the instructions of the iteration
                     sizes = next

The variables are in separate memory outside of the arena, because their values remain when other
buffers are moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.sizes import SizeTrace, hint, least_of
from gpugraph.compile.analysis.growing_variables import is_steady, sizes_around
from gpugraph.compile.unit.compile_unit import Storage, Unit
from gpugraph.devices.native import move
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Run, Step

_TRIED = 24
"""The number of iterations for which the conditions of a unit are checked when it is compiled."""


class NotReportedError(Exception):
    """Some sizes of a unit depend on values, and a run can't write them into its native calls."""


class GrowingLoop(NamedTuple):
    """A loop with variables whose sizes differ between iterations.

    Args:
      merge: one of the loop's Merges.
      condition: the name of the node that decides whether the loop continues.
      first, following: the first value and the next value of each size, by the size's name.
      begin, head, end: positions in the order: of the first node of the loop, of the first node
        after its Merges, and after its last node.
    """

    merge: Node
    condition: str
    first: Mapping[str, Any]
    following: Mapping[str, Any]
    begin: int
    head: int
    end: int


def growing_loops(unit: Unit, trace: SizeTrace) -> Sequence[GrowingLoop]:
    """Return the loops of a unit whose variables have sizes that differ between iterations.

    Raises NotReportedError if a program can't run such a loop.
    """
    if unit.flow is None or not unit.growing:
        return ()
    loops = []
    for frame in unit.flow.frames.loops():
        first: dict[str, Any] = {}
        following: dict[str, Any] = {}
        for merge in frame.merges:
            one, other = sizes_around(unit, merge)
            if one and not is_steady(unit.flow, merge):
                raise NotReportedError(f"the loop '{frame.name}' is conditional")
            first |= one
            following |= other
        if first:
            loops.append(_loop(unit, frame, first, following))
    for loop in loops:
        _check_conditions(trace, loop)
    if loops and any(home.storage.kind == "cell" for home in unit.homes.values()):
        raise NotReportedError("a tensor is allocated in the run")
    return loops


def _loop(
    unit: Unit, frame: Frame, first: Mapping[str, Any], following: Mapping[str, Any]
) -> GrowingLoop:
    if None in first.values() or None in following.values() or frame.loop_cond is None:
        raise NotReportedError(f"a size in the loop '{frame.name}' is unknown")
    begin, end = span(unit, frame)
    starts = {node.id for node in (*frame.enters, *frame.merges)}
    head = next(n for n in range(begin, end) if unit.order[n].id not in starts)
    if any(unit.order[n].id in starts for n in range(head, end)):
        raise NotReportedError(f"the loop '{frame.name}' has another order")
    return GrowingLoop(frame.merges[0], frame.loop_cond.name, first, following, begin, head, end)


def span(unit: Unit, frame: Frame) -> tuple[int, int]:
    """Return the position of a loop's first node, and the position after its last node."""
    assert unit.flow is not None
    frames = unit.flow.frames
    inside = (n for n, node in enumerate(unit.order) if frame in frames.at(node).up())
    assert frame.end is not None
    return next(inside), unit.order.index(frame.end) + 1


def around(unit: Unit, node: Node) -> Sequence[Frame]:
    """Return all loops around a node."""
    if unit.flow is None:
        return ()
    frame = unit.flow.frames.at(node)
    return [one for one in frame.up() if one.parent is not None]


def _check_conditions(trace: SizeTrace, loop: GrowingLoop) -> None:
    """Raise NotReportedError if the sizes of one of the first iterations do not meet the conditions
    of the trace.
    """
    for name, size in loop.following.items():
        if 0 < least_of(trace.report(name)) > least_of(size):
            raise NotReportedError(f"the size {name} may become smaller")
    inputs, values = [hint(size) for size in trace.sizes], trace.first_values
    current = {name: values.of(size) for name, size in loop.first.items()}
    for number in range(_TRIED):
        found = trace.values(inputs, current)
        if found is None:
            raise NotReportedError(f"a condition on a size of '{loop.condition}' fails: {current}")
        following = {name: found.of(size) for name, size in loop.following.items()}
        if following == current or min(following.values()) < 0:
            return
        if number and any(following[name] < size for name, size in current.items()):
            return  # the loop may end before the sizes are too small
        current = following


class LoopRegisters:
    """The memory of a loop's sizes. `start` and `go_on` are native calls that set the current sizes
    to the first sizes and to the next sizes.

    Attributes:
      count: the current sizes.
      step_record: a step of the loop, for the program's listing.
    """

    def __init__(self, loop: GrowingLoop, step: Step) -> None:
        self.loop, self.step_record = loop, step
        count = len(loop.first)
        self.count = np.zeros(count, np.int64)
        self._first, self._next = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.start: Run = move(self._first, self.count)
        self.go_on: Run = move(self._next, self.count)

    @property
    def places(self) -> list[int]:
        """The addresses of the current sizes."""
        return _addresses(self.count)

    @property
    def first_words(self) -> dict[int, Any]:
        """The first sizes, by the address where a stage writes them."""
        return dict(zip(_addresses(self._first), self.loop.first.values()))

    @property
    def next_words(self) -> dict[int, Any]:
        """The next sizes, by the address where a stage writes them."""
        return dict(zip(_addresses(self._next), self.loop.following.values()))

    def write(self) -> None:
        """Do nothing, because no output must be copied when the sizes are known."""


def _addresses(array: Any) -> list[int]:
    start, item = array.ctypes.data, array.itemsize
    return [start + item * number for number in range(len(array))]


class GrownVariable(NamedTuple):
    """The memory of a loop variable, and the sizes in bytes that it must have room for."""

    storage: Storage
    sizes: Sequence[Any]


def grown_variables(unit: Unit) -> Sequence[GrownVariable]:
    """Return the memory of all loop variables whose sizes differ between iterations."""
    variables = []
    for node in unit.order:
        home = unit.homes.get((node.id, 0)) if node.id in unit.growing else None
        if home is None or home.storage.kind != "aside":
            continue
        sizes = []
        for edge in node._in:
            if not edge.is_control:
                size: Any = home.dtype.itemsize
                for length in unit.shapes[edge.src.id][edge.src_output].sizes or ():
                    size = size * length
                sizes.append(size)
        variables.append(GrownVariable(home.storage, sizes))
    return variables
