"""A plan for many sets of shapes. For each set, new sizes are written into the memory of its native
calls.

    plan of one set    -- opened -->   the same plan, with the words that depend on sizes known
    run with other     values of all words    x    one write into the blocks of all calls
    shapes             feeds, fetches, and NumPy steps, bound once for each set

A native call reads its arguments from a block of memory, which consists of words of 64 bits. A plan
of a unit with open sizes is opened when all its steps have their final code. Its native calls are
then bound a second time, to views whose sizes and offsets are `Size` objects (`OpenView`). So each
word that depends on sizes is a polynomial of the fed sizes, plus the offset of a buffer in the
arena. For a new set of shapes, one matrix product computes all words, and the calls again divide
their work among threads (host_cuts.c). Some steps are instead bound to arrays for each set: NumPy
steps, native calls that can't be bound to open sizes, and native calls with conditions that the set
does not meet (for example, a condition on the choice of the BLAS).
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.sizes import SizeValues
from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.binding.bound_sets import BoundSet, SetKey, Shapes, UnitOfSizes
from gpugraph.compile.binding.feeds_and_fetches import FeedsAndFetches, reader_if_alive
from gpugraph.compile.binding.open_binding import OpenBinder, run_of
from gpugraph.compile.binding.open_group import OpenGroup
from gpugraph.compile.binding.open_program import OpenProgram
from gpugraph.compile.binding.open_steps import Opened, ReportStep, StepKey
from gpugraph.compile.binding.open_words import OpenWords
from gpugraph.compile.binding.program_listing import listing
from gpugraph.compile.binding.size_reports import Report
from gpugraph.compile.memory.arena_records import arena_records
from gpugraph.compile.memory.arena_refusal import arena_refused
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.guards import ALWAYS
from gpugraph.devices.native import OpenCall, Words, block_of
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.memory import ArenaPlan
from gpugraph.ops.tensor_arrays.element_store import kind_number
from gpugraph.plan import FetchSlot, PassReport, Plan, Run, Step, UnfitReportError, UnfitShapesError

_LINE = 64

MOST_SETS = 256
"""The maximum number of sets of shapes whose words and bound steps an open plan keeps."""


class OpenPlan:
    """A plan whose sizes change with the shapes of a run."""

    def __init__(
        self,
        plan: Plan,
        binder: Binder,
        unit: UnitOfSizes,
        values_of: Callable[..., SizeValues | None],
        lock: Any,
    ) -> None:
        """Open the plan. The caller must hold the plan's lock.

        Args:
          values_of: a function that receives a set of shapes and reported sizes, and returns the
            values of all Sizes.
          lock: the session's lock, which is held while the plan's memory grows.
        """
        self.plan, self.binder, self.unit = plan, binder, unit
        self._values_of, self._lock = values_of, lock
        self._sets: OrderedDict[SetKey, BoundSet] = OrderedDict()
        self._current: SetKey | None = None
        self._last: dict[Shapes, SetKey] = {}  # by fed shapes, the set that their last run had
        self._reported = {name: unit.trace.reported[name] for name in unit.trace.report_names}
        opened = unit.parts.unit
        self._open = OpenBinder.of(binder, unit.parts)
        self._flags = bytearray() if binder.branches is None else binder.branches.flags.values
        flushes = () if unit.reports is None else unit.reports.flushes
        program = OpenProgram(
            self._open, unit.trace, self.run_plain, self._flags, flushes, self._flush
        )
        program.add(plan.steps)
        self.program, self._code = program, program.finish(plan.clock.stop)
        self._natives = list(program.natives.values())
        self._storages = [home.storage for home in self._open.asides.values()]
        self._asides: dict[int, Any] = {}  # by storage, its memory
        storages = [*opened.storages, *self._storages]
        self._num_buffers = len(opened.storages)
        self._bases = [id(storage) for storage in storages]
        self._words = OpenWords([*self._natives, self._operands()], storages)
        places = [self._code.operand_place(number) for number in program.natives]
        kinds = [place for places in program.kinds.values() for place in places]
        self._pointers = np.array([*places, *kinds], np.uintp)
        self._blocks = [block_of(native.call) for native in self._natives]
        self.group = OpenGroup(plan.steps, program, self._code, plan.clock)
        plan.release_memory = partial(self._release_all, plan.release_memory)
        plan.set_steps([Step.of(self.group, "program")])

    def _operands(self) -> Opened:
        """Return the instructions' words that point to bools, in the form of a native call."""
        views = self.program.bools.items()
        values = {self._code.operand_place(n): view.ctypes.data for n, view in views}
        first = self.plan.steps[0]
        return Opened(first, _nothing, [(Words(values, {}, None), OpenCall())], (), _no_call)

    @property
    def reasons(self) -> dict[str, str]:
        """A dict that maps the name of a native step to the reason why the step must be bound again
        for each set of sizes.
        """
        return self.program.reasons

    @property
    def num_native(self) -> tuple[int, int]:
        """Two counts: the native steps that receive new sizes as words, and all native steps."""
        return sum(bool(native.calls) for native in self._natives), len(self._natives)

    # -- other sizes

    def select(self, shapes: Shapes) -> None:
        """Prepare the plan for runs with this set of shapes.

        The caller must hold the plan's lock. Raises UnfitShapesError if this plan can't run the
        shapes, and ResourceExhaustedError if there is too little memory.
        """
        last = self._last.get(shapes)
        if last is not None:  # its words up to the first report are those of this run too
            self._reported.update(zip(self._reported, last[1]))
        key = shapes, tuple(self._reported.values())
        if key != self._current:
            self._current = None
            self._select(key)

    def _flush(self, reports: Sequence[tuple[Report, ReportStep]], since: int) -> None:
        """Write the sizes that kernels have reported in this run, and the kernels' outputs.

        Raises UnfitReportError if the sizes require another plan or more memory.
        """
        before, current = dict(self._reported), self._current
        for report, step in reports:
            self._reported.update(dict.fromkeys(report.names, step.size))
        if self._reported != before:
            assert current is not None, "the sizes of the run"
            self._current = None
            try:
                self._select_reported(current, since)
            except UnfitShapesError:
                self._reported = before
                raise UnfitReportError(is_larger=False) from None
        for _, step in reports:
            step.write()

    def _select_reported(self, current: SetKey, since: int) -> None:
        """Write the reported sizes for the rest of the current run. Raises UnfitShapesError if the
        sizes require another plan, and UnfitReportError if they require more memory.
        """
        key = current[0], tuple(self._reported.values())
        if key not in self._sets:
            values = self._values_of(key[0], self._reported)
            if values is None:
                raise UnfitShapesError
            if self._needs_memory(values, self._layout(values)[2].size):
                self._last.pop(key[0], None)
                raise UnfitReportError(is_larger=True)
        self._select(key, self._sets.get(current), since)

    def _select(self, key: SetKey, before: BoundSet | None = None, since: int = 0) -> None:
        bound_set = self._sets.get(key)
        if bound_set is None:
            bound_set = self._bind(key, before, since)
            self._sets[key] = bound_set
            while len(self._sets) > MOST_SETS:
                dropped, unused = self._sets.popitem(last=False)
                unused.release()
                if self._last.get(dropped[0]) == dropped:
                    del self._last[dropped[0]]
        else:
            self._sets.move_to_end(key)
            self._words.blocks.write(self._words.written, bound_set.words)
        self._words.blocks.write(self._pointers, bound_set.pointers)
        for kept, value in bound_set.constants:
            kept[...] = value
        for current, run in zip(self.program.bound, bound_set.runs):
            current.run = run
        self._code.set_long(bound_set.releases)
        sizes = self.program.sizes
        sizes.values, sizes.starts, sizes.runs = (
            bound_set.values,
            bound_set.starts,
            bound_set.accesses,
        )
        self.plan.set_ends(bound_set.feeds, bound_set.fetches, bound_set.key)
        self._current = self._last[key[0]] = key

    def described(self, shapes: Shapes) -> Plan:
        """Return a copy of the plan with the reports and arenas for a set of shapes."""
        unit = self._resolved(shapes)
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
        """Return the text of the program as the report of a pass."""
        natives, opened = self.num_native[1], self.num_native[0]
        summary = (
            f"{len(self.program.parts)} instructions: {natives} native ones, {opened} of them for "
            f"all sizes; {len(self.program.by_python)} return to Python"
        )
        return PassReport("program", summary, listing(self.program, self.unit.trace))

    def run_plain(self, node: Node, key: StepKey) -> Any:
        """Run the step of a node in NumPy, with the current sizes."""
        assert self._current is not None, "the sizes of the run that calls it"
        binder = self._binder(self._resolved(self._current[0]))
        try:
            return run_of(binder, node, key)()
        finally:
            for owned in binder.owned:
                owned.release()

    def release(self) -> None:
        """Release the memory that belongs to the steps of all bound sets."""
        self._last.clear()
        while self._sets:
            self._sets.popitem()[1].release()

    def _release_all(self, release: Callable[[], None]) -> None:
        self.release()
        release()

    def _resolved(self, shapes: Shapes) -> Unit:
        """Return the unit with the sizes for a set of shapes."""
        unit = self.unit.parts.at(self._values(shapes))
        unit.target, unit.advise = self.binder.unit.target, self.binder.unit.advise
        self.unit.relayout.apply(unit)
        return unit

    def _values(self, shapes: Shapes) -> SizeValues:
        values = self._values_of(shapes, self._reported)
        if values is None:
            raise UnfitReportError(is_larger=False) if self._reported else UnfitShapesError
        return values

    def _layout(self, values: SizeValues) -> tuple[Any, list[int], ArenaPlan]:
        """Return the values of all Sizes, the sizes of all buffers, and the buffers' offsets.
        Raises UnfitShapesError if a value may not fit into 63 bits.
        """
        try:
            sizes = self._words.sizes(values)
        except OverflowError as error:
            raise UnfitShapesError from error
        buffers = self._words.buffers(sizes)
        return sizes, buffers, self._offsets(buffers)

    def _offsets(self, buffers: Sequence[int]) -> ArenaPlan:
        for device in self.unit.parts.unit.arena_sizes:
            return self.unit.relayout.offsets(device, buffers[: self._num_buffers])
        return ArenaPlan([], 0)

    def _needs_memory(self, values: SizeValues, size: int) -> bool:
        """Return whether the arena or a side buffer must grow. The arena must hold `size` bytes."""
        leases = list(self.binder.holdings.arenas.values())
        if size and (not leases or leases[0].num_bytes < size):
            return True
        return any(
            id(storage) not in self._asides
            or self._asides[id(storage)].nbytes < values.of(storage.size) + _LINE
            for storage in self._storages
        )

    def _bind(self, key: SetKey, before: BoundSet | None = None, since: int = 0) -> BoundSet:
        """Bind the plan to a set of shapes. Write the words, and return the bound set.

        Args:
          before: the bound set that the current run has used so far. Its NumPy steps before index
            `since` are kept.
        """
        shapes, _ = key
        values = self._values(shapes)
        sizes, buffers, layout = self._layout(values)
        self._grow(shapes, layout.size)
        unit = self.unit.parts.laid_out(values, buffers, layout.offsets)
        unit.target, unit.advise = self.binder.unit.target, self.binder.unit.advise
        binder = self._binder(unit)
        pointers, calls = self._pointers_of(binder, self._words.exceptions(sizes), values)
        arena = self._arena_start()
        starts = [arena + offset for offset in layout.offsets] + self._aside_starts(values)
        words, releases, tables = self._words.bind(sizes, starts)
        ends = FeedsAndFetches(binder, None)
        return BoundSet(
            words,
            pointers,
            releases or bool(calls),
            [
                (kept, binder.array(unit.homes[number, 0]))
                for number, kept in self._open.constants.items()
            ],
            self._bound_runs(binder, before, since),
            tuple(ends.feed(node, index) for index, node in enumerate(unit.args)),
            tuple(self._fetch(ends, node) for node in unit.retvals),
            unit.key,
            binder.owned,
            (calls, tables, binder.holdings.values),
            values,
            dict(zip(self._bases, starts)),
            {},
        )

    def _bound_runs(self, binder: Binder, before: BoundSet | None, since: int) -> list[Run]:
        """Return the callables of the NumPy steps."""
        kept = [] if before is None or before.owned else list(before.runs[:since])
        return kept + [step.bind(binder) for step in self.program.bound[len(kept) :]]

    def _binder(self, unit: Unit) -> Binder:
        """Return a binder of single nodes for one set of shapes. It uses the plan's memory."""
        binder, holdings = copy.copy(self.binder), copy.copy(self.binder.holdings)
        holdings.memory = holdings.memory._replace(owned=[])
        holdings.variables, holdings.values = [], []
        binder.unit, binder.holdings, binder.owned = unit, holdings, holdings.memory.owned
        binder.arrays, binder.entries, binder.copies, binder.moves = {}, [], {}, {}
        binder.branches = None
        return binder

    def _pointers_of(
        self, binder: Binder, exceptions: Sequence[int], values: SizeValues
    ) -> tuple[Any, list[Run]]:
        """Return the addresses of the native steps' blocks, followed by the numbers of kinds of
        elements. Also return the native calls that are bound for this set only.

        Raises UnfitShapesError if a step can't be bound.
        """
        calls, blocks = [], self._blocks.copy()
        for index in exceptions:
            call = self._natives[index].bind(binder)
            if call is None:
                raise UnfitShapesError
            calls.append(call)
            blocks[index] = block_of(call)
        for (shape, dtype), places in self.program.kinds.items():
            blocks += len(places) * [kind_number((values.shape(shape), dtype))]
        return np.array(blocks, np.int64), calls

    def _aside_starts(self, values: SizeValues) -> list[int]:
        """Return the addresses of the side buffers. Each side buffer grows to the largest size that
        a run has required.
        """
        for storage in self._storages:
            size, buffer = values.of(storage.size), self._asides.get(id(storage))
            if buffer is None or buffer.nbytes < size + _LINE:
                self.release()  # bound to the present addresses
                self._asides[id(storage)] = np.empty(size + _LINE, np.uint8)
        buffers = [self._asides[id(storage)] for storage in self._storages]
        return [-(-buffer.ctypes.data // _LINE) * _LINE for buffer in buffers]

    def _fetch(self, ends: FeedsAndFetches, node: Node) -> FetchSlot:
        """Return the slot of a fetch. Its tensor may be dead in a run."""
        slot, branches = ends.fetch(node), self.binder.branches
        guard = ALWAYS if branches is None else branches.flow.guards.get(node.id, ALWAYS)
        if branches is None or guard == ALWAYS:
            return slot
        flag = branches.flags.guard(guard)
        read = reader_if_alive(self._flags, flag, node, slot.read)
        return slot._replace(read=read, array=None)

    def _arena_start(self) -> int:
        for lease in self.binder.holdings.arenas.values():
            return int(lease.block.address or 0)
        return 0

    def _grow(self, shapes: Shapes, size: int) -> None:
        """Allocate an arena of `size` bytes. Raises ResourceExhaustedError if the device has too
        little memory.
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


def _nothing() -> int:
    return 0


def _no_call(_: Binder) -> None:
    """Return None. No call is bound for a set of sizes, because the words are valid for all
    sizes.
    """
