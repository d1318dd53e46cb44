"""A plan for many sets of shapes: its native calls get other sizes in their memory.

    plan of one set    -- opened -->   the same plan, with the words that depend on sizes known
    run with other     values of all words    x    one write into the blocks of all calls
    shapes             feeds, fetches, and steps by NumPy, bound once for each set

A plan of a unit with open sizes is opened once all its steps have their final code. Its native
calls are bound a second time, to views with Sizes for sizes and offsets (`OpenView`): so each word
of a call's block that depends on sizes is a polynomial of the fed sizes, plus the offset of a
buffer in the arena. For a new set of shapes all of them are computed by one product of matrices,
and the calls divide their work again (host_cuts.c). A call without such a form, or whose conditions
a set does not meet (as for another BLAS), is bound to arrays for that set, as is a step by NumPy.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.sizes import SizeTrace, SizeValues, literals_refused
from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.binding.feeds_and_fetches import FeedsAndFetches
from gpugraph.compile.binding.open_binding import OpenBinder, bound_call, run_of
from gpugraph.compile.binding.open_steps import (
    NativeSequence,
    NativeStep,
    NumPyStep,
    StepKey,
    native_steps,
)
from gpugraph.compile.binding.open_words import OpenWords
from gpugraph.compile.memory.arena_layout import Relayout
from gpugraph.compile.memory.arena_records import arena_records
from gpugraph.compile.memory.arena_refusal import arena_refused
from gpugraph.compile.steps.compiled_stretch import CompiledStretch, Member
from gpugraph.compile.steps.native_calls import step_beside_native
from gpugraph.compile.steps.stretch import Stretch
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.unit_sizes import OpenParts
from gpugraph.devices.native import NotNativeError, block_of, sequence, words_of
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import FeedSlot, FetchSlot, Plan, PlanKey, Run, Step, UnfitShapesError

MOST_SETS = 256
"""The maximum number of sets of shapes whose words and bound steps an open plan keeps."""

Shapes = tuple[tuple[int, ...], ...]


class UnitOfSizes(NamedTuple):
    """A compiled unit with open sizes, and what binding it for values needs."""

    parts: OpenParts
    relayout: Relayout
    trace: SizeTrace


class _Set(NamedTuple):
    """One set of shapes, bound.

    words: of all blocks. pointers: the blocks of the native steps. releases: whether the GIL is
    released. constants: pairs of an array that calls read, and its value. runs: of the steps by
    NumPy. owned: memory that is released with the set. keep: other objects that its calls use.
    """

    words: Any
    pointers: Any
    releases: bool
    constants: Sequence[tuple[Any, Any]]
    runs: Sequence[Run]
    feeds: tuple[FeedSlot, ...]
    fetches: tuple[FetchSlot, ...]
    key: PlanKey
    owned: list[Any]
    keep: Any

    def release(self) -> None:
        """Release the memory that only steps of this set use."""
        while self.owned:
            self.owned.pop().release()


class OpenPlan:
    """The sizes of one plan, which change with the shapes of a run."""

    def __init__(
        self,
        plan: Plan,
        binder: Binder,
        unit: UnitOfSizes,
        values_of: Callable[[Shapes], SizeValues | None],
        lock: Any,
    ) -> None:
        """values_of: returns the values of all sizes for a set of shapes. lock: that of the
        session, held while the plan's memory grows. The caller must hold the plan's lock.
        """
        self.plan, self.binder, self.unit = plan, binder, unit
        self._values_of, self._lock = values_of, lock
        self._nodes = {node.name: node for node in unit.parts.unit.order}
        self._sets: OrderedDict[Shapes, _Set] = OrderedDict()
        self._current: Shapes | None = None
        self._open = OpenBinder.of(binder, unit.parts.unit)
        self._natives: list[NativeStep] = []
        self._steps: list[NumPyStep] = []
        self._sequences: list[NativeSequence] = []
        self.reasons: dict[str, str] = {}  # by native step, why it is bound for each set
        plan.release_memory = partial(self._release_all, plan.release_memory)
        plan.set_steps([self._opened(step) for step in plan.steps])
        self._words = OpenWords(self._natives, unit.parts.unit.storages)
        self._pointers = np.array(
            [place for run in self._sequences for place in run.places], np.uintp
        )

    @property
    def num_native(self) -> tuple[int, int]:
        """The number of native steps that get other sizes as words, and of all native steps."""
        return sum(bool(native.calls) for native in self._natives), len(self._natives)

    # -- opening

    def _opened(self, step: Step) -> Step:
        """Return a step whose sizes can change."""
        if step.kind == "guard":
            return step
        if isinstance(step.group, Stretch):
            code = step.group.code
            assert isinstance(code, CompiledStretch)
            self._open_stretch(code)
            return step
        return replace(step, run=self._by_numpy(step))

    def _by_numpy(self, step: Step) -> NumPyStep:
        current = NumPyStep(self._nodes[step.name], step)
        self._steps.append(current)
        return current

    def _open_stretch(self, code: CompiledStretch) -> None:
        steps: list[Step] = []
        pairs = [(member, self._native(member)) for member in code.members]
        for is_native, group in groupby(pairs, lambda pair: pair[1] is not None):
            if is_native:
                natives = [native for _, native in group if native is not None]
                self._natives += natives
                steps.append(self._sequence(natives))
                for native in natives:
                    native.member.step = self._sequence([native])
                continue
            for member, _ in group:
                run = self._by_numpy(member.entry.step)
                member.step = step_beside_native(replace(member.entry.step, run=run))
                steps.append(member.step)
        code.settle(steps)

    def _native(self, member: Member) -> NativeStep | None:
        """Bind a native step to open sizes, if it can be.

        Return None for a step by NumPy, and for code that contains a size: each set of shapes would
        have to be compiled.
        """
        node = self._nodes[member.entry.step.name]
        if member.calls is None:
            return None
        calls = member.calls.calls
        call = calls[0] if len(calls) == 1 else sequence(calls)
        try:
            with literals_refused(), self.unit.trace.recording() as conditions:
                opened = self._open.open_calls(node, member)
            if len(opened) != len(calls):
                raise NotNativeError("it has another number of calls with open sizes")
            words = [(words_of(one, other), other) for one, other in zip(calls, opened)]
        except Exception as error:
            if raised_by_handler(error):
                raise
            self.reasons[node.name] = f"{type(error).__name__}: {error}"
            if member.generated_kernel is not None:
                member.refuse("a size is in its code")
                member.calls = None
                return None
            return NativeStep(node, member, call, (), ())
        return NativeStep(node, member, call, words, list(conditions))

    def _sequence(self, natives: Sequence[NativeStep]) -> Step:
        """Return native steps as one step."""
        run, step = native_steps(natives, self.run_plain)
        self._sequences.append(run)
        return step

    # -- other sizes

    def select(self, shapes: Shapes) -> None:
        """Let the plan's next runs be those of a set of shapes.

        The caller must hold the plan's lock. UnfitShapesError if they need another plan,
        ResourceExhaustedError if there is too little memory.
        """
        if shapes == self._current:
            return
        self._current = None
        found = self._sets.get(shapes)
        if found is None:
            found = self._bind(shapes)
            self._sets[shapes] = found
            while len(self._sets) > MOST_SETS:
                self._sets.popitem(last=False)[1].release()
        else:
            self._sets.move_to_end(shapes)
            self._words.blocks.write(self._words.written, found.words)
        self._words.blocks.write(self._pointers, found.pointers)
        for kept, value in found.constants:
            kept[...] = value
        for current, run in zip(self._steps, found.runs):
            current.run = run
        for native in self._sequences:
            native.set_release(found.releases)
        self.plan.set_ends(found.feeds, found.fetches, found.key)
        self._current = shapes

    def described(self, shapes: Shapes) -> Plan:
        """Return a copy of the plan whose reports and arenas are those of a set of shapes."""
        unit = self._resolved(shapes)
        plan = copy.copy(self.plan)
        plan.key, plan.arenas = unit.key, arena_records(unit)
        arenas = {report.name: report for report in self.unit.relayout.reports(unit)}
        plan.reports = tuple(
            arenas[report.name] if report.name == "memory_planning" else report
            for report in self.plan.reports
        )
        return plan

    def run_plain(self, node: Node, key: StepKey) -> Any:
        """Run the step of a node by NumPy, for the current sizes."""
        assert self._current is not None, "the sizes of the run that calls it"
        binder = self._binder(self._resolved(self._current))
        try:
            return run_of(binder, node, key)()
        finally:
            for owned in binder.owned:
                owned.release()

    def release(self) -> None:
        """Release the memory of the steps of all sets."""
        while self._sets:
            self._sets.popitem()[1].release()

    def _release_all(self, release: Callable[[], None]) -> None:
        self.release()
        release()

    def _resolved(self, shapes: Shapes) -> Unit:
        """Return the unit for a set of shapes."""
        values = self._values_of(shapes)
        if values is None:
            raise UnfitShapesError
        unit = self.unit.parts.at(values)
        unit.target, unit.advise = self.binder.unit.target, self.binder.unit.advise
        self.unit.relayout.apply(unit)
        return unit

    def _bind(self, shapes: Shapes) -> _Set:
        """Bind a set of shapes; the words are written."""
        values = self._values_of(shapes)
        if values is None:
            raise UnfitShapesError
        try:
            sizes = self._words.sizes(values)
        except OverflowError as error:
            raise UnfitShapesError from error
        unit = self._resolved(shapes)
        self._grow(unit)
        binder = self._binder(unit)
        pointers, calls = self._pointers_of(binder, self._words.exceptions(sizes))
        arena = self._arena_start()
        words, releases, tables = self._words.bind(sizes, [arena + s.offset for s in unit.storages])
        ends = FeedsAndFetches(binder, None)
        return _Set(
            words,
            pointers,
            releases or bool(calls),
            [
                (kept, binder.array(unit.homes[number, 0]))
                for number, kept in self._open.constants.items()
            ],
            [run_of(binder, step.node, step.key) for step in self._steps],
            tuple(ends.feed(node, index) for index, node in enumerate(unit.args)),
            tuple(ends.fetch(node) for node in unit.retvals),
            unit.key,
            binder.owned,
            (calls, tables, binder.holdings.values),
        )

    def _binder(self, unit: Unit) -> Binder:
        """Return a binder of single nodes for one set of shapes, in the plan's memory."""
        binder, holdings = copy.copy(self.binder), copy.copy(self.binder.holdings)
        holdings.memory = holdings.memory._replace(owned=[])
        holdings.variables, holdings.values = [], []
        binder.unit, binder.holdings, binder.owned = unit, holdings, holdings.memory.owned
        binder.arrays, binder.entries, binder.copies = {}, [], {}
        return binder

    def _pointers_of(self, binder: Binder, exceptions: Sequence[int]) -> tuple[Any, list[Run]]:
        """Return the blocks of the native steps in all sequences, and the calls of those steps that
        are bound for this set alone. UnfitShapesError if one can't be.
        """
        calls = {}
        for index in exceptions:
            native = self._natives[index]
            call = bound_call(binder, native.node)
            if call is None:
                raise UnfitShapesError
            calls[id(native)] = call
        blocks = [
            block_of(calls.get(id(native), native.call))
            for run in self._sequences
            for native in run.natives
        ]
        return np.array(blocks, np.int64), list(calls.values())

    def _arena_start(self) -> int:
        for lease in self.binder.holdings.arenas.values():
            return int(lease.block.address or 0)
        return 0

    def _grow(self, unit: Unit) -> None:
        """Provide an arena for this unit; ResourceExhaustedError if there is too little memory."""
        leases = self.binder.holdings.arenas
        for name, size in unit.arena_sizes.items():
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
                    raise arena_refused(unit, device)
                leases[name] = larger


def can_open(plan: Plan, unit: Unit) -> bool:
    """Return whether a plan can be opened now: it has no branches or loops, one device, and the
    final code of all steps.
    """
    if unit.flow is not None or unit.parallel or plan.runs_once or len(unit.device_types) != 1:
        return False
    if len(unit.arena_sizes) > 1 or set(unit.device_types.values()) != {"CPU"}:
        return False
    for step in plan.steps:
        if isinstance(step.group, Stretch):
            code = step.group.code
            if not isinstance(code, CompiledStretch) or not code.is_joined:
                return False
        elif step.group is not None or step.kind not in ("kernel", "guard", "copy"):
            return False
    return any(step.kind == "stretch" for step in plan.steps)
