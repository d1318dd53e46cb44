"""The plans that a session keeps: a bounded number, each run by one thread at a time.

`RunnerPlans` has the plans of one runner, by the shapes of its feeds. `PlanCache` bounds the plans
of all runners of a session.

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
from gpugraph.devices import ArenaBlock
from gpugraph.plan import Plan, TimeLimit

MOST_PLANS = 256
"""The maximum number of plans that a session keeps."""

_PATIENCE_S = 0.1
"""The seconds for which a single run may hold a plan before another run of the same fetches gets a
replica."""


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

        limit: the time limit of the run that waits for the lock; raises DeadlineExceededError after
          it.
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
