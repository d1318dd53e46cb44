"""A `while` loop as one step that runs its body repeatedly.

    entered     whether any value enters the loop, or None if one always does
    start       copies the values that enter to the storage of the loop variables
    head        the part of each iteration before the condition
    condition   whether there is another iteration
    tail        the rest of the iteration, then the loop variables' next values

Python calls the steps until native code can run whole iterations (`native_iterations`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpugraph.compile.control_flow.loop_program import LoopGroup, LoopSteps
from gpugraph.compile.control_flow.native_iterations import NativeIterations
from gpugraph.compile.steps.kernel_context import Cell
from gpugraph.plan import (
    NATIVE,
    Clock,
    Run,
    Step,
    StepCode,
    StepSequence,
    all_steps,
    note_step,
    step_codes,
)


class Loop(LoopGroup):
    """A callable that runs a loop.

    Args:
      native: the native iterations, or None if native code is disabled. They are only used in runs
        whose variables are initialized.
    """

    def __init__(
        self,
        name: str,
        loop_steps: LoopSteps,
        dying: Sequence[Cell],
        clock: Clock,
        entered: Callable[[], bool] | None = None,
        native: NativeIterations | None = None,
        guarded: bool = True,
    ) -> None:
        start, head, condition, tail, _ = loop_steps
        self.name = name
        self.steps = (*start, *head, condition, *tail)
        self.loop_steps = loop_steps
        self.start = StepSequence(start, guarded)
        self.head = StepSequence(head, guarded)
        self.next = StepSequence((*tail, *head), guarded)
        self.dying = dying
        self.clock = clock
        self.entered = entered
        self.native = native
        self.iterations = 0  # by steps, in all runs
        self.guarded = guarded and any(step.kind == "guard" for step in all_steps(self.steps))

    def unguarded(self) -> Run:
        """Return a callable that runs the loop without checking whether variables are
        initialized.
        """
        rest = self.dying, self.clock, self.entered, self.native
        return Loop(self.name, self.loop_steps, *rest, guarded=False).run

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return lines for the report on whether the loop is currently native."""
        return self.native.notes if self.native is not None else ()

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield each step of the loop with the code that currently runs it."""
        by_python = None if self.native is None else self.native.by_python
        if by_python is None:
            return step_codes(self.steps)
        plain = {step for step, _ in step_codes(by_python)}
        codes = step_codes(self.steps)
        return ((step, code if step in plain else NATIVE) for step, code in codes)

    def run(self) -> None:
        """Run all iterations."""
        if self.entered is not None and not self.entered():
            return
        native = self.native
        if native is not None and not self.guarded and native.is_ready():
            native.run()
        else:
            self._run_steps()
            if native is not None:
                native.begin_if_worthwhile()
        for cell in self.dying:
            cell.release()

    def _run_steps(self) -> None:
        condition, runs, clock = self.loop_steps.condition, self.next.runs, self.clock
        is_going_on = condition.run
        self.start.run()
        self.head.run()
        current: Run | None = is_going_on
        try:
            while is_going_on():
                self.iterations += 1
                for current in runs:  # calls bound before the loop, to save time
                    current()
                if clock.armed:
                    current = None  # an error after this is no step's
                    clock.check(f"in the loop '{self.name}'")
                current = is_going_on
        except Exception as error:
            if current is is_going_on:
                note_step(error, condition)
            self.next.note(error, current)
            raise
