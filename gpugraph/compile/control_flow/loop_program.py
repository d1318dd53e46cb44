"""The program of a native loop: its steps as instructions, with labels as jump targets.

    start copies of the values that enter
    again:         head
                   unless predicate: end
                   tail, next values            a region:  unless flag: behind
                   again                                   its steps
    end:                                        behind:

Native runs of steps, copies of loop variables, and accesses to stacks and TensorArrays become call
instructions. Flags are bytes that instructions set and test. If a step has no native code, Python
runs it (`devices/native/iterations`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import InternalError
from gpugraph.compile.control_flow.merge_step import Merging
from gpugraph.compile.steps.compiled_stretch import CompiledStretch
from gpugraph.compile.steps.guarded_regions import (
    CopyFlags,
    GuardedRegion,
    JoinFlags,
    RunIfUp,
    SetFlags,
    SetPredicate,
)
from gpugraph.compile.steps.kernel_context import Cell
from gpugraph.compile.steps.native_calls import RefusableCall
from gpugraph.compile.steps.stretch import Stretch
from gpugraph.compile.steps.tensor_moves import InOrder, do_nothing
from gpugraph.compile.unit.compile_unit import TensorId
from gpugraph.devices.native import (
    ElementAccess,
    Instruction,
    InstructionKind,
    Iterations,
    NotNativeError,
    move,
)
from gpugraph.ops.tensor_arrays.container_ops import ContainerAccess
from gpugraph.ops.tensor_arrays.element_store import kind_number
from gpugraph.plan import Run, Step, StepGroup

Copies = Mapping[Run, tuple[Any, Any]]
"""By the callable of a copying step: its source array and its destination array."""


class LoopPredicate(NamedTuple):
    """A predicate: its array and tensor, and the value for which a loop continues."""

    array: Any
    value: bool
    key: TensorId


class LoopSteps(NamedTuple):
    """The steps of a loop, by phase. `condition.run()` returns whether there is another iteration.

    Args:
      predicate: a `LoopPredicate` or flags, which instructions test instead of running `condition`.
        The loop continues if the predicate's array holds its `value`, or if one of the flags is
        set. With None, `condition` runs.
    """

    start: Sequence[Step]
    head: Sequence[Step]
    condition: Step
    tail: Sequence[Step]
    predicate: LoopPredicate | Sequence[int] | None = None


class LoopGroup(StepGroup):
    """The group of steps that a loop's step runs.

    Args:
      dying: the cells that are released after the loop.
      entered: a callable that returns whether any value enters the loop. If no value enters,
        the loop does not run.
    """

    loop_steps: LoopSteps
    dying: Sequence[Cell]
    entered: Callable[[], bool] | None


class Label:
    """A position in a program that is the target of jumps."""

    __slots__ = ("place",)

    def __init__(self) -> None:
        self.place = -1


class Part(NamedTuple):
    """A step as an instruction.

    If there is no native call, or the call rejects its input, Python calls `plain`. If `plain`
    returns a false value and `leaves` is a label, the program continues at the label `leaves`.
    """

    step: Step
    kind: InstructionKind
    plain: Run
    call: Any = None
    address: int = 0
    target: Label | None = None
    access: ElementAccess | None = None
    leaves: Label | None = None


class LoopProgram:
    """The instructions of a loop. Its methods add instructions.

    Attributes:
      by_python: the steps without native code.
      unsettled: the runs of steps whose code may still change.
    """

    def __init__(self, copies: Copies, flags: bytearray) -> None:
        self.parts: list[Part] = []
        self.by_python: list[Step] = []
        self.unsettled: list[CompiledStretch] = []
        self._copies = copies
        self.flags = flags
        self._flags = (ctypes.c_char * len(flags)).from_buffer(flags)  # which stay where they are

    def finish(self, stop: Any) -> Iterations:
        """Return the program, bound to the memory of the plan."""
        instructions = [
            Instruction(
                part.kind, part.call, part.address, 0 if part.target is None else part.target.place
            )
            for part in self.parts
        ]
        return Iterations(instructions, stop, self._flags)

    def loop(self, loop_steps: LoopSteps) -> None:
        """Add a loop."""
        start, head, condition, tail, _ = loop_steps
        again, end = Label(), Label()
        self._steps(start)
        self._start_sizes(condition)
        self._mark(again)
        self._begin_iteration(condition)
        self._steps(head)
        self._ask(loop_steps, end)
        self._steps(tail)
        self._next_sizes(condition)
        self._add(condition, "again", target=again)
        self._mark(end)
        self._leave(condition)

    def _start_sizes(self, condition: Step) -> None:
        """Add the instructions that set the first sizes of the loop with this condition."""

    def _begin_iteration(self, condition: Step) -> None:
        """Add the instruction that computes the sizes of an iteration."""

    def _next_sizes(self, condition: Step) -> None:
        """Add the instruction that sets the sizes of the next iteration."""

    def _leave(self, condition: Step) -> None:
        """Add the instruction that computes the sizes of the instructions after the loop."""

    # -- parts

    def _add(
        self,
        step: Step,
        kind: InstructionKind,
        flag: int | None = None,
        target: Label | None = None,
    ) -> None:
        """Add an instruction that jumps or changes a flag. Such an instruction can't fail."""
        address = 0 if flag is None else ctypes.addressof(self._flags) + flag
        self.parts.append(Part(step, kind, nothing_refused, None, address, target))

    def _mark(self, label: Label) -> None:
        """Set the position of the label to the current end of the program."""
        label.place = len(self.parts)

    def _python(self, step: Step, plain: Run, leaves: Label | None = None) -> None:
        self.by_python.append(step)
        self.parts.append(Part(step, "python", plain, leaves=leaves))

    def _ask(self, loop_steps: LoopSteps, end: Label) -> None:
        """Add instructions that jump to `end` if the loop's condition is false."""
        condition, predicate = loop_steps.condition, loop_steps.predicate
        if predicate is None:
            self._python(condition, condition.run, end)
        elif isinstance(predicate, LoopPredicate):
            kind: InstructionKind = "unless" if predicate.value else "if"
            self._if_array(condition, kind, predicate.array, end, predicate.key)
        else:
            goes_on = Label()
            for flag in predicate:
                self._add(condition, "if", flag, goes_on)
            self._add(condition, "jump", None, end)
            self._mark(goes_on)

    def _if_array(
        self, step: Step, kind: InstructionKind, array: Any, target: Label, key: TensorId | None
    ) -> None:
        """Add a conditional jump to `target`. The jump is taken if the bool in `array` is true
        (`kind` "if") or false ("unless").

        Args:
          key: the tensor that the array holds.
        """
        self.parts.append(Part(step, kind, nothing_refused, None, array.ctypes.data, target))

    # -- steps

    def _steps(self, steps: Iterable[Step]) -> None:
        """Add steps, but no steps that check whether variables are initialized, because those have
        run before the loop.
        """
        for step in steps:
            if step.kind != "guard":
                self._step(step)

    def _step(self, step: Step) -> None:
        group = step.group
        if isinstance(group, Stretch) and isinstance(group.code, CompiledStretch):
            self._stretch(step, group.code, group)
        elif isinstance(group, GuardedRegion):
            behind = Label()
            self._add(step, "unless", group.flag, behind)
            self._steps(group.steps)
            self._mark(behind)
        elif isinstance(group, LoopGroup):
            self._inner_loop(step, group)
        elif group is not None:
            self._other_group(step, group)
        else:
            self._do(step, step.run)

    def _do(self, step: Step, run: Run) -> None:
        """Add the instructions of a step of any kind."""
        if isinstance(run, SetPredicate) and run.array is not None:
            self._set_predicate(step, run)
        elif isinstance(run, JoinFlags):
            self._join(step, run)
        elif isinstance(run, SetFlags):
            for flag in run.flags:
                self._add(step, "set" if run.value else "clear", flag)
        elif isinstance(run, CopyFlags):
            self._copy_flags(step, run)
        elif isinstance(run, Merging):
            self._merge(step, run)
        elif isinstance(run, RunIfUp):
            behind = Label()
            self._add(step, "unless", run.flag, behind)
            self._do(step, run.run)
            self._mark(behind)
        elif isinstance(run, InOrder):
            self._do(step, run.first)
            self._do(step, run.second)
        else:
            self._run(step, run)

    def _run(self, step: Step, run: Run) -> None:
        """Add a single instruction that executes a step: a native call if the step has one, and
        otherwise a return to Python.
        """
        if run is do_nothing:
            return
        try:
            self.parts.append(self._call(step, run))
        except NotNativeError:
            self._python(step, run)

    def _call(self, step: Step, run: Run) -> Part:
        """Return the step as an instruction with a native call. Raises NotNativeError if the step
        has no native call.
        """
        if isinstance(run, RefusableCall):
            return Part(step, "call", run.refuse, run.call)
        if step.kind == "native":
            return Part(step, "call", nothing_refused, run)
        if isinstance(run, ContainerAccess):
            access = element_access(run)
            return Part(step, "call", run.run, access.call, access=access)
        if run in self._copies:
            return Part(step, "call", nothing_refused, move(*self._copies[run]))
        raise NotNativeError(f"'{step.name}' ({step.op_type}) has no native code")

    def _other_group(self, step: Step, group: StepGroup) -> None:
        """Add a group that Python runs as a whole."""
        self._python(step, group.unguarded())

    def _stretch(self, step: Step, code: CompiledStretch, group: StepGroup) -> None:
        if code.final_steps is None:
            self.unsettled.append(code)
            self._python(step, group.unguarded())
        else:
            self._steps(code.final_steps)

    def _inner_loop(self, step: Step, loop: LoopGroup) -> None:
        """Add an inner loop. If all its steps are native, add their instructions. Otherwise add one
        step that Python runs.
        """
        _, head, _, tail, _ = loop.loop_steps
        unsettled = [code for code in codes((*head, *tail)) if code.final_steps is None]
        if unsettled or loop.dying or loop.entered is not None:
            self.unsettled += unsettled
            self._python(step, loop.unguarded())
        else:
            self.loop(loop.loop_steps)

    # -- flags

    def _set_predicate(self, step: Step, run: SetPredicate) -> None:
        """Add instructions that set one of a predicate's two flags (for true and false) and clear
        the other flag. If the predicate has no value, the instructions clear both flags.
        """
        is_true, neither, behind = Label(), Label(), Label()
        for flag in run.base:
            self._add(step, "unless", flag, neither)
        self._if_array(step, "if", run.array, is_true, run.key)
        for label, up, down in (
            (None, (run.no,), (run.yes,)),
            (is_true, (run.yes,), (run.no,)),
            (neither, (), (run.yes, run.no)),
        ):
            if label is not None:
                self._mark(label)
            for flag in up:
                self._add(step, "set", flag)
            for flag in down:
                self._add(step, "clear", flag)
            self._add(step, "jump", None, behind)
        self._mark(behind)

    def _join(self, step: Step, run: JoinFlags) -> None:
        """Add instructions that set a flag if several other flags are set, and clear it
        otherwise.
        """
        behind = Label()
        self._add(step, "clear", run.flag)
        for flag in run.parts:
            self._add(step, "unless", flag, behind)
        self._add(step, "set", run.flag)
        self._mark(behind)

    def _copy_flags(self, step: Step, run: CopyFlags) -> None:
        """Add instructions that copy flags."""
        for target, source in run.copies:
            behind = Label()
            if source is not None:
                self._add(step, "clear", target)
                self._add(step, "unless", source, behind)
            self._add(step, "set", target)
            self._mark(behind)

    def _merge(self, step: Step, run: Merging) -> None:
        """Add instructions that copy the only live input of a Merge. If two inputs are alive,
        Python runs the step, and the step raises the error.
        """
        two, behind = Label(), Label()
        for place, (flag, move_input) in enumerate(run.inputs):
            following = Label()
            if flag is not None:
                self._add(step, "unless", flag, following)
            for other, _ in run.inputs[place + 1 :]:
                self._add(step, "jump" if other is None else "if", other, two)
            self._do(step, move_input)
            if run.index is not None:
                self._do(step, run.index[place])
            if run.alive is not None:
                self._add(step, "set", run.alive)
            self._add(step, "jump", None, behind)
            self._mark(following)
        if run.alive is not None:
            self._add(step, "clear", run.alive)
        self._add(step, "jump", None, behind)
        self._mark(two)
        self.parts.append(Part(step, "python", partial(run.refuse_two, self.flags)))
        self._mark(behind)


def codes(steps: Iterable[Step]) -> Iterator[CompiledStretch]:
    """Yield the code of each run of steps among `steps`."""
    for step in steps:
        if isinstance(step.group, Stretch) and isinstance(step.group.code, CompiledStretch):
            yield step.group.code


def element_access(run: ContainerAccess) -> ElementAccess:
    """Return an access to an element of a stack or TensorArray in native form.

    Raises NotNativeError if the elements are not numbers, or an array is not C-ordered.
    """
    for array in (run.handle, run.value, run.index, run.copy):
        if array is not None and not (isinstance(array, np.ndarray) and array.flags.c_contiguous):
            raise NotNativeError("an array is not C-ordered")
    if run.value.dtype.hasobject is (run.kind is not None) or not run.handle.dtype.hasobject:
        raise NotNativeError("an element is an object")
    kind = 0 if run.kind is None else kind_number(run.kind)
    return ElementAccess(run.form, run.handle, run.value, kind, run.index, run.copy)


def nothing_refused() -> Any:
    """Raise InternalError, because an instruction that can't fail has failed."""
    raise InternalError.of_no_node("A native instruction that can't fail failed")
