"""A plan for many sets of shapes. For each set, native code writes the new sizes into the memory of
the plan's native calls.

    plan of one set    -- opened -->   the same plan; the words that depend on sizes are known
    run with other     stage 0         computes sizes, offsets and words up to the first report
    shapes             stage 1, ...    compute the words that depend on sizes that kernels report

A plan of a unit with open sizes is opened once all its steps have their final code. The native
calls of the plan are bound a second time, to views whose sizes and offsets are `Size` objects
(`OpenView`). This yields a formula for each word of a call's block that depends on sizes: a
polynomial of the fed sizes, plus the address of a buffer if the word is an address.

A run has several stages if its kernels report sizes. Stage 0 runs at the start. Each later stage
runs after the kernels that report the sizes which it needs. A stage is one native call
(host_sizes.c). It computes the words of the native calls up to the next stage, and divides their
work among threads for the new sizes.

Some steps are bound to arrays for each set of shapes instead: NumPy steps, native calls that can't
be bound to open sizes, and native calls that are valid only under conditions which the set does not
meet (for example, a condition on the choice of the BLAS).
"""

from __future__ import annotations

import copy
import ctypes
from collections import OrderedDict
from collections.abc import Callable, Collection
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from gpugraph.base.sizes import FedSizes, SizeValues
from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.binding.bound_sets import BoundSet, SetKey, Shapes, UnitOfSizes
from gpugraph.compile.binding.loop_sizes import GrownVariable, grown_variables
from gpugraph.compile.binding.open_binding import OpenBinder, run_of
from gpugraph.compile.binding.open_ends import OpenEnds
from gpugraph.compile.binding.open_group import OpenGroup
from gpugraph.compile.binding.open_program import OpenProgram
from gpugraph.compile.binding.open_steps import StepKey
from gpugraph.compile.binding.open_words import OpenWords
from gpugraph.compile.binding.program_listing import listing
from gpugraph.compile.memory.arena_records import arena_records
from gpugraph.compile.memory.arena_refusal import arena_refused
from gpugraph.compile.unit.compile_unit import Storage, Unit
from gpugraph.devices.native import StageStatus, block_of
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.tensor_arrays.element_store import kind_number
from gpugraph.plan import PassReport, Plan, Run, Step, UnfitReportError, UnfitShapesError

_LINE = 64

MOST_SETS = 256
"""The maximum number of sets of sizes whose bound steps an open plan keeps."""


