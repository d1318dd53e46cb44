"""Steps of a plan, groups of steps that run as one, and the order in which they are called.

An error that leaves the steps carries a note of the innermost step that raised it, which
`failed_step` reads (see `runtime/step_failure.py`).
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
    "copy",  # of a Recv
    "send",  # of a tensor that is sized at run time
    "guard",  # a check that a variable is initialized
    "flag",  # sets whether a condition holds
    "measure",  # counts the sizes of a kernel's outputs
    "fetch",  # starts the copy of a fetched tensor to the host
    "region",  # this and the next four are groups of steps: under a condition,
    "stretch",  # that may become native calls or one CUDA graph,
    "loop",
    "concurrent",  # concurrent calls of the user's functions, or large products,
    "joined",  # launches that a GPU gets as one
]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One action of a run, with the name of its node.

    `group` holds the steps that it consists of; `code` returns the code that currently runs a
    single step. `part` distinguishes the steps of one node: empty for its kernel.
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
        """The name that reports use for the step; unique within its plan."""
        return f"{self.name}/{self.part}" if self.part else self.name

    @classmethod
    def of(cls, group: StepGroup, kind: StepKind, name: str = "", op_type: str = "") -> Step:
        """Return a group as one step, with the device and depth of its first step."""
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
    """Steps that run as one, by `run`."""

    steps: Sequence[Step]

    @abstractmethod
    def run(self) -> Any:
        """Run the steps."""

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return lines about the current state of the steps. codes: the code of each step of the
        plan.
        """
        return ()

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield the single steps, without guards of variables, and the code that runs each."""
        return step_codes(self.steps)

    def unguarded(self) -> Run:
        """Return a callable that skips the guards of variables; `run` itself if there are none."""
        return self.run

    def parts(self, traced: bool) -> Sequence[Step] | None:
        """Return the steps that this run executes one by one, traced or not, or None."""
        return None


class Access(Protocol):
    """The variables that a run accesses, registered in a session's table of such runs."""

    def enter(self, check: Callable[[str], None]) -> None:
        """Wait until no other run conflicts; `check` raises to end the waiting."""

    def leave(self) -> None:
        """Allow other runs to proceed; does nothing if the run has not entered."""


class WaitingRun:
    """Runs a step that may wait for other runs, possibly forever: one that calls the user's
    functions.

    During the wait, other runs may use the variables of its run, handlers of signals are called
    where it polls, and forks don't wait.
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
        clock.waits = False  # before it checks the gate: a fork closes the gate, then checks this
        while GATE.is_closed:
            clock.waits = True
            GATE.wait()
            clock.waits = False
        self.access.enter(clock.check)


class StepSequence:
    """Calls steps one after the other, with or without the guards of variables."""

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
        """Annotate an error with the step of this callable, which raised it."""
        for step, run in zip(self.steps, self.runs):
            if run is failed:
                note_step(error, step)


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps and those of their groups."""
    for step in steps:
        yield step
        if step.group is not None:
            yield from all_steps(step.group.steps)


def step_codes(steps: Iterable[Step]) -> Iterator[tuple[Step, StepCode]]:
    """Yield the single steps, without guards of variables, and the code that runs each now."""
    for step in steps:
        if step.group is not None:
            yield from step.group.codes()
        elif step.kind != "guard":
            yield step, step.code()


def note_step(error: BaseException, step: Step) -> None:
    """Annotate an error with the step that raised it, unless an inner step has done so."""
    error.__dict__.setdefault("_failed_step", step)


def failed_step(error: BaseException) -> Step | None:
    """Remove and return the note of the step that raised an error; None if there is none."""
    return error.__dict__.pop("_failed_step", None)


@contextmanager
def noting_step(step: Step) -> Iterator[None]:
    """Annotate errors inside with this step."""
    try:
        yield
    except Exception as error:
        note_step(error, step)
        raise
