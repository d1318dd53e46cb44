"""Stretches: adjacent steps that become native calls, or one CUDA graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.plan import Run, Step, StepCode, StepGroup, StepSequence


class StretchCode(Protocol):
    """The action of a stretch after its guards: its steps, or their replacement."""

    def run(self) -> None:
        """Run the steps, or their current replacement."""

    def parts(self, traced: bool) -> Sequence[Step]:
        """Return the steps of such a run, in a trace or not."""

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield the single steps, and the code that currently runs each of them."""

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return lines about the current state of the steps."""


class Stretch(StepGroup):
    """Adjacent steps, the guards of variables before all others."""

    def __init__(self, steps: Sequence[Step], code: StretchCode) -> None:
        self.steps = steps
        self.code = code
        self.guards = StepSequence(step for step in steps if step.kind == "guard")

    def run(self) -> None:
        """Check the variables, then run the code."""
        self.guards.run()
        self.code.run()

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return lines about the current state of the steps."""
        return self.code.notes(codes)

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield the single steps, and the code that currently runs each of them."""
        return self.code.codes()

    def unguarded(self) -> Run:
        """Return a callable that runs the code alone."""
        return self.code.run

    def parts(self, traced: bool) -> list[Step]:
        """Return the guards, and the steps that the code consists of."""
        return [*self.guards.steps, *self.code.parts(traced)]


def stretch_of(members: Sequence[Entry], code: StretchCode) -> Entry:
    """Return entries of one guard as a stretch."""
    stretch = Stretch([entry.step for entry in members], code)
    return Entry(members[0].guard, Step.of(stretch, "stretch"))


def without_guards(members: Sequence[Entry]) -> list[Entry]:
    """Return the entries that are not guards of variables."""
    return [entry for entry in members if entry.step.kind != "guard"]
