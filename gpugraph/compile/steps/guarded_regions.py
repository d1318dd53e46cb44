"""Regions: steps that run under a condition, and the flags that hold the values of conditions.

Each condition of a plan has a flag, which is an entry of one list of bools. A separate step sets
the flag as soon as the predicates of the condition have values. Adjacent steps with equal guards
become one step, which runs them if the flag of the guard is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from gpugraph.compile.steps.native_node_code import Candidate
from gpugraph.compile.unit.compile_unit import Lane, TensorId
from gpugraph.compile.unit.guards import ALWAYS, Atom, Guard, Is, holds_never, needed
from gpugraph.plan import Run, Step, StepGroup, StepSequence


class GuardedStep(NamedTuple):
    """A step and the guard under which it runs.

    Args:
      sets, reads: the flags that the step sets and reads.
      native: the data for native compilation of the step, or None.
      assigns: whether the step may give a variable its first value.
      group: the number of the group to which the step belongs. Steps of one group run at the same
        time.
      lane: the lane of the step (`compile/memory/replica_lanes.py`), or None.
    """

    guard: Guard
    step: Step
    sets: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    native: Candidate | None = None
    assigns: bool = False
    group: int | None = None
    lane: Lane | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SetPredicate:
    """A callable that sets one of a predicate's two flags (for true and false) and clears the
    other. It clears both flags unless all flags in `base` are set.

    Args:
      array: the predicate's array in host memory, or None.
      key: the predicate's tensor.
    """

    run: Run
    yes: int
    no: int
    base: Sequence[int]
    array: Any = None
    key: TensorId | None = None

    def __call__(self) -> None:
        self.run()


@dataclass(frozen=True, slots=True, eq=False)
class JoinFlags:
    """A callable that sets a flag if all flags in `parts` are set, and otherwise clears it."""

    values: bytearray
    flag: int
    parts: Sequence[int]

    def __call__(self) -> None:
        self.values[self.flag] = all(map(self.values.__getitem__, self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class SetFlags:
    """A callable that sets several flags to the same value."""

    values: bytearray
    flags: Sequence[int]
    value: bool

    def __call__(self) -> None:
        for flag in self.flags:
            self.values[flag] = self.value


@dataclass(frozen=True, slots=True, eq=False)
class CopyFlags:
    """A callable that copies the values of flags to other flags.

    Args:
      copies: (target, source) pairs. If the source is None, the target is set to true.
    """

    values: bytearray
    copies: Sequence[tuple[int, int | None]]

    def __call__(self) -> None:
        for target, source in self.copies:
            self.values[target] = source is None or self.values[source]


@dataclass(frozen=True, slots=True, eq=False)
class AnyFlag:
    """A callable that returns whether any of several flags is set."""

    values: bytearray
    flags: Sequence[int]

    def __call__(self) -> bool:
        return any(map(self.values.__getitem__, self.flags))


@dataclass(frozen=True, slots=True, eq=False)
class RunIfUp:
    """A callable that calls another callable if a flag is set."""

    values: bytearray
    flag: int
    run: Run

    def __call__(self) -> None:
        if self.values[self.flag]:
            self.run()


class GuardedRegion(StepGroup):
    """Steps that run if a flag is set."""

    def __init__(self, flags: bytearray, flag: int, steps: Sequence[Step], guarded: bool) -> None:
        self.flags = flags
        self.flag = flag
        self.steps = steps
        self._sequence = StepSequence(steps, guarded)

    def run(self) -> None:
        """Run the steps if the flag is set."""
        if self.flags[self.flag]:
            self._sequence.run()

    def unguarded(self) -> Run:
        """Return a callable that runs the steps without checking whether variables are
        initialized.
        """
        return GuardedRegion(self.flags, self.flag, self.steps, False).run

    def parts(self, traced: bool) -> Sequence[Step]:
        """Return all steps if the flag is set, else an empty sequence."""
        return self.steps if self.flags[self.flag] else ()


class Flags:
    """The flags of one plan. Each guard has a flag, and so has each atom, which is one value of one
    predicate.

    Args:
      within: for each atom, the guard that must be true for the atom to be true.
    """

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
        """Return the index of the flag that holds the value of `atom`."""
        return self._flag(atom)

    def atoms(self, guard: Guard) -> list[Atom]:
        """Return the atoms that together imply the guard."""
        return needed(guard, self.within)

    def guard(self, guard: Guard) -> int:
        """Return the index of the flag of a guard. The guard must not be empty, because an empty
        guard has no flag.
        """
        atoms = self.atoms(guard)
        return self._flag(atoms[0] if len(atoms) == 1 else guard)

    def base(self, atom: Is) -> list[int]:
        """Return the indices of the flags that are all set if and only if the atom's predicate has
        a value.
        """
        return [self.atom(other) for other in self.atoms(self.within[atom] - {atom})]

    def setter(self, atom: Is, value: Callable[[], Any], array: Any = None) -> SetPredicate:
        """Return the callable that sets the flags of a predicate.

        Args:
          value: a function that returns the value of the predicate.
          array: the array of the predicate in host memory, or None.
        """
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

        return SetPredicate(set_flags if base else set_plain, yes, no, base, array, atom.pred)

    def joiner(self, guard: Guard) -> JoinFlags:
        """Return the callable that sets the flag of a guard with several atoms."""
        flag, atoms = self.guard(guard), self.atoms(guard)
        return JoinFlags(self.values, flag, [self.atom(atom) for atom in atoms])


def with_regions(flags: Flags, entries: Iterable[GuardedStep]) -> list[GuardedStep]:
    """Merge adjacent steps with equal guards into regions. Return the resulting list of steps."""
    regions: list[GuardedStep] = []
    for guard, group in groupby(entries, key=lambda entry: entry.guard):
        members = list(group)
        if guard == ALWAYS:
            regions += members
        elif not holds_never(guard):
            flag = flags.guard(guard)
            region = GuardedRegion(flags.values, flag, [entry.step for entry in members], True)
            reads = (flag, *(read for entry in members for read in entry.reads))
            regions.append(GuardedStep(ALWAYS, Step.of(region, "region"), (), reads))
    return regions
