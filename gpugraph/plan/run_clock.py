"""Conditions that end a run early: a time limit, a closed session, a signal handler."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import CancelledError, DeadlineExceededError, InternalError
from gpugraph.base.interruptions.signal_handlers import PENDING, poll_signals

INTERRUPTED: list[Any] = []
"""The accesses (`plan_steps.Access`) of runs during which a handler is being called."""


class TimeLimit(NamedTuple):
    """The seconds that a run may take, and the time of `time.monotonic` when they are over."""

    seconds: float
    ends: float

    @classmethod
    def of(cls, seconds: float) -> TimeLimit:
        """Return a limit that starts now."""
        return cls(seconds, monotonic() + seconds)

    def check(self, where: str) -> None:
        """Raise DeadlineExceededError if the time is over."""
        if monotonic() > self.ends:
            raise DeadlineExceededError(
                None, None, f"Timed out waiting for notification: {where} after {self.seconds} s"
            )


Take = Callable[[str, Any], Any]
"""Receives a value of a run in progress, by a name, and may return another; it copies what it
keeps.
"""

FetchDestination = Callable[[int, Any], Any]
"""Returns the destination of the fetched array with this number, or None."""


class Clock:
    """Decides whether the run of a plan continues; long steps call `check` while it is `armed`."""

    __slots__ = (
        *("_cancelled", "_limit", "access", "armed", "interrupted", "one_thread", "stop", "take"),
        "waits",
    )

    def __init__(self) -> None:
        self.armed = False
        self.stop = np.zeros(1, np.int64)  # nonzero once the run must end: polled by native code
        self.interrupted = False  # by a signal whose handler is pending
        self.access: Any = None  # the run's access to variables
        self.one_thread = False  # whether the run does all work in the calling thread
        self.waits = False  # whether the run is in a function of the user's
        self.take: Take | None = None  # receives values that the run gives before its end
        self._cancelled = False
        self._limit: TimeLimit | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the run has a time limit."""
        return self._limit is not None

    def start(self, limit: TimeLimit | None) -> None:
        """Set the limit at the start of a run (None: unlimited), or clear it at the end."""
        self._limit = limit
        self.armed = self._cancelled or limit is not None or self.interrupted

    def cancel(self) -> None:
        """End this run, and all later ones, at the next check. Any thread may call this."""
        self._cancelled = self.armed = True
        self.stop[0] = 1

    def interrupt(self) -> None:
        """Record that a signal with a pending handler has come: the next check may call it."""
        self.interrupted = self.armed = True
        self.stop[0] = 1

    def go_on(self) -> None:
        """Clear the interruption: handlers were called, or are left to the caller of the run."""
        self.interrupted = False
        self.armed = self._cancelled or self._limit is not None
        self.stop[0] = self._cancelled

    def check_cancelled(self, where: str) -> None:
        """Raise CancelledError if the run was cancelled; ignore all other reasons to end."""
        if self._cancelled:
            raise CancelledError(None, None, f"Run call was cancelled {where}")

    def check_ended(self, where: str) -> None:
        """Raise CancelledError or DeadlineExceededError if the run must end."""
        self.check_cancelled(where)
        if self._limit is not None:
            self._limit.check(where)

    def check(self, where: str) -> None:
        """Check as `check_ended` does, and also call pending signal handlers, which may raise."""
        if self.interrupted:
            self._poll_signals()
        self.check_ended(where)

    def _poll_signals(self) -> None:
        INTERRUPTED.append(self.access)
        try:
            poll_signals(at_once=self.waits)
        finally:
            INTERRUPTED.pop()
            if not PENDING:
                self.go_on()


RUN_CLOCK: ContextVar[Clock | None] = ContextVar("RUN_CLOCK", default=None)
"""The clock of the run in progress in this thread."""


def check_run(where: str) -> None:
    """Call `Clock.check` for the run in progress, if any; for kernels that take long."""
    clock = RUN_CLOCK.get()
    if clock is not None and clock.armed:
        clock.check(where)


def give_early(name: str, value: Any) -> Any:
    """Pass a value to the caller of the run in progress before its end; return the caller's answer.

    InternalError if no caller takes it.
    """
    clock = RUN_CLOCK.get()
    if clock is None or clock.take is None:
        raise InternalError.of_no_node(f"No caller takes the value of '{name}' from this run")
    return clock.take(name, value)
