"""Native iterations: all iterations of a loop in one call that runs without Python.

The runs of steps in the loop become native calls first (`steps/compiled_stretch`). When all runs of
steps outside of branches are native, the loop becomes one program (`loop_program`). The program
calls the same code, so results are equal bit by bit. If a step has no native code, the program
returns to Python, which runs the step. If an instruction rejects its input, Python runs the
instruction's step, which raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpugraph.compile.analysis.native_cost import WORTHWHILE_NS
from gpugraph.compile.control_flow.loop_program import Copies, LoopProgram, LoopSteps, Part, codes
from gpugraph.compile.steps.compiled_stretch import CompiledStretch
from gpugraph.devices.native import Iterations, runtime_reason
from gpugraph.plan import Clock, Step, all_steps, note_step


class ProgramRun:
    """A callable that runs a program natively, except for the instructions that only Python can
    execute.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        program: Iterations,
        clock: Clock,
        loop_at: Callable[[int], str],
    ) -> None:
        """Create the callable.

        Args:
          loop_at: a function that receives the index of an instruction and returns the name of the
            loop that contains it.
        """
        self.parts, self.program, self.clock = parts, program, clock
        self._loop_at = loop_at
        self._by_python = {number for number, part in enumerate(parts) if part.kind == "python"}

    def begin(self) -> None:
        """Begin a run."""
        self.program.start()

    def run(self) -> None:
        """Run the program."""
        program, clock, by_python = self.program, self.clock, self._by_python
        self.begin()
        while (left := program.run(self.check)) is not None:
            while left is not None:
                following = self.do(left)
                program.start(following)
                if clock.armed:
                    self.check()
                left = following if following in by_python else None

    def do(self, number: int) -> int:
        """Let Python execute an instruction without native code. Return the index of the next
        instruction.
        """
        part = self.parts[number]
        try:
            goes_on = part.plain()
            if part.access is not None:
                part.access.bind()
        except Exception as error:
            note_step(error, part.step)
            raise
        is_left = part.leaves is not None and not goes_on
        return part.leaves.place if part.leaves is not None and is_left else number + 1

    def check(self) -> None:
        """Raise an error if the run must end, for example because its time limit has passed."""
        self.clock.check(f"in the loop '{self._loop_at(self.program.position)}'")


class NativeIterations:
    """The native form of a loop. It can be used as soon as the code of all steps outside of
    branches is compiled.
    """

    def __init__(
        self, name: str, loop_steps: LoopSteps, copies: Copies, flags: bytearray, clock: Clock
    ) -> None:
        """Collect the runs of steps in a loop that may become native.

        Args:
          flags: the flags of the plan.
        """
        self.name = name
        self.loop_steps = loop_steps
        self.copies = copies
        self.flags = flags
        self.clock = clock
        self._steps = (*loop_steps.head, *loop_steps.tail)
        self._awaited: Sequence[CompiledStretch] = list(codes(self._steps))
        self._codes = list(codes(all_steps(self._steps)))
        self._parts: Sequence[Part] = ()
        self._by_python: Sequence[Step] = ()
        self._program: Iterations | None = None
        self._run: ProgramRun | None = None
        self._has_begun = False

    @property
    def notes(self) -> Sequence[str]:
        """Report lines about the native loop. There are none until the loop is native."""
        if self._program is None:
            return ()
        python = self._by_python
        names = ", ".join(f"{step.name} ({step.op_type})" for step in python[:8])
        by_python = f"; by Python {len(python)}: {names}" if python else ""
        count = len({part.step for part in self._parts})
        return [f"one native call of the loop {self.name}: {count} steps{by_python}"]

    @property
    def by_python(self) -> Sequence[Step] | None:
        """The steps of the native loop that Python runs, or None until the loop is native."""
        return None if self._program is None else self._by_python

    def begin_if_worthwhile(self) -> None:
        """Compile all runs of steps together once NumPy has spent enough time on them."""
        if not self._has_begun:
            self._has_begun = sum(code.spent for code in self._codes) >= WORTHWHILE_NS
            if self._has_begun:
                for code in self._codes:
                    code.begin()

    def is_ready(self) -> bool:
        """Return whether the loop can run natively. The program is built when all runs of steps
        outside of branches are native. When more runs of steps become native, it is built again.
        """
        if self._program is None:
            is_any = any(code.final_steps is not None for code in self._codes)
            if is_any and all(code.final_steps is not None for code in self._awaited):
                self._build()
        elif any(code.final_steps is not None for code in self._awaited):
            self._build()
        return self._program is not None

    def run(self) -> None:
        """Run all iterations."""
        assert self._run is not None
        self._run.run()

    def _build(self) -> None:
        """Build the program from the native code that exists at this time."""
        if runtime_reason(wait=False) != "":
            return
        program = LoopProgram(self.copies, self.flags)
        program.loop(self.loop_steps)
        self._parts, self._awaited = program.parts, program.unsettled
        self._by_python = program.by_python
        self._program = program.finish(self.clock.stop)
        self._run = ProgramRun(self._parts, self._program, self.clock, lambda _: self.name)
