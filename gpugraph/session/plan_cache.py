"""The plans that a session keeps: a bounded number, each run by one thread at a time.

A runner has a plan for each shape set that it meets (`RunnerPlans`). When it has met several, it
gets one plan that leaves the varying sizes open, on dynamic memory, so that ever new shapes never
mean ever new plans. `PlanCache` bounds the plans of all runners of a session.

A plan holds memory. It gives that back when it is dropped: because there are too many (the oldest
goes), because its variables moved, because the session closes, because a device is full, or because
a plan with a larger arena takes the place of its arena (`devices/run_memory.py`). A plan
that is dropped while it runs ends its run first: its memory goes with its last reference. A run
that gets a plan's lock after the plan was dropped finds it stale and looks for another.

A run holds its plan's lock, and its kernels may take the session's (by runs of their own). So a
thread that holds the session's lock never waits for a plan's: it tries, and leaves the plan to its
run.

A run that finds its plan busy waits for as long as the other's single run is short; then it gets a
`spare`, the same plan compiled once again, which may run beside it. So two runs of the same fetches
that wait for each other, one inside the other, or one that never ends, stop nobody. A spare that is
found idle gives its memory back.

All plans of a session have memory in turns. A run that finds it taken by another plan's run waits
for nothing: its plan is compiled again, for memory that the plans of its runner alone have in
turns, and if that is not enough, each plan of the runner has its own.
"""

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
from gpugraph.session.room_for_open_sizes import RoomForOpenSizes, Shapes

EXACT_PLANS = 8
"""Shape sets of one runner that get a plan of their own before sizes are left open."""

MOST_PLANS = 256
"""Plans that a session keeps."""

_PATIENCE_S = 0.1
"""How long a single run may hold a plan before another run of the same gets a spare."""

OpenShape = tuple[int | None, ...] | None
"""A feed's shape in a plan: None for sizes, or ranks, that are known at each run."""


_ITS_RUNNERS = (
    "runs of these fetches have this memory in turns, since runs of others were at the same time"
)
_BESIDE = "the plan has this memory alone, since runs were at the same time"


class CachedPlan(NamedTuple):
    """A plan, and what its runner does when it is dropped."""

    plan: Plan
    forget: Callable[[], object]


