"""The steps of a plan, groups of steps that run as one step, and sequences of steps.

An error from a step is annotated with the innermost step that raised it, which `failed_step`
returns (see `runtime/step_failure.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gpugraph.base.interruptions.fork_gate import GATE
from gpugraph.plan.run_clock import Clock
from gpugraph.plan.step_code import StepCode, plain_code

Run = Callable[[], Any]

StepKind = Literal[
    "kernel",
    "native",  # native code that replaces a step's kernel
    "copy",  # the copy of a tensor by a Recv
    "send",  # sends a tensor that is sized in the run
    "guard",  # a check that a variable is initialized
    "flag",  # sets whether a condition holds
    "measure",  # counts the sizes of a kernel's outputs
    "fetch",  # starts the copy of a fetched tensor to the host
    "region",  # a group of steps with one condition; the next four kinds are groups, too
    "stretch",  # consecutive steps that may become native calls or one CUDA graph
    "loop",
    "concurrent",  # concurrent calls of user functions, or matrix products
    "joined",  # kernel launches that are combined into one
    "program",  # all steps of a plan with open sizes
]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One action of a run, with the name of the node that it executes.

    Args:
      group: the group of steps that this step runs, or None if it is a single step.
      code: a function that returns the `StepCode` that currently runs a single step.
      part: a text that distinguishes several steps of the same node. It is empty for the step that
        runs the node's kernel.
    """

    name: str
    op_type: str
    device: str
    depth: int
    run: Run
    origin: Any = None
    kind: StepKind = "kernel"
    output_bytes: int = 0
    group: StepGroup | None = None
    code: Callable[[], StepCode] = plain_code
    part: str = ""

    @property
    def label(self) -> str:
        """The name that reports use for the step. It is unique within the plan."""
        return f"{self.name}/{self.part}" if self.part else self.name

    @classmethod
    def of(cls, group: StepGroup, kind: StepKind, name: str = "", op_type: str = "") -> Step:
        """Return a step that runs a group.

        The step has the device and the depth of the group's first step.
        """
        first = group.steps[0]
        return cls(
            name or first.name,
            op_type or first.op_type,
            first.device,
            first.depth,
            group.run,
            first.origin,
            kind,
            sum(step.output_bytes for step in group.steps),
            group,
        )


class StepGroup(ABC):
    """Several steps that run as one step, which calls `run`."""

    steps: Sequence[Step]

    @abstractmethod
    def run(self) -> Any:
        """Run the steps."""

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return report lines on the current state of the steps.

        Args:
          codes: a dict from the label of each step of the plan to its code.
        """
        return ()

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield each single step with the code that runs it. Steps that check whether variables are
        initialized are omitted.
        """
        return step_codes(self.steps)

    def unguarded(self) -> Run:
        """Return a callable that runs the steps without checking that variables are initialized."""
        return self.run

    def parts(self, traced: bool) -> Sequence[Step] | None:
        """Return the steps of the group, for a run with a trace or a time limit, which executes
        steps one by one.

        If the group must run as a whole, return None.

        Args:
          traced: whether the run has a trace.
        """
        return None


class Access(Protocol):
    """A run's entry in the session's table of runs that use variables.

    Of several runs that conflict, only one is in the table at a time.
    """

    def enter(self, check: Callable[[str], None]) -> None:
        """Wait until no other run conflicts with this run. During the wait, `check` is called
        repeatedly. It may raise an error to end the wait.
        """

    def enter_again(self, check: Callable[[str], None]) -> None:
        """Enter the table again in the middle of a run, after `leave`."""

    def leave(self) -> None:
        """Remove this run's entry from the table of runs, so that other runs can proceed.

        If the table has no entry of this run, do nothing.
        """


class WaitingRun:
    """A callable that runs a step which may wait for other runs, or which calls user functions that
    may never return.

    While the step waits, other runs may use the variables of its run. If the step polls for
    signals, signal handlers are called. A fork does not wait for the run.
    """

    __slots__ = ("access", "clock", "step_run")

    def __init__(self, step_run: Run, access: Access, clock: Clock) -> None:
        self.step_run = step_run
        self.access = access
        self.clock = clock

    def __call__(self) -> None:
        self.access.leave()
        self.clock.waits = True
        try:
            self.step_run()
        finally:
            self._go_on()
        self.clock.check_cancelled("while a step waited")

    def _go_on(self) -> None:
        clock = self.clock
        clock.waits = False  # in this order: a fork closes the gate, then reads `waits`
        while GATE.is_closed:
            clock.waits = True
            GATE.wait()
            clock.waits = False
        self.access.enter_again(clock.check)


class StepSequence:
    """A callable that calls steps one after another, with or without guards.

    A guard is a step that checks that a variable is initialized.
    """

    __slots__ = ("runs", "steps")

    def __init__(self, steps: Iterable[Step], guarded: bool = True) -> None:
        self.steps = tuple(step for step in steps if guarded or step.kind != "guard")
        self.runs = tuple(
            step.run if guarded or step.group is None else step.group.unguarded()
            for step in self.steps
        )

    def run(self) -> None:
        """Run the steps. An error is annotated with the step that raised it."""
        current: Run | None = None
        try:
            for current in self.runs:
                current()
        except Exception as error:
            self.note(error, current)
            raise

    def note(self, error: BaseException, failed: Run | None) -> None:
        """Annotate an error with the step whose callable raised it."""
        for step, run in zip(self.steps, self.runs):
            if run is failed:
                note_step(error, step)


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps, each followed by the steps of its group, recursively."""
    for step in steps:
        yield step
        if step.group is not None:
            yield from all_steps(step.group.steps)


def step_codes(steps: Iterable[Step]) -> Iterator[tuple[Step, StepCode]]:
    """Yield each single step with the code that currently runs it. Steps that check whether
    variables are initialized are omitted.
    """
    for step in steps:
        if step.group is not None:
            yield from step.group.codes()
        elif step.kind != "guard":
            yield step, step.code()


def note_step(error: BaseException, step: Step) -> None:
    """Annotate an error with the step that raised it, unless the error has an annotation with an
    inner step.
    """
    error.__dict__.setdefault("_failed_step", step)


def failed_step(error: BaseException) -> Step | None:
    """Remove the annotation of an error, and return the step that raised it. If there is no
    annotation, return None.
    """
    return error.__dict__.pop("_failed_step", None)


@contextmanager
def noting_step(step: Step) -> Iterator[None]:
    """Annotate each error that the `with` block raises with this step."""
    try:
        yield
    except Exception as error:
        note_step(error, step)
        raise
