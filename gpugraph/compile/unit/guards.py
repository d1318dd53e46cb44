"""Guards: the conditions under which an op is alive.

A guard is a set of atoms that must all hold; the empty guard always holds. Ops whose guards are
equal are always dead or alive together, so a plan runs or skips them as one. Usually atoms are
literals, "this predicate is true"; conditions that no set of literals expresses (a Merge whose
inputs have nothing in common, the Exit of a loop that may end without it) are atoms that a
separate step determines.

    x = Switch(data, p)        x:0 needs {p is false}, x:1 needs {p is true}
    f(x:0), g(x:1)             the same
    Merge(f, g)                {}: one of them is alive, whatever p is
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from gpugraph.compile.unit.loop_levels import Level
from gpugraph.graph.nodes.loop_frames import Frame, Frames
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass


class Is(NamedTuple):
    """The condition that the predicate, a tensor (node id and slot), has this value."""

    pred: tuple[int, int]
    value: bool


class Found(NamedTuple):
    """A condition that the step of a node (`node`, its id) determines in each run or iteration.

    `what` is "merge" (some input was alive), "exit" (the loop was left by it), "carried" (a loop's
    Merge has a value in this iteration), "first" (this is the loop's first iteration), or
    "entered" (the Enter's input was alive, if the loop runs without it too).
    """

    node: int
    what: str


Atom = Is | Found
Guard = frozenset[Atom]

ALWAYS: Guard = frozenset()
NEVER: Guard = frozenset({Found(-1, "never")})


def holds_never(guard: Guard) -> bool:
    """Return whether the guard contradicts itself."""
    if guard >= NEVER:
        return True
    return any(isinstance(atom, Is) and Is(atom.pred, not atom.value) in guard for atom in guard)


def apart(one: Guard, other: Guard) -> bool:
    """Return whether the two guards never hold at once."""
    return holds_never(one | other)


def either(guards: Iterable[Guard]) -> Guard | None:
    """Return the guard that holds if one of these does; None if no guard expresses that.

    {a, p} or {a, not p} is {a}; a guard that implies another one adds nothing.
    """
    left = {guard for guard in guards if not holds_never(guard)}
    while len(left) > 1:
        left = {guard for guard in left if not any(other < guard for other in left)}
        pair = _resolved(left)
        if pair is None:
            break
        one, other, both = pair
        left -= {one, other}
        left.add(both)
    if not left:
        return NEVER
    return left.pop() if len(left) == 1 else None


def _resolved(guards: set[Guard]) -> tuple[Guard, Guard, Guard] | None:
    """Return two guards that differ in the value of one predicate only, and their common part."""
    for guard in guards:
        for atom in guard:
            if isinstance(atom, Is):
                other = (guard - {atom}) | {Is(atom.pred, not atom.value)}
                if other in guards:
                    return guard, other, guard - {atom}
    return None


def needed(guard: Guard, within: dict[Atom, Guard]) -> list[Atom]:
    """Return the atoms that imply all others of the guard, in a stable order.

    `within` maps an atom to the guard under which it can hold at all.
    """
    implied = {other for atom in guard for other in within.get(atom, ALWAYS) if other != atom}
    return sorted(guard - implied, key=lambda atom: (str(type(atom)), atom))


@dataclass(eq=False)
class Flow:
    """Frames, and guards inside each.

    frames: the loops, and the root frame. levels: for each frame, its ops and loops with their
    order. guards: for each node, inside its frame. outer: for each loop, in the frame around it.
    leading: Enters without which their loop has no effect, so that it is not run. entered: by
    Enter, the guards, in the frame around it, of inputs without which a loop runs too. go_on: the
    guard under which a loop has another iteration, or None if each Merge has its own. carried: the
    loops with such Merges. irregular: Exits by which a loop may or may not be left. within: for an
    atom, the guard under which it can hold at all, with the atom itself. sides: the additions of
    the two outputs of a Switch to its guard. pred_of: the predicate of a Switch, behind ops that
    only pass it on; none if its value is known.
    """

    frames: Frames
    levels: dict[Frame, Level]
    guards: dict[int, Guard] = field(default_factory=dict)
    outer: dict[Frame, Guard] = field(default_factory=dict)
    leading: set[int] = field(default_factory=set)
    entered: dict[int, Guard] = field(default_factory=dict)
    go_on: dict[Frame, Guard | None] = field(default_factory=dict)
    carried: set[Frame] = field(default_factory=set)
    irregular: set[int] = field(default_factory=set)
    within: dict[Atom, Guard] = field(default_factory=dict)
    sides: dict[int, tuple[Guard, Guard]] = field(default_factory=dict)
    pred_of: dict[int, tuple[int, int]] = field(default_factory=dict)

    def of_output(self, node: Node, slot: int) -> Guard:
        """Return the guard of a tensor, in the frame where it is read."""
        guard = self.guards[node.id]
        if node.node_class is NodeClass.SWITCH and slot >= 0:
            return guard | self.sides[node.id][slot]
        if node.node_class is NodeClass.EXIT:
            frame = self.frames.of[node.id]
            if holds_never(guard):
                return NEVER
            left = {Found(node.id, "exit")} if node.id in self.irregular else ALWAYS
            return self.outer[frame] | left
        return guard

    def started(self, merge: Node) -> Guard | None:
        """Return the condition, outside, under which a loop variable has a first value, if the loop
        runs without it too."""
        for edge in merge._in:
            if edge.src.node_class is NodeClass.ENTER and not edge.is_control:
                return self.entered.get(edge.src.id)
        return None
