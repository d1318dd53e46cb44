"""Regions: steps that run under a condition, and the flags that hold the conditions' values.

Each condition of a plan has a flag, an entry of one list of bools. A flag's own step sets it as
soon as its predicates are known. Steps in a row with equal guards become one step, which runs them
if the flag is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from gpugraph.compile.steps.native_node_code import Candidate
from gpugraph.compile.unit.guards import ALWAYS, Atom, Guard, Is, holds_never, needed
from gpugraph.plan import Run, Step, StepGroup, StepSequence


class Entry(NamedTuple):
    """A step and the guard under which it runs.

    sets, reads: flags. native: what the step may be as native code. assigns: whether it gives a
    variable its first value. group: of steps that run at the same time, the number of their group.
    """

    guard: Guard
    step: Step
    sets: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    native: Candidate | None = None
    assigns: bool = False
    group: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SetPredicate:
    """Sets the flags of a predicate, true and false, where those of `base` are up, else neither.

    `run` does it; array: of the predicate, where it has one in the host's memory.
    """

    run: Run
    yes: int
    no: int
    base: Sequence[int]
    array: Any = None

    def __call__(self) -> None:
        self.run()


@dataclass(frozen=True, slots=True, eq=False)
class JoinFlags:
    """Sets a flag if all `parts` are up."""

    values: bytearray
    flag: int
    parts: Sequence[int]

    def __call__(self) -> None:
        self.values[self.flag] = all(map(self.values.__getitem__, self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class SetFlags:
    """Gives flags a value."""

    values: bytearray
    flags: Sequence[int]
    value: bool

    def __call__(self) -> None:
        for flag in self.flags:
            self.values[flag] = self.value


@dataclass(frozen=True, slots=True, eq=False)
class CopyFlags:
    """Sets flags as others are, a target and a source each; those without a source are up."""

    values: bytearray
    copies: Sequence[tuple[int, int | None]]

    def __call__(self) -> None:
        for target, source in self.copies:
            self.values[target] = source is None or self.values[source]


@dataclass(frozen=True, slots=True, eq=False)
class RunIfUp:
    """Runs something if a flag is up."""

    values: bytearray
    flag: int
    run: Run

    def __call__(self) -> None:
        if self.values[self.flag]:
            self.run()


class Region(StepGroup):
    """Steps that run if a flag is up."""

    def __init__(self, flags: bytearray, flag: int, steps: Sequence[Step], guarded: bool) -> None:
        self.flags = flags
        self.flag = flag
        self.steps = steps
        self._sequence = StepSequence(steps, guarded)

    def run(self) -> None:
        """Runs the steps, or none of them."""
        if self.flags[self.flag]:
            self._sequence.run()

    def unguarded(self) -> Run:
        """What runs them without the guards of variables."""
        return Region(self.flags, self.flag, self.steps, False).run

    def parts(self, traced: bool) -> Sequence[Step]:
        """All steps, or none."""
        return self.steps if self.flags[self.flag] else ()


class Flags:
    """The flags of one plan. within: the guard under which an atom can hold at all."""

    def __init__(self, within: dict[Atom, Guard]) -> None:
        self.values = bytearray()
        self.within = within
        self._flags: dict[Atom | Guard, int] = {}

    def _flag(self, key: Atom | Guard) -> int:
        if key not in self._flags:
            self._flags[key] = len(self.values)
            self.values.append(False)
        return self._flags[key]

    def atom(self, atom: Atom) -> int:
        """The flag of an atom."""
        return self._flag(atom)

    def atoms(self, guard: Guard) -> list[Atom]:
        """The atoms that together imply the guard."""
        return needed(guard, self.within)

    def guard(self, guard: Guard) -> int:
        """The flag of a guard that does not always hold."""
        atoms = self.atoms(guard)
        return self._flag(atoms[0] if len(atoms) == 1 else guard)

    def base(self, atom: Is) -> list[int]:
        """The flags that must be up for the predicate to have a value."""
        return [self.atom(other) for other in self.atoms(self.within[atom] - {atom})]

    def setter(self, atom: Is, value: Callable[[], Any], array: Any = None) -> SetPredicate:
        """What sets the flags of a predicate, true and false. array: of the predicate, if any."""
        flags = self.values
        yes, no = self.atom(Is(atom.pred, True)), self.atom(Is(atom.pred, False))
        base = self.base(atom)
        up = flags.__getitem__

        def set_flags() -> None:
            if all(map(up, base)):
                flags[yes] = truth = bool(value())
                flags[no] = not truth
            else:
                flags[yes] = flags[no] = False

        def set_plain() -> None:
            flags[yes] = truth = bool(value())
            flags[no] = not truth

        return SetPredicate(set_flags if base else set_plain, yes, no, base, array)

    def joiner(self, guard: Guard) -> JoinFlags:
        """What sets the flag of a guard of several atoms."""
        flag, atoms = self.guard(guard), self.atoms(guard)
        return JoinFlags(self.values, flag, [self.atom(atom) for atom in atoms])


def with_regions(flags: Flags, entries: Iterable[Entry]) -> list[Entry]:
    """Entries of equal guards that follow each other become one region each."""
    regions: list[Entry] = []
    for guard, group in groupby(entries, key=lambda entry: entry.guard):
        members = list(group)
        if guard == ALWAYS:
            regions += members
        elif not holds_never(guard):
            flag = flags.guard(guard)
            region = Region(flags.values, flag, [entry.step for entry in members], True)
            reads = (flag, *(read for entry in members for read in entry.reads))
            regions.append(Entry(ALWAYS, Step.of(region, "region"), (), reads))
    return regions
