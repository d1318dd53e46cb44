"""The plans that a session keeps: a bounded number, each run by one thread at a time.

A runner has a plan for each set of shapes that it receives (`RunnerPlans`). After several such
plans, the runner gets one plan that leaves the varying sizes open and allocates tensors during a
run, so that the number of plans does not grow with new shapes. `PlanCache` bounds the plans of all
runners of a session.

A plan holds memory. It frees this memory when it is dropped: because there are too many plans (the
oldest is dropped), its variables moved, the session closes, a device is full, or a plan with a
larger arena replaces its arena (`devices/run_memory.py`). A plan that is dropped while it runs
finishes its run first; its memory is freed with the last reference to the plan. A run that gets a
plan's lock after the plan was dropped finds it stale and looks for another.

A run holds its plan's lock, and its kernels may take the session's lock, by nested runs. So a
thread that holds the session's lock never blocks on a plan's lock. It only tries to acquire that
lock, and continues without the plan if the plan is busy.

A run that finds its plan busy waits for it as long as the runs that hold the plan are short. Then
it gets a `spare`, a replica of the plan, compiled once again, which may run at the same time. So
nobody is blocked by two runs of the same fetches that wait for each other, by nested runs, or by a
run that never ends. A replica that is found idle is dropped.

All plans of a session time-share one block of memory. A run that finds this block in use by another
plan's run does not wait. Its plan is compiled again, for memory that only the plans of its runner
time-share. If that memory is in use by another plan too, each new plan of the runner gets separate
memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.base.interruptions.fork_gate import GATE
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.devices import ArenaBlock, RunMemory
from gpugraph.plan import Plan, PlanKey, TimeLimit
from gpugraph.session.open_shapes import OpenShapes, UnitForShapes
from gpugraph.session.room_for_open_sizes import RoomForOpenSizes, Shapes

EXACT_PLANS = 8
"""The maximum number of plans that a runner has for one set of fed shapes each, before it gets a
plan that leaves sizes open."""

MOST_PLANS = 256
"""The maximum number of plans that a session keeps."""

_PATIENCE_S = 0.1
"""The seconds for which a single run may hold a plan before another run of the same fetches gets a
replica."""

OpenShape = tuple[int | None, ...] | None
"""A feed's shape in a plan: None for sizes, or ranks, that are known only in each run."""


_ITS_RUNNERS = "runs of these fetches time-share this memory, since others ran at the same time"
_BESIDE = "only this plan uses this memory, since runs overlapped"


class CachedPlan(NamedTuple):
    """A plan in the cache. forget: called when the plan is dropped; removes it from its runner."""

    plan: Plan
    forget: Callable[[], object]