class PlanCache:
    """At most `most` plans. All methods want `lock` held but `drop_idle`, `give_back`,
    `all` and `locked`.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.lock = new_rlock()
        self._plans: OrderedDict[int, CachedPlan] = OrderedDict()

    def __len__(self) -> int:
        return len(self._plans)

    @contextmanager
    def locked(self, limit: TimeLimit | None) -> Iterator[None]:
        """Holds the lock, under which plans are compiled.

        DeadlineExceededError where the time of a run is over while another thread compiles.
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
        """Keeps a plan, which goes stale when one of its variables moves."""
        cached = self._plans[id(plan)] = CachedPlan(plan, forget)
        for state in plan.watched:
            state.watchers[id(plan)] = plan
        plan.stale = plan.moved()  # a variable may have moved before it was watched
        while len(self._plans) > self.most:
            self.drop(next(iter(self._plans.values())))
        return cached

    def drop(self, cached: CachedPlan) -> None:
        """Gives a plan up: its memory at once, or with its last reference while it runs.

        Waits for no run; nothing happens to a plan that is dropped already. A plan is kept until
        all is done, so that what Ctrl-C ends midway is done the next time.
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
                if not plan.running:  # by a kernel of its own run, in this thread
                    plan.release()
            finally:
                plan.lock.release()
        self._plans.pop(id(plan), None)

    def drop_all(self) -> list[Plan]:
        """Gives all plans up; those that may still be running, for the caller to wait for."""
        return self._drop_all_of(list(self._plans.values()))

    def drop_in(self, block: ArenaBlock) -> None:
        """Gives the plans up whose arenas are in a block."""
        plans = list(self._plans.values())
        self._drop_all_of([cached for cached in plans if cached.plan.has_arena_in(block)])

    def _drop_all_of(self, dropped: Sequence[CachedPlan]) -> list[Plan]:
        for cached in dropped:
            self.drop(cached)
        return [cached.plan for cached in dropped]

    def abandon(self, idle_too: bool) -> None:
        """Forgets the plans that are running: in a forked child no other thread ends their runs."""
        for cached in list(self._plans.values()):
            if cached.plan.running or idle_too:
                self._plans.pop(id(cached.plan))
                cached.forget()
                cached.plan.stale = True
                if cached.plan.holder.get(0) is cached.plan:
                    cached.plan.holder.clear()

    def give_back(self) -> None:
        """Gives back what this thread took for a run that an exception keeps from beginning."""
        plans = self.all()
        holders = [plan.holder.get(0) for plan in plans]  # one of them may have been dropped
        for plan in (*plans, *filter(None, holders)):
            while not plan.running and plan.lock._is_owned():  # type: ignore[attr-defined]
                if plan.holder.get(0) is plan:
                    plan.holder.pop(0)
                plan.lock.release()

    def all(self) -> list[Plan]:
        """The plans; whoever holds no lock gets those of this moment."""
        return [cached.plan for cached in list(self._plans.values())]

    def drop_idle(self) -> None:
        """Releases the plans that no thread runs, for their memory.

        Called in mid-run too: it does nothing while another thread holds the lock of the session.
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
    """One runner's plans: `exact` ones by the fed shapes, and `open`, for all further shapes.

    `compile_plan` makes a plan for shapes that may be open, on run memory. `memory` is that of the
    session. All methods but `drop_idle_spares` and `leaves_memory` want the cache's lock held.
    """

    def __init__(
        self,
        cache: PlanCache,
        compile_plan: Callable[[Sequence[OpenShape], RunMemory], Plan],
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

    def find(self, shapes: Shapes) -> CachedPlan | None:
        """The plan of these very shapes, if there is one that can run."""
        cached = self.exact.get(shapes)
        return None if cached is None or cached.plan.stale else cached

    def add(self, shapes: Shapes) -> CachedPlan:
        """A plan for shapes that `find` has none for; the open one once there are many."""
        for stale in [cached for cached in self.exact.values() if cached.plan.stale]:
            self._cache.drop(stale)
        if shapes not in self._exact_shapes and len(self._exact_shapes) >= EXACT_PLANS:
            return self._add_open(shapes)
        plan = self._compile(shapes)
        self._exact_shapes[shapes] = None

        def forget() -> None:
            if shapes in self.exact and self.exact[shapes].plan is plan:
                del self.exact[shapes]

        cached = self.exact[shapes] = self._cache.add(plan, forget)
        return cached

    def _add_open(self, shapes: Shapes) -> CachedPlan:
        """The plan that leaves open every size that has varied.

        ResourceExhaustedError where there is no `room` for a run of these shapes.
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
        """Another plan for the same."""
        plan = self._compile_plan([shape for _, shape in key.feeds], RunMemory(_BESIDE))
        spares = self.spares.setdefault(key, [])

        def forget() -> None:
            spares[:] = [spare for spare in spares if spare.plan is not plan]

        spares.append(self._cache.add(plan, forget))
        return spares[-1]

    def drop_idle_spares(self, running: Plan) -> None:
        """Gives back the memory of spares that no run holds. `running` has a run.

        Nothing happens while another thread holds the cache's lock.
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

    def leaves_memory(self, cached: CachedPlan, limit: TimeLimit | None) -> bool:
        """Gives up a plan whose memory another plan's run has; its next one has other memory.

        False where the plan can run, or has a run itself.
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

    def _compile(self, shapes: Sequence[OpenShape]) -> Plan:
        """A plan on memory that no run has now."""
        while self._memories and self._memories[0].holder:
            del self._memories[0]
        return self._compile_plan(shapes, (*self._memories, RunMemory(_BESIDE))[0])


def _fits(key: PlanKey, shapes: Shapes) -> bool:
    """Whether the plan of this key serves fed values of these shapes."""
    return all(
        open_shape is None
        or (
            len(open_shape) == len(shape)
            and all(size in (None, fed_size) for size, fed_size in zip(open_shape, shape))
        )
        for (_, open_shape), shape in zip(key.feeds, shapes)
    )


def _common_shape(shapes: Sequence[OpenShape]) -> OpenShape:
    """What all shapes have in common: open sizes as None; None when their ranks differ."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known))


def is_taken(plan: Plan) -> bool:
    """Takes a plan's lock and its memory if the plan can run now."""
    if plan.lock.acquire(blocking=False):
        is_idle = not (plan.running or plan.stale or GATE.is_closed)
        if is_idle and plan.holder.setdefault(0, plan) is plan:
            return True
        plan.lock.release()
    return False


def has_waited_for(plan: Plan) -> bool | None:
    """Waits a while for a plan's run: whether it is over, or None if it still goes on.

    One in this thread, whose kernel has come back to its plan, is not over.
    """
    if not plan.lock.acquire(timeout=_PATIENCE_S):
        return None
    is_nested = plan.running
    plan.lock.release()
    return not is_nested


def wait_for(plans: Sequence[Plan]) -> None:
    """Returns when the runs of these plans in other threads are over, and their memory is back.

    The caller holds no lock: a kernel of such a run may want the session's.
    """
    for plan in plans:
        with plan.lock:
            if not plan.running:
                plan.release()
