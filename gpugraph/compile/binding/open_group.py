"""The single step of an open plan. This step runs the plan's program as one native call or step by
step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gpugraph.compile.binding.open_program import OpenProgram
from gpugraph.compile.control_flow.native_iterations import ProgramRun
from gpugraph.compile.steps.native_calls import native_code
from gpugraph.devices.native import Iterations
from gpugraph.plan import NATIVE, Clock, Run, Step, StepCode, StepGroup, step_codes


class OpenGroup(StepGroup):
    """A step that runs a program as one native call. In a run with a trace or a time limit, the
    step runs the program step by step.
    """

    def __init__(
        self, steps: Sequence[Step], program: OpenProgram, code: Iterations, clock: Clock
    ) -> None:
        """Create the step.

        Args:
          steps: the steps of the plan from which the program was created.
        """
        self.steps = steps
        self.program, self._code, self._clock = program, code, clock
        self._run = ProgramRun(program.parts, code, clock, program.loop_at)
        self._python = {step.label for step in program.by_python}

    def run(self) -> None:
        """Run the program."""
        self._run.run()

    def unguarded(self) -> Run:
        """Return a callable that runs the program. The caller must ensure that the plan's variables
        have values.
        """
        return self._run.run

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield each step with the code that runs it."""
        for step, code in step_codes(self.steps):
            if step.label not in self._python:
                yield step, NATIVE
            else:
                is_plain = code.state == "plain"
                yield step, code if is_plain else StepCode("plain", "a size is in its code")

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return the line about the program for the report."""
        count, python = len(self.program.parts), self.program.by_python
        names = ", ".join(f"{step.name} ({step.op_type})" for step in python[:8])
        by_python = f"; by Python {len(python)}: {names}" if python else ""
        return [f"one program of {count} instructions for all sizes{by_python}"]

    # -- step by step

    def parts(self, traced: bool) -> Iterator[Step]:  # type: ignore[override]
        """Run the program step by step, and yield each step after the previous step has run."""
        self._run.begin()
        loops = {loop[0]: loop for loop in self.program.loops if not self._is_inner(loop[0])}
        parts, self._next = self.program.parts, 0
        while self._next < len(parts):
            begin = self._next
            if begin in loops:
                _, end, step = loops[begin]
            else:
                end, step = begin + 1, parts[begin].step
                while end < len(parts) and parts[end].step is step and end not in loops:
                    end += 1
            if step.kind in ("region", "guard"):
                self._interpret(begin, end)
                continue
            run = partial(self._interpret, begin, end)
            is_python = step.label in self._python
            code = step.code if is_python else native_code
            kind = "native" if step.kind == "kernel" and not is_python else step.kind
            yield replace(step, run=run, code=code, kind=kind, group=None)

    def _is_inner(self, begin: int) -> bool:
        return any(first < begin < end for first, end, _ in self.program.loops)

    def _interpret(self, begin: int, end: int) -> None:
        """Run instructions one by one, starting at index `begin`, until the next index is outside
        of [begin, end).
        """
        self._next = begin
        while begin <= self._next < end:
            self._next = self._step(self._next)

    def _step(self, number: int) -> int:
        """Run the instruction with this index, and return the index of the next instruction."""
        part = self.program.parts[number]
        target = part.target
        if target is not None:
            if part.kind == "again" and self._clock.armed:
                self._run.check()
            if part.kind in ("if", "unless"):
                is_taken = self._code.is_true(number) is (part.kind == "if")
                return target.place if is_taken else number + 1
            return target.place
        if part.kind == "python" or self._code.run_alone(number):
            return self._run.do(number)
        return number + 1
