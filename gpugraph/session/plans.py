"""The plans that a session keeps: a bounded number, each run by one thread at a time.

A plan owns memory. It gives that back when it is dropped: because there are too many (the one made
first goes), because its variables moved, because the session closes, or because a device is full.
Nobody drops a plan while it runs, and who gets to a plan's lock after it was dropped finds it
stale and takes another.

Locks are taken in this order: the session's, a plan's. A run holds its plan's lock, so that it only
tries for the session's.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from gpugraph.plan import Plan

__all__ = ["Kept", "PlanStore"]


class Kept(NamedTuple):
    """A plan, and what its owner does when it is dropped."""

    plan: Plan
    forget: Callable[[], object]


class PlanStore:
    """At most `most` plans. All methods but `drop_idle` want `lock` held."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.lock = threading.RLock()
        self._kept: OrderedDict[int, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, plan: Plan, forget: Callable[[], object]) -> Kept:
        """Keeps a plan, which is told when one of its variables moves."""
        kept = self._kept[id(plan)] = Kept(plan, forget)
        for state in plan.watched:
            state.watchers[id(plan)] = plan
        plan.stale = plan.moved()  # a variable may have moved before it was watched
        while len(self._kept) > self.most:
            self.drop(next(iter(self._kept.values())))
        return kept

    def drop(self, kept: Kept) -> None:
        """Releases a plan, when its run is over; nothing for one that is dropped already."""
        with kept.plan.lock:
            self._release(kept)

    def drop_all(self) -> None:
        """Releases all plans, each when its run is over."""
        for kept in list(self._kept.values()):
            self.drop(kept)

    def drop_idle(self) -> bool:
        """Releases the plans that nobody runs, for their memory; whether there were any.

        Called in mid-run too, so it waits for nobody: it does nothing while another thread holds
        the lock of the session.
        """
        if not self.lock.acquire(blocking=False):
            return False
        try:
            idle = [kept for kept in self._kept.values() if kept.plan.lock.acquire(blocking=False)]
            for kept in idle:
                try:
                    self._release(kept)
                finally:
                    kept.plan.lock.release()
            return bool(idle)
        finally:
            self.lock.release()

    def _release(self, kept: Kept) -> None:
        plan = kept.plan
        if self._kept.pop(id(plan), None) is None:
            return
        for state in plan.watched:
            state.watchers.pop(id(plan), None)
        kept.forget()
        if plan.running:  # by a kernel of its own run; its memory goes with its last reference
            plan.stale = True
        else:
            plan.release()
