"""Waiting for runs before a fork, so that the child process has consistent variables.

When the process is about to fork, no new run may begin. The fork waits for each run that writes
variables in another thread, until this run ends or calls a Python function of the user. During such
a function, the run writes nothing. The fork waits for at most `MAX_WAIT_S`. A longer run (such as a
loop of many iterations in one step) continues, and the child may have partly written values. The
wait cannot deadlock. The run for which the fork waits may itself wait for variables that another
run holds. However, this other run also ends, or it is in a user function, for which the fork does
not wait.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from time import monotonic

from gpugraph.base.interruptions.fork_gate import GATE
from gpugraph.plan import Plan

MAX_WAIT_S = 1.0
"""The maximum number of seconds that a fork waits for runs that write variables."""

_SLICE_S = 0.01  # seconds between checks whether a run is in a user function
_held: list[Plan] = []


def hold(plans: Iterable[Plan]) -> None:
    """Prevent new runs from starting. Wait until the runs of plans that write variables have ended,
    and lock these plans.
    """
    GATE.close()
    ends = monotonic() + MAX_WAIT_S
    for plan in plans:
        while plan.writes and not plan.clock.waits:
            remaining = ends - monotonic()
            if plan.lock.acquire(timeout=max(0.0, min(_SLICE_S, remaining))):
                _held.append(plan)
                break
            if remaining <= 0:
                break


def _let_go() -> None:
    while _held:
        _held.pop().lock.release()
    GATE.open()


def _forget() -> None:  # locks are free in a child
    _held.clear()
    GATE.renew()


def at_forks(plans: Callable[[], Iterable[Plan]], in_child: Callable[[], None]) -> None:
    """Make each fork of this process wait for the runs of `plans()`.

    Call `in_child` in each child.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lambda: hold(plans()), after_in_parent=_let_go, after_in_child=_forget
        )
        os.register_at_fork(after_in_child=in_child)
