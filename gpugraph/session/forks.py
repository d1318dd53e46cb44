"""What a fork waits for, so that a child finds variables whole.

Before the process forks no run may begin, and those in other threads that write variables end, or
come to a function of the user's, where nothing is written. That takes no longer than `MOST_S`:
a run that takes longer (a loop of many iterations in one step) goes on, and what it is writing may
be half-written in the child. No deadlock: a run that is waited for may itself wait for variables
of another run, which ends as well, or for the user's functions, which are not waited for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from time import monotonic

from gpugraph.base.interruptions.fork_gate import GATE
from gpugraph.plan import Plan

MOST_S = 1.0
"""How long a fork waits for runs that write variables."""

_SLICE_S = 0.01  # after which it is looked again whether the run calls a function of the user's
_held: list[Plan] = []


def hold(plans: Iterable[Plan]) -> None:
    """Holds the plans that write variables, as soon as their runs are over."""
    GATE.close()
    ends = monotonic() + MOST_S
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
    """Has forks wait for the runs of `plans()`, and calls `in_child` in each child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lambda: hold(plans()), after_in_parent=_let_go, after_in_child=_forget
        )
        os.register_at_fork(after_in_child=in_child)
