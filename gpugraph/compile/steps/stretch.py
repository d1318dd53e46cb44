"""Runs of steps: adjacent steps that become native calls, or one CUDA graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.plan import Run, Step, StepCode, StepGroup, StepSequence


class StretchCode(Protocol):
    """The code of a run of steps, without the checks of variables. The code consists of the steps
    themselves, or of native calls or a CUDA graph.
    """

    def run(self) -> None:
        """Run the steps, or the native calls or the CUDA graph that have replaced them."""

    def parts(self, traced: bool) -> Sequence[Step]:
        """Return the steps that a run currently executes. If `traced`, return each step
        separately.
        """

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield each step with the code that currently runs it."""

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return lines for the report about the current state of the steps."""


class Stretch(StepGroup):
    """A run of steps. It first checks that its variables are initialized, and then executes its
    code.
    """

    def __init__(self, steps: Sequence[Step], code: StretchCode) -> None:
        self.steps = steps
        self.code = code
        self.guards = StepSequence(step for step in steps if step.kind == "guard")

    def run(self) -> None:
        """Check the variables, then run the code."""
        self.guards.run()
        self.code.run()

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return lines for the report about the current state of the steps."""
        return self.code.notes(codes)

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield each step with the code that currently runs it."""
        return self.code.codes()

    def unguarded(self) -> Run:
        """Return a callable that runs the code without the checks of variables."""
        return self.code.run

    def parts(self, traced: bool) -> list[Step]:
        """Return the checks of variables, followed by the steps of the code."""
        return [*self.guards.steps, *self.code.parts(traced)]


def stretch_of(members: Sequence[GuardedStep], code: StretchCode) -> GuardedStep:
    """Return one step that executes a run of steps with equal guards.

    Args:
      code: the object that runs the steps.
    """
    stretch = Stretch([entry.step for entry in members], code)
    return GuardedStep(members[0].guard, Step.of(stretch, "stretch"))


def without_guards(members: Sequence[GuardedStep]) -> list[GuardedStep]:
    """Return the steps without the checks that variables are initialized."""
    return [entry for entry in members if entry.step.kind != "guard"]