class OpenPlan:
    """A plan for all sets of shapes that fit its unit."""

    def __init__(
        self, plan: Plan, binder: Binder, unit: UnitOfSizes, fed: FedSizes, lock: Any
    ) -> None:
        """Open a plan. The caller must hold the plan's lock.

        Args:
          fed: a mapping between the sizes of the feeds and the inputs of the unit's trace.
          lock: the session's lock, which is held while the plan's memory grows.
        """
        self.plan, self.binder, self.unit = plan, binder, unit
        self._fed, self._lock = fed, lock
        self._sets: OrderedDict[SetKey, BoundSet] = OrderedDict()
        self._current: Shapes | None = None
        opened = unit.parts.unit
        self._open = OpenBinder.of(binder, unit.parts)
        self._flags = bytearray() if binder.branches is None else binder.branches.flags.values
        program = OpenProgram(
            *(self._open, unit.trace, self.run_plain, self._flags),
            *(unit.reports, self._flush, self._unfit),
        )
        program.add(plan.steps)
        self.program, self._code = program, program.finish(plan.clock.stop)
        self._natives = list(program.natives.values())
        self._numbers = list(program.natives)
        self._asides = [
            GrownVariable(home.storage, [home.storage.size]) for home in self._open.asides.values()
        ]
        self._grown = len(self._asides)  # from this place on: loop variables
        self._asides += grown_variables(opened)
        self._aside_memory: dict[int, Any] = {}  # by place, the memory of an aside
        storages = [*opened.storages, *(aside.storage for aside in self._asides)]
        self._words = OpenWords(unit.trace, fed, program.reported_names, storages)
        self._ends = OpenEnds(plan, self._open, self._words, self._flags)
        self._fill_words(opened)
        self._stages = self._words.finish()
        self._ends.attach(self._stages)
        program.sizes.attach(self._values, self._start_of)
        self._registers, self._atoms = self._stages.registers, np.array(self._words.registers.atoms)
        self._names = [name for name, _ in plan.key.feeds]
        self._places = [self._code.operand_place(number) for number in self._numbers]
        self._bound: list[BoundSet | None] = [None] * len(self._words.rows)
        self._kinds_of: SetKey | None = None  # for which the kinds of elements are set
        self._least_arena = 0
        self._drawing = () if unit.reports is None else unit.reports.drawing
        self._marks: dict[str, Any] = {}  # by node, the position in its stream before the run
        self._set_arena()
        for stage, number in enumerate(program.flush_places, 1):
            if not program.is_by_python(stage) and not self._has_python(stage):
                program.make_native(number, self._stages.calls[stage])
                self._code.set_call(number, self._stages.calls[stage])
        self.group = OpenGroup(plan.steps, program, self._code, plan.clock)
        plan.release_memory = partial(self._release_all, plan.release_memory)
        plan.set_ends(self._ends.feeds, self._ends.fetches, plan.key)
        plan.set_steps([Step.of(self.group, "program")])

    def _fill_words(self, opened: Unit) -> None:
        """Add all words, constants and buffers that depend on sizes to the stages."""
        words, program, reports = self._words, self.program, self.unit.reports
        for stage, flush in enumerate(program.reports, 1):
            names = [names[0] for report, _ in flush for names in report.names]
            words.add_reports(stage, names, [p for _, step in flush for p in step.places])
        for number, native in program.natives.items():
            words.add_call(program.stage_of(number), native)
        for number, sizes in program.size_words.items():
            words.add_words(program.stage_of(number), sizes)
        for number, view in program.bools.items():
            place = self._code.operand_place(number)
            words.add_words(program.stage_of(number), {place: view.ctypes.data})
        for node, kept in self._open.constants.items():
            constant = opened.homes[node, 0].storage.node
            assert constant is not None
            words.add_constant(kept, constant.attrs["value"])
        parts = [0 if reports is None else reports.part_of(s) for s in opened.storages]
        for device in opened.arena_sizes:
            words.add_arena(self.unit.relayout.stacking(device), parts)
        self._aside_rows = [
            [(*words.add_aside(size), size) for size in aside.sizes] for aside in self._asides
        ]

    @property
    def reasons(self) -> dict[str, str]:
        """A dict that maps the name of a native step to the reason why the step must be bound again
        for each set of sizes.
        """
        return self.program.reasons

    @property
    def num_native(self) -> tuple[int, int]:
        """The number of native steps that receive new sizes as words, and the number of all native
        steps.
        """
        return sum(bool(native.calls) for native in self._natives), len(self._natives)

    # -- other sizes

    def select(self, shapes: Shapes) -> None:
        """Prepare the plan for runs with this set of shapes.

        The caller must hold the plan's lock. Raises UnfitShapesError if this plan can't run the
        shapes, and ResourceExhaustedError if there is too little memory.
        """
        if self._drawing:
            states = self.binder.unit.target.resources.states
            self._marks = {name: states[name].mark() for name in self._drawing if name in states}
        if shapes != self._current:
            self._current = None
            self._registers[self._words.registers.fed] = list(chain(*shapes))
            if self._least_arena:
                self._grow(shapes, self._least_arena)
            self._run_stage(0, shapes)
            self._current = shapes
            feeds = tuple(zip(self._names, shapes))
            self.plan.key, self.plan.graph_record = self.plan.key._replace(feeds=feeds), None
        self._code.set_long(self._stages.releases)

    def _flush(self, stage: int) -> None:
        """Run a stage, which follows kernels that report sizes, and write the outputs of these
        kernels.

        Raises UnfitReportError if the reported sizes require another plan or more memory.
        """
        shapes, reports = self._current, self.program.reports[stage - 1]
        assert shapes is not None, "the sizes of the run"
        self._current = None
        for report, step in reports:
            if step.count is None:
                for names, size in zip(report.names, step.sizes):
                    self._registers[self._words.registers.reported[names[0]]] = size
        try:
            self._run_stage(stage, shapes)
        except UnfitReportError:
            self._begin_again()
            raise
        except UnfitShapesError:
            raise self._unfit(stage) from None
        for _, step in reports:
            step.write()
        self._current = shapes

    def _begin_again(self) -> None:
        """Move the streams of random numbers back to their positions at the beginning of the
        run.
        """
        for name, mark in self._marks.items():
            self.binder.unit.target.resources.go_to(name, mark)

    def _unfit(self, stage: int, names: Collection[str] = ()) -> UnfitReportError:
        """Return the error for a run that must begin again with another plan.

        Args:
          stage: the number of the stage whose sizes do not fit.
          names: the sizes that have no value, because their kernel has rejected its input.
        """
        self._begin_again()
        numbers = self._words.registers.reported
        rows = self.program.reported_names[:stage]
        known = {names[0] for stage_names in rows for names in stage_names} - set(names)
        return UnfitReportError(
            is_larger=False,
            reported={
                name: int(self._registers[numbers[name]]) for name in known if name in numbers
            },
        )

    def _run_stage(self, stage: int, shapes: Shapes) -> None:
        """Compute the sizes of a stage, write its words, and bind its NumPy steps."""
        while status := self._stages.run(stage):
            if status is StageStatus.UNMET:
                break
            if status is StageStatus.UNFIT:
                raise UnfitShapesError
            if status is StageStatus.ASIDE:
                self._grow_asides(stage)
            elif stage:
                is_in_loop = stage in self.program.loop_stages  # the next iteration needs more
                self._least_arena = self._stages.needed * (3 if is_in_loop else 2) // 2
                raise UnfitReportError(is_larger=True)
            else:
                self._grow(shapes, self._stages.needed)
        if status or self._has_python(stage) or self._bound[stage] is not None:
            self._bind_stage(stage, shapes)

    def _has_python(self, stage: int) -> bool:
        """Return whether Python must bind anything in a stage: steps, constants, or accesses to
        containers.
        """
        program = self.program
        if program.bound_in(stage) or self._words.constants[stage]:
            return True
        is_in_loop = stage in program.loop_stages  # elements have the shapes of no iteration
        return not is_in_loop and (bool(program.accesses) or bool(program.kinds))

    def _bind_stage(self, stage: int, shapes: Shapes) -> None:
        """Bind the steps of a stage that need arrays of the current sizes. If they were bound to
        these sizes before, use the existing callables.
        """
        registers, program = self._registers, self.program
        rows = chain(*(rows.reported for rows in self._words.rows[1 : stage + 1]))
        key = stage, shapes, tuple([int(registers[row[0]]) for row in rows])
        bound_set = self._sets.get(key)
        if bound_set is None:
            bound_set = self._sets[key] = self._bind(stage)
            while len(self._sets) > MOST_SETS:
                self._sets.popitem(last=False)[1].release()
        elif bound_set is self._bound[stage]:
            self._set_containers(key, bound_set)
            return
        else:
            self._sets.move_to_end(key)
        before, self._bound[stage] = self._bound[stage], bound_set
        if before is not None:
            for index, _ in before.calls:
                self._point(index, self._natives[index].call)
        for index, call in bound_set.calls:
            self._point(index, call)
        self._stages.set_replaced(stage, bool(bound_set.calls))
        for step, run in zip(program.bound_in(stage), bound_set.runs):
            step.run = run
        for kept, numbers in self._words.constants[stage]:
            kept[...] = registers[numbers]
        self._set_containers(key, bound_set)

    def _set_containers(self, key: SetKey, bound_set: BoundSet) -> None:
        """Let accesses to containers use the elements' shapes and the callables for one set of
        sizes. Before the last stage, shapes that depend on later reports are those of an earlier
        run.
        """
        self.program.sizes.runs = bound_set.accesses
        if key == self._kinds_of:
            return
        self._kinds_of, values = key, self._values()
        for (shape, dtype), places in self.program.kinds.items():
            number = kind_number((values.shape(shape), dtype))
            for place in places:
                ctypes.c_int64.from_address(place).value = number

    def _point(self, index: int, call: Run) -> None:
        """Let an instruction of the program call `call`."""
        ctypes.c_int64.from_address(self._places[index]).value = block_of(call)

    def described(self, shapes: Shapes) -> Plan:
        """Return a copy of the plan whose reports and arenas are those for a set of shapes."""
        try:
            unit = self._resolved(shapes)
        except UnfitReportError:  # the last reports need another plan
            inputs = self._fed.of(list(chain(*shapes)))
            values = None if inputs is None else self.unit.trace.values(inputs)
            if values is None:
                raise UnfitShapesError from None
            unit = self._at(values)
        plan = copy.copy(self.plan)
        plan.key, plan.arenas = unit.key, arena_records(unit)
        arenas = {report.name: report for report in self.unit.relayout.reports(unit)}
        plan.reports = tuple(
            arenas[report.name] if report.name == "memory_planning" else report
            for report in self.plan.reports
        )
        plan.reports += (self._listed(),)
        return plan

    def _listed(self) -> PassReport:
        """Return the program as text, in a pass report."""
        natives, opened = self.num_native[1], self.num_native[0]
        summary = (
            f"{len(self.program.parts)} instructions: {natives} native ones, {opened} of them for "
            f"all sizes; {len(self.program.by_python)} return to Python"
        )
        return PassReport("program", summary, listing(self.program, self.unit.trace))

    def run_plain(self, node: Node, key: StepKey) -> Any:
        """Run the step of a node in NumPy, with the current sizes."""
        assert self._current is not None, "the sizes of the run that calls it"
        binder = self._binder(self._resolved(self._current))
        try:
            return run_of(binder, node, key)()
        finally:
            for owned in binder.owned:
                owned.release()

    def release(self) -> None:
        """Release the memory of all steps that are bound to a set of sizes."""
        self._current = None
        self._stages.forget()
        self._drop_sets(0)

    def _drop_sets(self, first: int) -> None:
        """Drop the bound steps of the stages from `first` on, because the addresses to which they
        are bound will change.
        """
        for stage in range(first, len(self._bound)):
            bound, self._bound[stage] = self._bound[stage], None
            for index, _ in () if bound is None else bound.calls:
                self._point(index, self._natives[index].call)
            self._stages.set_replaced(stage, False)
        for key in [key for key in self._sets if key[0] >= first]:
            self._sets.pop(key).release()

    def _release_all(self, release: Callable[[], None]) -> None:
        self.release()
        release()

    def _resolved(self, shapes: Shapes) -> Unit:
        """Return the unit with the sizes that it has for a set of shapes."""
        return self._at(self._values_of(shapes))

    def _at(self, values: SizeValues) -> Unit:
        """Return a copy of the unit in which the sizes have these values."""
        unit = self.unit.parts.at(values)
        unit.target, unit.advise = self.binder.unit.target, self.binder.unit.advise
        self.unit.relayout.apply(unit)
        self._set_grown(unit)
        return unit

    def _set_grown(self, unit: Unit) -> None:
        """Set the addresses of loop variables outside of the arena, as their offsets."""
        for node in self.unit.parts.unit.growing:
            home = unit.homes.get((node, 0))
            if home is not None and home.storage.kind == "aside":
                opened = self.unit.parts.unit.homes[node, 0].storage
                home.storage.offset = self._start_of(opened)

    def _values_of(self, shapes: Shapes) -> SizeValues:
        """Return the values of the sizes for a set of shapes. Sizes that kernels report have their
        latest values.
        """
        reported = {
            name: int(self._registers[number])
            for name, number in self._words.registers.reported.items()
        }
        inputs = self._fed.of(list(chain(*shapes)))
        values = None if inputs is None else self.unit.trace.values(inputs, reported)
        if values is None:
            raise UnfitReportError(is_larger=False) if reported else UnfitShapesError
        return values

    def _values(self) -> SizeValues:
        """Return the current values of the sizes."""
        return SizeValues(self._registers[self._atoms].tolist())

    def _start_of(self, storage: Storage) -> int:
        """Return the current address of a buffer."""
        return int(self._stages.bases[self._words.base_of(storage)])

    def _bind(self, stage: int) -> BoundSet:
        """Bind the steps of a stage that need arrays of the current sizes. Raises UnfitShapesError
        if a native call can't be bound.
        """
        values, arena = self._values(), self._arena_start()
        starts = self._stages.bases[1:].tolist()[: len(self.unit.parts.unit.storages)]
        unit = self.unit.parts.laid_out(
            values, self._words.buffer_sizes(self._registers), [start - arena for start in starts]
        )
        unit.target, unit.advise = self.binder.unit.target, self.binder.unit.advise
        self._set_grown(unit)
        binder = self._binder(unit)
        calls = []
        for index in np.flatnonzero(self._stages.unmet[:-1]).tolist():
            if self.program.stage_of(self._numbers[index]) == stage:
                call = self._natives[index].bind(binder)
                if call is None:
                    raise UnfitShapesError
                calls.append((index, call))
        runs = [step.bind(binder) for step in self.program.bound_in(stage)]
        return BoundSet(runs, calls, binder.owned, binder.holdings.values, {})

    def _binder(self, unit: Unit) -> Binder:
        """Return a binder of single nodes for one set of sizes. It uses the plan's memory."""
        binder, holdings = copy.copy(self.binder), copy.copy(self.binder.holdings)
        holdings.memory = holdings.memory._replace(owned=[])
        holdings.variables, holdings.values = [], []
        binder.unit, binder.holdings, binder.owned = unit, holdings, holdings.memory.owned
        binder.arrays, binder.entries, binder.copies, binder.moves = {}, [], {}, {}
        binder.branches = None
        return binder

    # -- memory

    def _grow_asides(self, stage: int) -> None:
        """Enlarge the buffers outside of the arena that are too small for a stage. Buffers never
        shrink.
        """
        values, is_variable = self._values(), False
        for place, aside in enumerate(self._asides):
            sizes = [
                values.of(size) for number, _, size in self._aside_rows[place] if number == stage
            ]
            memory = self._aside_memory.get(place)
            if not sizes or (memory is not None and memory.nbytes >= max(sizes) + _LINE):
                continue
            room = max(sizes) if place < self._grown else 2 * max(sizes)
            is_variable |= place >= self._grown
            self._drop_sets(0 if place >= self._grown else stage)
            memory = self._aside_memory[place] = np.empty(room + _LINE, np.uint8)
            for number, row, _ in self._aside_rows[place]:
                self._stages.set_aside(number, row, room)
            start = -(-memory.ctypes.data // _LINE) * _LINE
            self._stages.bases[self._words.base_of(aside.storage)] = start
        if is_variable and stage:  # earlier stages have written the former address
            self._stages.forget()
            raise UnfitReportError(is_larger=True)

    def _arena_start(self) -> int:
        for lease in self.binder.holdings.arenas.values():
            return int(lease.block.address or 0)
        return 0

    def _set_arena(self) -> None:
        leases = list(self.binder.holdings.arenas.values())
        start, size = self._arena_start(), leases[0].num_bytes if leases else 0
        self._stages.set_arena(start, size)
        self._ends.set_memory(start, size)

    def _grow(self, shapes: Shapes, size: int) -> None:
        """Replace an arena that is too small by one of `size` bytes. Raises ResourceExhaustedError
        if the device has too little memory.
        """
        leases = self.binder.holdings.arenas
        for name in self.unit.parts.unit.arena_sizes:
            lease = leases.get(name)
            if not size or (lease is not None and lease.num_bytes >= size):
                continue
            device = self.binder.devices[name]
            with self._lock:
                self.release()  # bound to addresses in the present arena
                if lease is not None:
                    leases.pop(name).release()  # before plans in its block are dropped
                user = f"a run of {', '.join(self.plan.key.fetches[:3])}"
                larger = self.binder.run_memory.lease(device, size, user)
                if larger is None:
                    self.plan.stale = True
                    raise arena_refused(self._resolved(shapes), device)
                leases[name] = larger
        self._least_arena = 0
        self._set_arena()
