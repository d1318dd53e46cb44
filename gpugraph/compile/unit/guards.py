"""Guards: the conditions under which an op is alive.

A guard is a set of atoms, which are conditions. A guard is true if all its atoms are true, so the
empty guard is always true. Ops with equal guards are always dead or alive together, so a plan runs
or skips them together. Most atoms are literals. A literal is true if a predicate is true, or if a
predicate is false. Literals can't express every condition. For example, a Merge may be alive
although its inputs have no literal in common, or a loop may end through one of several Exits. Such
a condition is an atom whose value a separate step of the plan determines during the run.

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
    """The condition that a predicate is true, or the condition that it is false.

    Args:
      pred: the node id and slot of the predicate.
    """

    pred: tuple[int, int]
    value: bool


class Found(NamedTuple):
    """A condition whose value a step determines in each run or iteration.

    Args:
      node: the id of the node to which the condition applies.
      what: the kind of condition. "merge": some input of the Merge is alive. "exit": the loop has
        ended through this Exit. "carried": the loop's Merge has a value in this iteration. "first":
        the current iteration is the loop's first iteration. "entered": the input of the Enter was
        alive when the loop started, although the loop may run without it.
    """

    node: int
    what: str


Atom = Is | Found
Guard = frozenset[Atom]

ALWAYS: Guard = frozenset()
NEVER: Guard = frozenset({Found(-1, "never")})


def holds_never(guard: Guard) -> bool:
    """Return whether the guard is never true, because it contains a predicate and its negation, or
    `NEVER`.
    """
    if guard >= NEVER:
        return True
    return any(isinstance(atom, Is) and Is(atom.pred, not atom.value) in guard for atom in guard)


def apart(one: Guard, other: Guard) -> bool:
    """Return whether two guards are never true at the same time."""
    return holds_never(one | other)


def either(guards: Iterable[Guard]) -> Guard | None:
    """Return a guard that is true if and only if at least one of `guards` is true. If no set of
    atoms expresses this condition, return None.

    For example, the result for {a, p} and {a, not p} is {a}. If one guard implies another, only the
    implied guard matters.
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
    """Return two of the guards that differ only in the value of one predicate, and their
    intersection. If there are no two such guards, return None.
    """
    for guard in guards:
        for atom in guard:
            if isinstance(atom, Is):
                other = (guard - {atom}) | {Is(atom.pred, not atom.value)}
                if other in guards:
                    return guard, other, guard - {atom}
    return None


def needed(guard: Guard, within: dict[Atom, Guard]) -> list[Atom]:
    """Return the guard's atoms, sorted, without atoms that other atoms imply.

    Args:
      within: for each atom, the guard that must be true for the atom to be true.
    """
    implied = {other for atom in guard for other in within.get(atom, ALWAYS) if other != atom}
    return sorted(guard - implied, key=lambda atom: (str(type(atom)), atom))


@dataclass(eq=False)
class Flow:
    """The loops of a graph, and the guard of each node.

    Args:
      frames: the loops, and the root frame.
      levels: for each frame, its ops and loops, with their order.
      guards: for each node by its id, the guard relative to the node's frame.
      outer: for each loop, the guard under which it runs, in the frame around it.
      leading: the ids of Enters without which their loop would have no effect. The loop runs only
        if all of them are alive.
      entered: for each Enter without which its loop may run, by its id, its guard in the frame
        around the loop.
      go_on: for each loop, the guard of another iteration, or None if the loop's Merges have
        different guards.
      carried: the loops whose Merges have different guards.
      irregular: the ids of Exits that may be dead after their loop has run.
      within: for each atom, the guard that must be true for the atom to be true, including the atom
        itself.
      sides: for each Switch, the atoms that the guards of its two outputs contain in addition to
        the guard of the Switch.
      pred_of: for each Switch, the tensor that computes its predicate, without ops that only
        forward it. A Switch with a constant predicate has no entry.
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
        """Return the guard of a node's output in the frame where the output is read. Slot -1 means
        a control edge.
        """
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
        """Return the guard, in the frame around the loop, under which a loop variable has an
        initial value. Return None if the variable has an initial value whenever the loop runs.
        """
        for edge in merge._in:
            if edge.src.node_class is NodeClass.ENTER and not edge.is_control:
                return self.entered.get(edge.src.id)
        return None
