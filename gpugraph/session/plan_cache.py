"""The plans that a session keeps: a bounded number, each run by one thread at a time.

A plan owns memory. It gives that back when it is dropped: because there are too many (the one made
first goes), because its variables moved, because the session closes, or because a device is full.
A plan that is dropped while it runs ends its run first: its memory goes with its last reference.
Who gets to a plan's lock after it was dropped finds it stale and takes another.

A run holds its plan's lock, and its kernels may take the session's (by runs of their own). So who
holds the session's lock never waits for a plan's: it tries, and leaves the plan to its run.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpugraph.plan import Plan


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
        """Gives a plan up: its memory at once, or with its last reference while it runs.

        Waits for nobody; nothing for a plan that is dropped already.
        """
        plan = kept.plan
        if self._kept.pop(id(plan), None) is None:
            return
        for state in plan.watched:
            state.watchers.pop(id(plan), None)
        kept.forget()
        plan.stale = True
        if plan.lock.acquire(blocking=False):
            try:
                if not plan.running:  # by a kernel of its own run, in this thread
                    plan.release()
            finally:
                plan.lock.release()

    def drop_all(self) -> list[Plan]:
        """Gives all plans up; those that may still be running, for the caller to wait for."""
        plans = [kept.plan for kept in self._kept.values()]
        for kept in list(self._kept.values()):
            self.drop(kept)
        return plans

    def drop_idle(self) -> None:
        """Releases the plans that nobody runs, for their memory.

        Called in mid-run too: it does nothing while another thread holds the lock of the session.
        """
        if not self.lock.acquire(blocking=False):
            return
        try:
            for kept in list(self._kept.values()):
                if kept.plan.lock.acquire(blocking=False):
                    try:
                        if not kept.plan.running:
                            self.drop(kept)
                    finally:
                        kept.plan.lock.release()
        finally:
            self.lock.release()


def wait_for(plans: Sequence[Plan]) -> None:
    """Returns when the runs of these plans in other threads are over, and their memory is back.

    The caller holds no lock: a kernel of such a run may want the session's.
    """
    for plan in plans:
        with plan.lock:
            if not plan.running:
                plan.release()
