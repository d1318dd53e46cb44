"""The plans that a session keeps. Their number is bounded, and one thread at a time can run each
plan.

`RunnerPlans` has the plans of one runner for the different shapes of its feeds. `PlanCache` limits
the number of plans of all runners of a session.

A plan holds memory, which is freed when the plan is dropped. A plan is dropped if there are too
many plans and it is the oldest, if its variables have moved, if the session closes, if a device is
full, or if a plan with a larger arena replaces its arena (`devices/run_memory.py`). A plan that is
dropped while it runs finishes its run first. Its memory is then freed with the last reference to
the plan. A run that acquires a plan's lock after the plan was dropped finds it stale, and looks for
another plan.

A run holds its plan's lock, and its kernels may acquire the session's lock for nested runs. A
thread that holds the session's lock must therefore never block on a plan's lock. It only tries to
acquire this lock, and continues without the plan if the plan is busy.

A run that finds its plan busy waits for it as long as the plan's runs are short. Otherwise it uses
a `spare`, which is a replica of the plan, compiled once more, that can run at the same time.
Therefore two runs of the same fetches that wait for each other, nested runs, and runs that never
end do not block other runs. Idle replicas are dropped when a later run finds them.

All plans of a session time-share one block of memory. If the run of another plan is using this
block, a new run does not wait. The plan of the new run is compiled again, for memory that only the
plans of its runner time-share. If another plan is also using this memory, each new plan of the
runner has separate memory.
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
from gpugraph.devices import ArenaBlock
from gpugraph.plan import Plan, TimeLimit

MOST_PLANS = 256
"""The maximum number of plans that a session keeps."""

_PATIENCE_S = 0.1
"""A run may hold a plan for this number of seconds before another run of the same fetches gets a
replica.
"""


class CachedPlan(NamedTuple):
    """A plan in the cache.

    Args:
      forget: a function that removes the plan from its runner. It is called when the plan is
        dropped.
    """

    plan: Plan
    forget: Callable[[], object]


class PlanCache:
    """A cache of at most `most` plans.

    `lock` is the session's lock. The caller must hold it, except for `drop_idle`, `give_back`,
    `all` and `locked`.
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
        """Hold the lock under which plans are compiled.

        Raises DeadlineExceededError if the time limit passes.

        Args:
          limit: the time limit of the run that waits for the lock.
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
        """Add a plan. It becomes stale when the memory of a variable that it uses moves. If there
        are too many plans, drop the oldest.
        """
        cached = self._plans[id(plan)] = CachedPlan(plan, forget)
        for state in plan.watched:
            state.watchers[id(plan)] = plan
        plan.stale = plan.moved()  # a variable may have moved before it was watched
        while len(self._plans) > self.most:
            self._drop_unused()
        return cached

    def _drop_unused(self) -> None:
        """Drop the oldest plan that has run at most once, or has not run since the last call of
        this method.
        """
        while True:
            number, cached = next(iter(self._plans.items()))
            if self._runs.get(number, 1) == cached.plan.runs or len(self._plans) == 1:
                self.drop(cached)
                return
            self._runs[number] = cached.plan.runs
            self._plans.move_to_end(number)

    def drop(self, cached: CachedPlan) -> None:
        """Drop a plan. Its memory is freed now or, if the plan is running, with the last reference
        to it.

        This does not wait for runs, and does nothing if the plan is already dropped. The plan stays
        in the cache until the end of the call. If Ctrl-C interrupts the call, the next call
        therefore completes it.
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
        """Drop all plans and return them, so that the caller can wait for plans that are
        running.
        """
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
        """Forget, in a forked child, the plans that run in the parent, because their threads do not
        exist in the child.

        Args:
          idle_too: whether to also forget all idle plans.
        """
        for cached in list(self._plans.values()):
            if cached.plan.running or idle_too:
                self._plans.pop(id(cached.plan))
                cached.forget()
                cached.plan.stale = True
                if cached.plan.holder.get(0) is cached.plan:
                    cached.plan.holder.clear()

    def give_back(self) -> None:
        """Release the plan locks and the run memory that this thread holds although it is not
        running a plan.

        This is necessary if an exception, such as KeyboardInterrupt, occurs after they were
        acquired and before the run starts.
        """
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
        """Drop the plans that are not running, to free their memory.

        This may be called during a run. While another thread holds the session's lock, it does
        nothing.
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
    """Try to acquire a plan's lock and its memory. Return whether both were acquired, so that the
    plan can run.
    """
    if plan.lock.acquire(blocking=False):
        is_idle = not (plan.running or plan.stale or GATE.is_closed)
        if is_idle and plan.holder.setdefault(0, plan) is plan:
            return True
        plan.lock.release()
    return False


def wait_until_idle(plan: Plan) -> bool | None:
    """Wait up to `_PATIENCE_S` for a plan's run. Return True if the run has ended, or None if it
    continues.

    Return False if this thread is executing a run of the plan, that is, if a kernel of the run has
    called this function.
    """
    if not plan.lock.acquire(timeout=_PATIENCE_S):
        return None
    is_nested = plan.running
    plan.lock.release()
    return not is_nested


def wait_for(plans: Sequence[Plan]) -> None:
    """Wait until the runs of these plans in other threads have ended, and free the plans' memory.

    The caller must hold no lock, because a kernel of such a run may acquire the session's lock.
    """
    for plan in plans:
        with plan.lock:
            if not plan.running:
                plan.release()
