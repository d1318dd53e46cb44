"""Regions: steps that run under a condition, and the flags that hold the conditions' values.

Each condition of a plan has a flag, an entry of one list of bools. A flag's own step sets it as
soon as its predicates are known. Adjacent steps with equal guards become one step, which runs them
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

    sets, reads: flags. native: the candidate for native code of the step. assigns: whether it gives
    a variable its first value. group: the number of the group of steps that run at the same time.
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
    """Sets the flags of a predicate, true and false, if those of `base` are up, else neither.

    `run` does it; array: that of the predicate, if it has one in the host's memory.
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
    """Sets flags to a value."""

    values: bytearray
    flags: Sequence[int]
    value: bool

    def __call__(self) -> None:
        for flag in self.flags:
            self.values[flag] = self.value


@dataclass(frozen=True, slots=True, eq=False)
class CopyFlags:
    """Copies flags, a target and a source each; targets without a source are set."""

    values: bytearray
    copies: Sequence[tuple[int, int | None]]

    def __call__(self) -> None:
        for target, source in self.copies:
            self.values[target] = source is None or self.values[source]


@dataclass(frozen=True, slots=True, eq=False)
class RunIfUp:
    """Runs a callable if a flag is up."""

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
        """Run the steps if the flag is up."""
        if self.flags[self.flag]:
            self._sequence.run()

    def unguarded(self) -> Run:
        """Return a callable that runs them without the guards of variables."""
        return Region(self.flags, self.flag, self.steps, False).run

    def parts(self, traced: bool) -> Sequence[Step]:
        """Return all steps, or none."""
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
        """Return the flag of an atom."""
        return self._flag(atom)

    def atoms(self, guard: Guard) -> list[Atom]:
        """Return the atoms that together imply the guard."""
        return needed(guard, self.within)

    def guard(self, guard: Guard) -> int:
        """Return the flag of a guard that does not always hold."""
        atoms = self.atoms(guard)
        return self._flag(atoms[0] if len(atoms) == 1 else guard)

    def base(self, atom: Is) -> list[int]:
        """Return the flags that must be up for the predicate to have a value."""
        return [self.atom(other) for other in self.atoms(self.within[atom] - {atom})]

    def setter(self, atom: Is, value: Callable[[], Any], array: Any = None) -> SetPredicate:
        """Return the setter of a predicate's two flags. array: the predicate's array, if any."""
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
        """Return the setter of the flag of a guard of several atoms."""
        flag, atoms = self.guard(guard), self.atoms(guard)
        return JoinFlags(self.values, flag, [self.atom(atom) for atom in atoms])


def with_regions(flags: Flags, entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries, with adjacent entries of equal guards merged into regions."""
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
