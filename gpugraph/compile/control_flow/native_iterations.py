"""Native iterations: all that a loop's iterations do, by one call that goes on without Python.

    start  head  [condition]  tail  next values  [again]
    copy   call  unless: end  call  copy         to the head

Stretches of the loop's steps become native calls first (`steps/tiered_native_code`); once all of
them have, the calls are instructions of one program (`devices/native/iterations`), with copies of
the variables and with accesses to stacks and TensorArrays between them. So results are those of the
steps, bit by bit. What has no native code runs by Python between two parts of the program, and
so does what an instruction refuses: it raises the error of its step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import InternalError
from gpugraph.compile.steps.step_tier import RefusableCall
from gpugraph.compile.steps.stretch import Stretch
from gpugraph.compile.steps.tensor_moves import do_nothing
from gpugraph.compile.steps.tiered_native_code import WORTHWHILE_S, TieredCode
from gpugraph.devices.native import (
    ElementAccess,
    Instruction,
    Iterations,
    NotNativeError,
    move,
    runtime_reason,
)
from gpugraph.ops.tensor_arrays.container_ops import Access
from gpugraph.ops.tensor_arrays.element_store import kind_number
from gpugraph.plan import Clock, Run, Step, all_steps, note_step


class LoopSteps(NamedTuple):
    """The steps of a loop, by the time when they run. `condition.run()` returns its value."""

    start: Sequence[Step]
    head: Sequence[Step]
    condition: Step
    tail: Sequence[Step]


class LoopArrays(NamedTuple):
    """Where native code finds what a loop's steps use.

    copies: by what runs it, the arrays from which and to which a step copies. predicate: the array
    of the condition's predicate, and the value with which the loop goes on; None where it has none.
    """

    copies: Mapping[Run, tuple[Any, Any]]
    predicate: tuple[Any, bool] | None


class _Part(NamedTuple):
    """A step as an instruction. `plain` does it by Python, where it has no call or is refused."""

    step: Step
    instruction: Instruction
    plain: Run
    access: ElementAccess | None = None


class NativeIterations:
    """Runs a loop by native calls, once its stretches have become such."""

    def __init__(self, name: str, loop_steps: LoopSteps, arrays: LoopArrays, clock: Clock) -> None:
        self.name = name
        self.loop_steps = loop_steps
        self.arrays = arrays
        self.clock = clock
        self._steps = (*loop_steps.head, *loop_steps.tail)
        self._codes = list(_codes(self._steps))  # of stretches that are in no branch
        self._parts: list[_Part] = []
        self._program: Iterations | None = None
        self._has_begun = False
        self._spent = 0.0

    @property
    def notes(self) -> Sequence[str]:
        """What an iteration consists of, once it is native."""
        if self._program is None:
            return ()
        python = [part.step for part in self._parts if part.instruction.kind == "python"]
        names = ", ".join(f"{step.name} ({step.op_type})" for step in python[:8])
        by_python = f"; by Python {len(python)}: {names}" if python else ""
        native = len(self._parts) - len(python)
        return [f"one native call of the loop {self.name}: {native} instructions{by_python}"]

    def spend(self, begun: float) -> None:
        """Steps of the loop have run since `begun`: its code is compiled once that pays."""
        if not self._has_begun:
            self._spent += perf_counter() - begun
            self._has_begun = self._spent >= WORTHWHILE_S
            if self._has_begun:
                for code in _codes(all_steps(self._steps)):
                    code.begin()

    def is_ready(self) -> bool:
        """Whether the loop can run by native calls; they are put together when they are there."""
        if self._program is None and all(code.final_steps is not None for code in self._codes):
            self._build()
        return self._program is not None

    def run(self) -> None:
        """Runs all iterations."""
        program, parts, clock = self._program, self._parts, self.clock
        assert program is not None
        for part in parts:
            if part.access is not None:
                part.access.forget()
        program.start()
        current: _Part | None = None
        try:
            while (left := program.run(self._check)) is not None:
                current = parts[left]
                goes_on = current.plain()
                if current.access is not None:
                    current.access.bind()
                is_over = current.step is self.loop_steps.condition and not goes_on
                program.start(len(parts) if is_over else left + 1)
                current = None  # no step is to blame for what ends the run
                if clock.armed:
                    self._check()
        except Exception as error:
            if current is not None:
                note_step(error, current.step)
            raise

    def _check(self) -> None:
        self.clock.check(f"in the loop '{self.name}'")

    # -- putting it together

    def _build(self) -> None:
        """Makes the program, if any of the steps has native code."""
        start, head, condition, tail = self.loop_steps
        if not self._codes or runtime_reason(wait=False) != "":
            return
        begin = list(self._translated(start))
        before, after = list(self._translated(head)), list(self._translated(tail))
        again = _Part(condition, Instruction("again", target=len(begin)), _nothing_refused)
        size = len(begin) + len(before) + len(after) + 2
        self._parts = [*begin, *before, self._asked(condition, size), *after, again]
        self._program = Iterations([part.instruction for part in self._parts], self.clock.stop)

    def _asked(self, condition: Step, end: int) -> _Part:
        """Goes to the end where the condition fails."""
        predicate = self.arrays.predicate
        if predicate is None:
            return _Part(condition, Instruction("python"), condition.run)
        array, goes_on = predicate
        instruction = Instruction("unless" if goes_on else "if", value=array, target=end)
        return _Part(condition, instruction, _nothing_refused)

    def _translated(self, steps: Iterable[Step]) -> Iterator[_Part]:
        """The steps without guards of variables, which have run before."""
        for step in steps:
            group = step.group
            if isinstance(group, Stretch) and isinstance(group.code, TieredCode):
                yield from self._translated(group.code.final_steps or ())
            elif step.kind != "guard" and step.run is not do_nothing:
                plain = step.run if group is None else group.unguarded()
                try:
                    yield self._native(step)
                except NotNativeError:
                    yield _Part(step, Instruction("python"), plain)

    def _native(self, step: Step) -> _Part:
        """NotNativeError for a step that Python runs."""
        run = step.run
        if step.kind == "native":
            if isinstance(run, RefusableCall):
                return _Part(step, Instruction("call", run.call), run.refuse)
            return _Part(step, Instruction("call", run), _nothing_refused)
        if isinstance(run, Access):
            access = _element_access(run)
            return _Part(step, Instruction("call", access.call), run.run, access)
        if step.group is None and run in self.arrays.copies:
            source, target = self.arrays.copies[run]
            return _Part(step, Instruction("call", move(source, target)), _nothing_refused)
        raise NotNativeError(f"'{step.name}' ({step.op_type}) has no native code")


def _codes(steps: Iterable[Step]) -> Iterator[TieredCode]:
    """The code of the stretches among the steps."""
    for step in steps:
        if isinstance(step.group, Stretch) and isinstance(step.group.code, TieredCode):
            yield step.group.code


def _element_access(run: Access) -> ElementAccess:
    """NotNativeError for elements that are no numbers, and arrays that are not C-ordered."""
    arrays = [run.handle, run.value, run.index, run.copy]
    for array in arrays:
        if array is not None and not (isinstance(array, np.ndarray) and array.flags.c_contiguous):
            raise NotNativeError("an array is not C-ordered")
    if run.value.dtype.hasobject is (run.kind is not None) or not run.handle.dtype.hasobject:
        raise NotNativeError("an element is an object")
    kind = 0 if run.kind is None else kind_number(run.kind)
    return ElementAccess(run.form, run.handle, run.value, kind, run.index, run.copy)


def _nothing_refused() -> Any:
    raise InternalError.of_no_node("A native instruction that refuses nothing failed")
