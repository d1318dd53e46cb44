"""Wrappers of steps' callables: they bind late, hold locks, mark variables as initialized, or raise
an error.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from gpugraph.devices import Enqueued, VariableState
from gpugraph.plan import Run, StepCode


class BoundLater:
    """A NumPy step that binds its kernel when it is first called. If native code replaces the step
    before its first call, the binding is never needed.
    """

    def __init__(self, bind: Callable[[], Run]) -> None:
        self._bind = bind
        self._run: Run | None = None

    def __call__(self) -> None:
        if self._run is None:
            self._run = self._bind()
        self._run()

    def release(self) -> None:
        """Free the memory that only this step uses. The next call allocates it again."""
        release = getattr(self._run, "release", None)
        if release is not None:
            release()


def plain_step(reason: str) -> Callable[[], StepCode]:
    """Return a function that returns the `StepCode` of a step that is not native code. The report
    contains `reason`.
    """
    return partial(StepCode, "plain", reason)


def initializing(run: Run, states: list[VariableState]) -> Run:
    """Return a callable that calls `run` and then marks the variables of `states` as
    initialized.
    """
    if isinstance(run, Enqueued):
        return run.assigning(states)

    def assign() -> None:
        run()
        for state in states:
            state.initialized = True

    return assign


def locking(run: Run, states: list[VariableState]) -> Run:
    """Return a callable that calls `run` while it holds the locks of the variables. All callables
    acquire the locks in the same order, so that runs don't deadlock.
    """
    locks = [state.lock for state in sorted(states, key=id)]

    def write() -> None:
        with ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            run()

    return write


def raising(error: Exception) -> Run:
    """Return a callable that raises a copy of `error`, the error that a kernel raised when it was
    bound to its inputs.
    """

    def fail() -> None:
        raise copy.copy(error)

    return fail
