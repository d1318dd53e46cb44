"""Stretches: steps in a row that become native calls, or one CUDA graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.plan import Run, Step, StepCode, StepGroup, StepSequence


class StretchCode(Protocol):
    """What a stretch does after its guards: its steps, or what replaces them."""

    def run(self) -> None:
        """Runs the steps, or what replaces them by now."""

    def parts(self, traced: bool) -> Sequence[Step]:
        """The steps of which such a run consists, in a trace or not."""

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """The single steps, and the code that runs each of them now."""

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Lines about the steps at the moment."""


class Stretch(StepGroup):
    """Steps in a row, the guards of variables before all others."""

    def __init__(self, steps: Sequence[Step], code: StretchCode) -> None:
        self.steps = steps
        self.code = code
        self.guards = StepSequence(step for step in steps if step.kind == "guard")

    def run(self) -> None:
        """Checks the variables, then runs the code."""
        self.guards.run()
        self.code.run()

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Lines about the steps at the moment."""
        return self.code.notes(codes)

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """The single steps, and the code that runs each of them now."""
        return self.code.codes()

    def unguarded(self) -> Run:
        """What runs the code alone."""
        return self.code.run

    def parts(self, traced: bool) -> list[Step]:
        """The guards, and the steps of which the code consists."""
        return [*self.guards.steps, *self.code.parts(traced)]


def stretch_of(members: Sequence[Entry], code: StretchCode) -> Entry:
    """Entries of one guard as a stretch."""
    stretch = Stretch([entry.step for entry in members], code)
    return Entry(members[0].guard, Step.of(stretch, "stretch"))


def without_guards(members: Sequence[Entry]) -> list[Entry]:
    """The entries that are no guards of variables."""
    return [entry for entry in members if entry.step.kind != "guard"]