class PlanCache:
    """At most `most` plans.

    lock: the session's lock. The caller must hold it, except for `drop_idle`, `give_back`, `all`
    and `locked`.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.lock = new_rlock()
        self._plans: OrderedDict[int, CachedPlan] = OrderedDict()
        self._runs: dict[int, int] = {}  # by plan, its runs when it was last spared

    def __len__(self) -> int:
        return len(self._plans)

    @contextmanager
    def locked(self, limit: TimeLimit | None) -> Iterator[None]:
        """Hold the lock, under which plans are compiled.

        limit: the time limit of the run that waits for the lock; DeadlineExceededError after it.
        """
        if limit is None:
            self.lock.acquire()
        else:
            while not self.lock.acquire(timeout=max(0.0, limit.ends - monotonic())):
                limit.check("while another run was compiled")
        try:
            yield
        finally:
            self.lock.release()

    @uninterrupted
    def add(self, plan: Plan, forget: Callable[[], object]) -> CachedPlan:
        """Add a plan, which becomes stale when a variable that it uses moves; if there are too many
        plans, drop the oldest."""
        cached = self._plans[id(plan)] = CachedPlan(plan, forget)
        for state in plan.watched:
            state.watchers[id(plan)] = plan
        plan.stale = plan.moved()  # a variable may have moved before it was watched
        while len(self._plans) > self.most:
            self._drop_unused()
        return cached

    def _drop_unused(self) -> None:
        """Drop the oldest plan that has run at most once, or has not run since this method last
        spared it."""
        while True:
            number, cached = next(iter(self._plans.items()))
            if self._runs.get(number, 1) == cached.plan.runs or len(self._plans) == 1:
                self.drop(cached)
                return
            self._runs[number] = cached.plan.runs
            self._plans.move_to_end(number)

    def drop(self, cached: CachedPlan) -> None:
        """Drop a plan: free its memory now, or with its last reference if it is running.

        Does not wait for runs; does nothing for a plan that is already dropped. The plan stays in
        the cache until the end, so that if Ctrl-C interrupts the call, the next one completes it.
        """
        plan = cached.plan
        if id(plan) not in self._plans:
            return
        plan.stale = True
        for state in plan.watched:
            state.watchers.pop(id(plan), None)
        cached.forget()
        if plan.lock.acquire(blocking=False):
            try:
                if not plan.running:  # otherwise a kernel of this plan's run has called this
                    plan.release()
            finally:
                plan.lock.release()
        self._plans.pop(id(plan), None)
        self._runs.pop(id(plan), None)

    def drop_all(self) -> list[Plan]:
        """Drop all plans, and return them: the caller can wait for plans that are running."""
        return self._drop_all_of(list(self._plans.values()))

    def drop_in(self, block: ArenaBlock) -> None:
        """Drop the plans whose arenas are in a block."""
        plans = list(self._plans.values())
        self._drop_all_of([cached for cached in plans if cached.plan.has_arena_in(block)])

    def _drop_all_of(self, dropped: Sequence[CachedPlan]) -> list[Plan]:
        for cached in dropped:
            self.drop(cached)
        return [cached.plan for cached in dropped]

    def abandon(self, idle_too: bool) -> None:
        """Forget, in a forked child, the plans that run in the parent: their threads do not exist
        in the child.

        idle_too: forget all plans."""
        for cached in list(self._plans.values()):
            if cached.plan.running or idle_too:
                self._plans.pop(id(cached.plan))
                cached.forget()
                cached.plan.stale = True
                if cached.plan.holder.get(0) is cached.plan:
                    cached.plan.holder.clear()

    def give_back(self) -> None:
        """Release the plan locks and run memory that this thread holds without running a plan.

        This is needed if an exception, such as KeyboardInterrupt, occurs after they were taken and
        before the run starts."""
        plans = self.all()
        holders = [plan.holder.get(0) for plan in plans]  # may be plans that were dropped
        for plan in (*plans, *filter(None, holders)):
            while not plan.running and plan.lock._is_owned():  # type: ignore[attr-defined]
                if plan.holder.get(0) is plan:
                    plan.holder.pop(0)
                plan.lock.release()

    def all(self) -> list[Plan]:
        """Return the current plans. The cache may change afterwards unless the caller holds the
        lock."""
        return [cached.plan for cached in list(self._plans.values())]

    def drop_idle(self) -> None:
        """Drop the plans that no thread runs, to free their memory.

        May be called during a run: does nothing while another thread holds the session's lock.
        """
        if not self.lock.acquire(blocking=False):
            return
        try:
            for cached in list(self._plans.values()):
                if cached.plan.lock.acquire(blocking=False):
                    try:
                        if not cached.plan.running:
                            self.drop(cached)
                    finally:
                        cached.plan.lock.release()
        finally:
            self.lock.release()


class RunnerPlans:
    """One runner's plans: `exact` by the fed shapes, and `open` for all further shapes.

    compile_plan: compiles a plan for feed shapes with None for open sizes, in a run memory. memory:
    the run memory of all plans of the session. The caller must hold the cache's lock, except for
    `drop_idle_spares` and `move_off_contended_memory`.
    """

    def __init__(
        self,
        cache: PlanCache,
        compile_plan: Callable[[Sequence[OpenShape], RunMemory, UnitForShapes | None], Plan],
        memory: RunMemory,
    ) -> None:
        self._cache = cache
        self._compile_plan = compile_plan
        self._memories = [memory, RunMemory(_ITS_RUNNERS, cache.drop_in)]
        self._exact_shapes: dict[Shapes, None] = {}
        self.exact: dict[Shapes, CachedPlan] = {}
        self.spares: dict[PlanKey, list[CachedPlan]] = {}
        self.open: CachedPlan | None = None
        self.room: RoomForOpenSizes | None = None
        self.open_shapes: OpenShapes | None = None

    def find(self, shapes: Shapes) -> CachedPlan | None:
        """Return the plan for exactly these shapes; None if there is no such plan, or it is
        stale."""
        cached = self.exact.get(shapes)
        return None if cached is None or cached.plan.stale else cached

    def add(self, shapes: Shapes) -> CachedPlan:
        """Compile and return a plan for new shapes; after several, one with open sizes."""
        for stale in [cached for cached in self.exact.values() if cached.plan.stale]:
            self._cache.drop(stale)
        unit = None if self.open_shapes is None else self.open_shapes.find(shapes)
        is_known = unit is not None or shapes in self._exact_shapes
        if not is_known and len(self._exact_shapes) >= EXACT_PLANS:
            return self._add_open(shapes)
        plan = self._compile(shapes, unit)
        if unit is None:
            self._exact_shapes[shapes] = None

        def forget() -> None:
            if shapes in self.exact and self.exact[shapes].plan is plan:
                del self.exact[shapes]

        cached = self.exact[shapes] = self._cache.add(plan, forget)
        return cached

    def _add_open(self, shapes: Shapes) -> CachedPlan:
        """Return a plan in which each size that has varied so far is open, compiled if necessary.

        ResourceExhaustedError if the GPUs have too little memory for a run of these shapes
        (`room`).
        """
        if self.room is not None:
            self.room.check(shapes)
        cached = self.open
        if cached is not None and not cached.plan.stale and _fits(cached.plan.key, shapes):
            return cached
        shape_sets: list[Sequence[OpenShape]] = [*self._exact_shapes, shapes]
        if cached is not None:
            shape_sets.append([shape for _, shape in cached.plan.key.feeds])
            self._cache.drop(cached)
        plan = self._compile([_common_shape(feed_shapes) for feed_shapes in zip(*shape_sets)])

        def forget() -> None:
            if self.open is not None and self.open.plan is plan:
                self.open = None

        self.open = self._cache.add(plan, forget)
        return self.open

    def add_spare(self, key: PlanKey) -> CachedPlan:
        """Compile and add a replica of the plan with this key."""
        shapes = [shape for _, shape in key.feeds]
        unit = None
        if self.open_shapes is not None and not any(
            shape is None or None in shape for shape in shapes
        ):
            unit = self.open_shapes.find(tuple(shapes))  # type: ignore[arg-type]
        plan = self._compile_plan(shapes, RunMemory(_BESIDE), unit)
        spares = self.spares.setdefault(key, [])

        def forget() -> None:
            spares[:] = [spare for spare in spares if spare.plan is not plan]

        spares.append(self._cache.add(plan, forget))
        return spares[-1]

    def drop_idle_spares(self, running: Plan) -> None:
        """Drop the replicas that no run holds, except for `running`, and free their memory.

        Does nothing while another thread holds the cache's lock.
        """
        if not self.spares or not self._cache.lock.acquire(blocking=False):
            return
        try:
            for spare in [spare for spares in self.spares.values() for spare in spares]:
                if spare.plan is not running and spare.plan.lock.acquire(blocking=False):
                    try:
                        if not spare.plan.running:
                            self._cache.drop(spare)
                    finally:
                        spare.plan.lock.release()
            self.spares = {key: spares for key, spares in self.spares.items() if spares}
        finally:
            self._cache.lock.release()

    def move_off_contended_memory(self, cached: CachedPlan, limit: TimeLimit | None) -> bool:
        """Drop a plan whose memory another plan's run is using; its successor gets other memory.

        Return False if the memory is free, or the plan itself is running.
        """
        plan = cached.plan
        if plan.stale or not plan.lock.acquire(blocking=False):
            return False
        is_beside = not plan.running and bool(plan.holder)
        plan.lock.release()
        if is_beside:
            with self._cache.locked(limit):
                if plan.memory in self._memories:
                    self._memories.remove(plan.memory)
                self._cache.drop(cached)
                plan.memory.trim()
        return is_beside

    def _compile(self, shapes: Sequence[OpenShape], unit: UnitForShapes | None = None) -> Plan:
        """Compile a plan on memory that no run is using now."""
        while self._memories and self._memories[0].holder:
            del self._memories[0]
        return self._compile_plan(shapes, (*self._memories, RunMemory(_BESIDE))[0], unit)


def _fits(key: PlanKey, shapes: Shapes) -> bool:
    """Return whether the plan with this key can run with fed values of these shapes."""
    return all(
        open_shape is None
        or (
            len(open_shape) == len(shape)
            and all(size in (None, fed_size) for size, fed_size in zip(open_shape, shape))
        )
        for (_, open_shape), shape in zip(key.feeds, shapes)
    )


def _common_shape(shapes: Sequence[OpenShape]) -> OpenShape:
    """Return the common shape, with None for sizes that differ; None if the ranks differ."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known))


def try_acquire(plan: Plan) -> bool:
    """Try to take a plan's lock and its memory; return whether both were taken, so that the plan
    can run."""
    if plan.lock.acquire(blocking=False):
        is_idle = not (plan.running or plan.stale or GATE.is_closed)
        if is_idle and plan.holder.setdefault(0, plan) is plan:
            return True
        plan.lock.release()
    return False


def wait_until_idle(plan: Plan) -> bool | None:
    """Wait up to `_PATIENCE_S` for a plan's run; return True if the run has ended, None if it
    continues.

    Returns False if this thread itself is inside a run of the plan, that is, a kernel of the run
    has called this function."""
    if not plan.lock.acquire(timeout=_PATIENCE_S):
        return None
    is_nested = plan.running
    plan.lock.release()
    return not is_nested


def wait_for(plans: Sequence[Plan]) -> None:
    """Wait until the runs of these plans in other threads have ended, and free the plans' memory.

    The caller must hold no lock: a kernel of such a run may take the session's lock."""
    for plan in plans:
        with plan.lock:
            if not plan.running:
                plan.release()
