"""The program of an open plan: all its steps as one list of instructions.

    plan's steps      run of steps  flag  region {a, b}  loop       kernels, nested groups
    instructions      call call ...  if set jump  unless call call ...  again

Native calls, copies, and accesses to stacks and TensorArrays are instructions. The sizes of each
run are written into the words of these calls (`open_plan`). Flags and jumps are the same for all
sizes. At a step without native code, the program returns to Python, which runs the step with the
current sizes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.sizes import SizeTrace, has_open_sizes, is_open, literals_refused
from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.binding.loop_sizes import LoopRegisters
from gpugraph.compile.binding.native_reports import NativeReport, native_report
from gpugraph.compile.binding.open_binding import OpenBinder, bound_call
from gpugraph.compile.binding.open_copies import (
    bound_copy,
    bound_index,
    never_bound,
    no_flush,
    no_restart,
)
from gpugraph.compile.binding.open_steps import (
    AccessStep,
    CurrentSizes,
    MoveStep,
    NumPyStep,
    Opened,
    ReportStep,
    SizedStep,
    StepKey,
    without_zero_tests,
)
from gpugraph.compile.binding.size_reports import Flush, Report, Reports
from gpugraph.compile.control_flow.loop_program import (
    Label,
    LoopGroup,
    LoopProgram,
    Part,
    element_access,
    nothing_refused,
)
from gpugraph.compile.control_flow.native_while_loops import NativeLoop
from gpugraph.compile.steps.compiled_stretch import CompiledStretch, MemberStep
from gpugraph.compile.steps.dynamic_steps import DynamicStep
from gpugraph.compile.steps.guarded_regions import AnyFlag
from gpugraph.compile.steps.native_node_code import native_form
from gpugraph.compile.steps.stretch import Stretch
from gpugraph.compile.steps.tensor_moves import Move, Releasing, WriteIndex, do_nothing
from gpugraph.compile.unit.compile_unit import TensorId
from gpugraph.devices.native import NotNativeError, OpenCall, move, sequence, words_of
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import ViewCopies
from gpugraph.ops.tensor_arrays.container_ops import ContainerAccess
from gpugraph.ops.tensor_arrays.element_store import Kind
from gpugraph.plan import Run, Step, StepGroup, all_steps


class NotOpenError(Exception):
    """The error for a plan that can't become an open plan, because one of its steps works for one
    set of sizes only.
    """


class OpenProgram(LoopProgram):
    """The instructions of an open plan.

    Attributes:
      natives: maps the index of an instruction to its native call.
      bound: the steps that are bound to arrays for each set of sizes.
      bools: maps the index of an instruction to the view of the bool that it tests or sets.
      kinds: maps a pair (open shape, dtype) of a container's elements to the addresses of the words
        that hold the number of this pair.
      reasons: maps the name of a native step or copy to the reason why it must be bound to arrays
        for each set of sizes.
      loops: for each loop, the indices of its first instruction and of the instruction after it,
        and its step.
      reports: for each stage after the first, the kernels that report a size just before it.
      flush_places: the indices of the instructions that run these stages.
      accesses: the number of steps that access a container.
      size_words: maps the index of an instruction to the sizes that a loop has next, by the address
        where the stage of the instruction writes them.
      loop_stages: the stages that run at the start of each iteration of a loop.
    """

    def __init__(
        self,
        binder: OpenBinder,
        trace: SizeTrace,
        run_plain: Callable[[Node, StepKey], Any],
        flags: bytearray,
        reports: Reports | None = None,
        flush: Callable[[int], None] = no_flush,
        restart: Callable[[int, Collection[str]], Exception] = no_restart,
    ) -> None:
        """Create an empty program.

        Args:
          run_plain: a function that runs the step of a node in NumPy, with the current sizes.
          reports: the sizes that a run reports, or None.
          flush: a function that runs a stage, given its number.
          restart: a function that prepares that the run begins again with another plan, and returns
            the error to raise. It receives the number of a stage, and the names of the sizes that
            must be known before the stage and have no value.
        """
        super().__init__(binder.copies, flags)
        self._binder, self._trace, self._run_plain = binder, trace, run_plain
        self._nodes: Mapping[str, Node] = {node.name: node for node in binder.unit.order}
        self.natives: dict[int, Opened] = {}
        self.bound: list[NumPyStep | MoveStep] = []
        self.bools: dict[int, Any] = {}
        self.kinds: dict[Kind, list[int]] = {}
        self._depth = 0  # the number of loops around the next instruction
        self.sizes = CurrentSizes(reports is not None and bool(reports.loop_ends))
        self.accesses = 0
        self.loops: list[tuple[int, int, Step]] = []
        self.reasons: dict[str, str] = {}
        self._flushes: list[Flush] = [] if reports is None else list(reports.flushes)
        self._growing = {} if reports is None else reports.loops
        self._loop_ends = {} if reports is None else reports.loop_ends
        self._flush, self._restart = flush, restart
        self._reports: dict[int, ReportStep | LoopRegisters] = {}
        self._registers: dict[str, LoopRegisters] = {}  # by the condition of a loop
        self.size_words: dict[int, dict[int, Any]] = {}
        self._report_places: set[int] = set()
        self._after: dict[int, Sequence[Opened]] = {}  # by node that reports, what follows
        self.reports: list[Sequence[tuple[Report, ReportStep | LoopRegisters]]] = []
        self.loop_stages: set[int] = set()
        self.flush_places: list[int] = []
        self._bound_begins: list[int] = [0]

    def add(self, steps: Iterable[Step]) -> None:
        """Add the steps of the plan. Raises NotOpenError if a step can't become an instruction."""
        self._steps(steps)
        self._flush_before(len(self._binder.unit.order))

    def loop_at(self, number: int) -> str:
        """Return the name of the innermost loop that contains an instruction."""
        around = [loop for loop in self.loops if loop[0] <= number < loop[1]]
        return min(around, key=lambda loop: loop[1] - loop[0])[2].name if around else ""

    # -- reported sizes

    def _step(self, step: Step) -> None:
        if self._flushes and not isinstance(step.group, Stretch):
            steps = all_steps([step])
            nodes = [self._nodes[inner.name] for inner in steps if inner.name in self._nodes]
            positions = self._binder.positions
            if nodes:
                self._flush_before(min(positions[node.id] for node in nodes))
        super()._step(step)

    def _flush_before(self, position: int, step: Step | None = None) -> None:
        """Add the instructions that run stages and must come before `position` in the order of
        nodes.

        Args:
          step: the step that is listed for a stage without reports.
        """
        while self._flushes and self._flushes[0].position <= position:
            reports = self._flushes.pop(0).reports
            pairs = [(report, self._reports[report.node.id]) for report in reports]
            self.reports.append(pairs)
            self.flush_places.append(len(self.parts))
            if self._depth:
                self.loop_stages.add(len(self.reports))
            self._bound_begins.append(len(self.bound))
            run = partial(self._flush, len(self.reports))
            record = pairs[-1][1].step_record if pairs else step
            if record is None:
                raise NotOpenError("a stage of sizes in a conditional part")
            self._python(replace(record, part="sizes", kind="measure", run=run), run)
            for report, _ in pairs:
                for opened in self._after.get(report.node.id, ()):
                    self._native(opened)

    @property
    def reported_names(self) -> Sequence[Sequence[Sequence[str]]]:
        """The names of the reported sizes, for each stage after the first."""
        return [[names for report, _ in pairs for names in report.names] for pairs in self.reports]

    def stage_of(self, number: int) -> int:
        """Return the number of the stage that writes the sizes of an instruction."""
        return bisect_left(self.flush_places, number)

    def bound_in(self, stage: int) -> Sequence[NumPyStep | MoveStep]:
        """Return the steps of a stage that must be bound to arrays for each set of sizes."""
        begins = [*self._bound_begins, len(self.bound)]
        return self.bound[begins[stage] : begins[stage + 1]]

    def is_by_python(self, stage: int) -> bool:
        """Return whether Python runs the kernel that reports the sizes of a stage."""
        return any(step.count is None for _, step in self.reports[stage - 1])

    def is_report(self, number: int) -> bool:
        """Return whether an instruction calls a kernel that reports a size."""
        return number in self._report_places

    def make_native(self, number: int, call: Run) -> None:
        """Let a native call replace an instruction that returns to Python. If the native call
        fails, Python runs the step of the instruction.
        """
        part = self.parts[number]
        self.parts[number] = part._replace(kind="call", call=call)
        self.by_python.remove(part.step)

    def _start_sizes(self, condition: Step) -> None:
        loop = self._growing.get(condition.name)
        if loop is not None:
            registers = self._registers[condition.name] = LoopRegisters(loop, condition)
            self._reports[loop.merge.id] = registers
            self._set_sizes(condition, registers.start, registers.first_words)

    def _set_sizes(self, condition: Step, call: Run, words: dict[int, Any]) -> None:
        self.size_words[len(self.parts)] = words
        self.parts.append(Part(condition, "call", nothing_refused, call))

    def _begin_iteration(self, condition: Step) -> None:
        self._depth += 1
        if condition.name in self._growing:
            self._flush_before(self._growing[condition.name].head)

    def _next_sizes(self, condition: Step) -> None:
        self._depth -= 1
        if condition.name in self._registers:
            registers = self._registers[condition.name]
            self._set_sizes(condition, registers.go_on, registers.next_words)

    def _leave(self, condition: Step) -> None:
        if condition.name in self._loop_ends:
            self._flush_before(self._loop_ends[condition.name], condition)

    def _report(self, step: Step, run: DynamicStep, node: Node) -> None:
        """Add the step of a node to the program. The node's kernel reports a size."""
        if run.bound.variables:
            raise NotOpenError(f"'{step.name}' reports a size of a variable")
        report = ReportStep(run, *self._tensors(run), self.sizes, step)
        native = self._native_report(step, run)
        self._reports[node.id] = report
        if native is None:
            self._python(step, report)
            return
        report.count, self._after[node.id] = native.count, native.after
        self._report_places.add(len(self.parts))
        self._native(native.call, partial(self._refuse_report, report))

    def _tensors(self, run: DynamicStep) -> tuple[list[Any], list[Any]]:
        """Return the views, cells and constants that a step reads, and the views and cells that it
        writes.
        """
        values = self._binder.plain.unit.values
        opened = self._binder.unit.values
        inputs = [
            values[key] if key in values and not has_open_sizes(opened[key]) else self._tensor(key)
            for key, _ in run.bound.inputs
        ]
        return inputs, [self._tensor(key) for key, _ in run.bound.outputs]

    def _tensor(self, key: TensorId) -> Any:
        home = self._binder.unit.homes[key]
        is_run_sized = home.storage.kind == "cell"
        return self._binder.plain.cell(home.storage) if is_run_sized else self._binder.array(home)

    def _native_report(self, step: Step, run: DynamicStep) -> NativeReport | None:
        try:
            return native_report(step, run, self._binder, self._trace, self.sizes)
        except Exception as error:
            if raised_by_handler(error):
                raise
            self.reasons[step.name] = f"{type(error).__name__}: {error}"
            return None

    def _refuse_report(self, report: ReportStep) -> None:
        """Run a kernel that reports a size in NumPy, after its native call has rejected its input.
        NumPy raises the error if there is one. A negative integer that should be a size is no
        error: another plan must run.
        """
        if report.step_record.op_type == "_Lengths":
            for stage, pairs in enumerate(self.reports, 1):
                for known, step in pairs:
                    if step is report:
                        raise self._restart(stage, known.all_names)
        report()

    # -- callables of steps

    def _do(self, step: Step, run: Run) -> None:
        if isinstance(run, Releasing):
            self._do(step, run.run)
            self._python(step, run.release)
        else:
            super()._do(step, run)

    def _run(self, step: Step, run: Run) -> None:
        if run is do_nothing:
            return
        if run in self._binder.moves:
            self._move(step, run, self._binder.moves[run])
        elif isinstance(run, WriteIndex):
            self._index(step, run)
        elif isinstance(run, ContainerAccess):
            self._access(step, run)
        elif isinstance(run, DynamicStep) and run.node.id in self._binder.unit.reported:
            self._report(step, run, self._nodes[step.name])
        elif step.kind == "flag":
            self._python(step, run)  # it reads a cell, or no tensor
        elif step.kind in ("kernel", "copy") and step.name in self._nodes:
            self._by_numpy(step, run)
        else:
            raise NotOpenError(f"'{step.name}' ({step.op_type})")

    def _by_numpy(self, step: Step, run: Run | None = None) -> None:
        node = self._nodes[step.name]
        if isinstance(run, DynamicStep) and not run.bound.variables:
            with suppress(NotNativeError):
                self._python(step, SizedStep(run, *self._tensors(run), self.sizes))
                return
        current = NumPyStep(node, step)
        if not self._binder.is_lasting(node):
            self.bound.append(current)
        self._python(step, current)

    def _if_array(
        self, step: Step, kind: Any, array: Any, target: Label, key: TensorId | None
    ) -> None:
        assert key is not None
        self.bools[len(self.parts)] = self._binder.array(self._binder.unit.homes[key])
        super()._if_array(step, kind, array, target, key)

    def _native(self, opened: Opened, plain: Run = nothing_refused) -> None:
        self.natives[len(self.parts)] = opened
        self.parts.append(Part(opened.step, "call", plain, opened.call))

    # -- copies

    def _move(self, step: Step, run: Run, args: Move) -> None:
        """Add a copy. If possible, the copy becomes a native instruction."""
        keys = args.source[0], args.target[0]
        views = self._binder.views(args)
        if views is not None and any(type(size) is int and not size for size in views[0].shape):
            return  # there is nothing to copy
        if run in self._copies and views is not None:
            try:
                pair = self._copies[run]
                self._native(self._opened_copy(step, pair, views, partial(bound_copy, keys)))
                return
            except NotNativeError as error:
                self.reasons[step.label] = str(error)
        if not all(key in self._binder.unit.homes for key in keys):
            raise NotOpenError(f"'{step.name}' ({step.op_type}): a side buffer")
        self.bound.append(MoveStep(step, args))
        self._python(step, self.bound[-1])

    def _index(self, step: Step, run: WriteIndex) -> None:
        """Add a step that writes the index of the Merge input that has a value."""
        view = self._binder.array(self._binder.unit.homes[run.key])
        number = run.array.dtype.type(run.value)
        bind = partial(bound_index, run.key, number)
        self._native(self._opened_copy(step, (number, run.array), (number, view), bind))

    def _opened_copy(
        self,
        step: Step,
        arrays: tuple[Any, Any],
        views: tuple[Any, Any],
        bind: Callable[[Binder], Run | None],
    ) -> Opened:
        call = move(*arrays)
        with literals_refused(), self._trace.recording() as conditions:
            opened = move(*views)
        if not isinstance(opened, OpenCall):
            raise NotNativeError("a copy that is bound to arrays")
        words = [(words_of(call, opened), opened)]
        return Opened(step, call, words, without_zero_tests(conditions), bind)

    # -- containers

    def _access(self, step: Step, run: ContainerAccess) -> None:
        """Add an access to an element of a stack or TensorArray."""
        node = self._nodes[step.name]
        try:
            with literals_refused(), self._trace.recording() as conditions:
                opened = self._binder.bound_run(self._binder.bound_node(node))
                if conditions or not isinstance(opened, ContainerAccess):
                    raise NotNativeError("an access with conditions")
            access = element_access(run)
        except NotNativeError:
            self._by_numpy(step)
            return
        plain = AccessStep(opened, self.sizes)
        self.accesses += 1
        fields: dict[str, Any] = {}
        if run.kind is not None:
            assert opened.kind is not None
            fields |= {"value": opened.value.ctypes.data, "bytes": opened.value.nbytes}
            if is_open(opened.kind[0]):
                place = words_of(access.call, OpenCall()).place("kind")
                self.kinds.setdefault(opened.kind, []).append(place)
        if run.copy is not None:
            fields |= {"copy": opened.copy.ctypes.data, "copied": opened.copy.nbytes}
        if run.index is not None:
            fields["index"] = opened.index.ctypes.data
        form = OpenCall(fields)
        words = words_of(access.call, form)
        self.natives[len(self.parts)] = Opened(step, access.call, [(words, form)], (), never_bound)
        self.parts.append(Part(step, "call", plain, access.call, access=access))

    # -- groups

    def _stretch(self, step: Step, code: CompiledStretch, group: StepGroup) -> None:
        for member in code.members:
            inner = member.entry.step
            self._flush_before(self._binder.positions[self._nodes[inner.name].id])
            native = member.entry.native
            if member.calls is None or native is None or native.holding:
                self._do(inner, inner.run)
                continue
            opened = self._opened(self._nodes[inner.name], member)
            if opened is None:
                self._by_numpy(inner)
            else:
                plain = partial(self._refuse, opened.step)
                self._native(opened, plain if member.calls.may_fail else nothing_refused)

    def _opened(self, node: Node, member: MemberStep) -> Opened | None:
        """Return the native step, bound to open sizes if possible.

        This is impossible if the C code itself contains a size, because the code would have to be
        compiled for each set of shapes.
        """
        assert member.calls is not None
        calls, step = member.calls.calls, member.entry.step
        call = calls[0] if len(calls) == 1 else sequence(calls)
        bind = partial(bound_call, node=node)
        try:
            with literals_refused(), self._trace.recording() as conditions:
                opened = self._binder.open_calls(node, member)
            if len(opened) != len(calls):
                raise NotNativeError("it has another number of calls with open sizes")
            words = [(words_of(one, other), other) for one, other in zip(calls, opened)]
        except Exception as error:
            if raised_by_handler(error):
                raise
            self.reasons[node.name] = f"{type(error).__name__}: {error}"
            if member.generated_kernel is not None:
                return None
            return Opened(step, call, (), (), bind)
        copies = isinstance(native_form(node), ViewCopies)
        met = without_zero_tests(conditions) if copies else list(conditions)
        return Opened(step, call, words, met, bind)

    def _refuse(self, step: Step) -> None:
        """Run a step in NumPy after its native call has rejected its input. NumPy raises the error
        if there is one.
        """
        self._run_plain(self._nodes[step.name], (step.kind, step.part))

    def _inner_loop(self, step: Step, loop: LoopGroup) -> None:
        begin, end = len(self.parts), Label()
        if isinstance(loop.entered, AnyFlag):
            enters = Label()
            for flag in loop.entered.flags:
                self._add(step, "if", flag, enters)
            self._add(step, "jump", None, end)
            self._mark(enters)
        elif loop.entered is not None:
            raise NotOpenError(f"the loop '{step.name}'")
        self.loop(loop.loop_steps)
        if loop.dying:
            self._python(step, Releasing(do_nothing, loop.dying).release)
        self._mark(end)
        self.loops.append((begin, len(self.parts), step))

    def _other_group(self, step: Step, group: StepGroup) -> None:
        if not isinstance(group, NativeLoop):
            raise NotOpenError(f"'{step.name}' ({step.kind})")
        begin = len(self.parts)
        self._steps(group.loop.loop_steps.start)
        homes = self._binder.unit.homes
        with literals_refused(), self._trace.recording() as conditions:
            views = [self._binder.array(homes[key]) for key in group.inputs]
            call, form = group.opened(views)
        if conditions:
            raise NotOpenError(f"the sizes of the loop '{step.name}'")
        opened = Opened(step, call, [(words_of(call, form), form)], (), never_bound)
        self._native(opened, group.go_on(call))
        self.loops.append((begin, len(self.parts), step))
