"""What ends a run before its end: a time limit, a session that closes, a signal's handler."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import CancelledError, DeadlineExceededError, InternalError
from gpugraph.base.interruptions.signal_handlers import PENDING, poll_signals

INTERRUPTED: list[Any] = []
"""The accesses (`plan_steps.Access`) of runs in whose midst a handler is being called."""


class TimeLimit(NamedTuple):
    """The seconds that a run may take, and the time of `time.monotonic` when they are over."""

    seconds: float
    ends: float

    @classmethod
    def of(cls, seconds: float) -> TimeLimit:
        """A limit that starts now."""
        return cls(seconds, monotonic() + seconds)

    def check(self, where: str) -> None:
        """DeadlineExceededError when the time is over."""
        if monotonic() > self.ends:
            raise DeadlineExceededError(
                None, None, f"Timed out waiting for notification: {where} after {self.seconds} s"
            )


Take = Callable[[str, Any], Any]
"""Takes a value of a run in progress, by a name; it copies what it keeps. May give another."""

Place = Callable[[int, Any], Any]
"""Gives the array that a fetched array is copied to, which has this number; or None."""


class Clock:
    """Whether the run of a plan goes on, which long steps `check` while it is `armed`."""

    __slots__ = (
        *("_cancelled", "_limit", "access", "armed", "interrupted", "one_thread", "stop", "take"),
        "waits",
    )

    def __init__(self) -> None:
        self.armed = False
        self.stop = np.zeros(1, np.int64)  # not 0 once it ends: native code looks at it
        self.interrupted = False  # by a signal, whose handler waits
        self.access: Any = None  # of the run, to variables
        self.one_thread = False  # whether the run does all in the calling thread
        self.waits = False  # while the run calls a function of the user's
        self.take: Take | None = None  # takes what the run gives before its end
        self._cancelled = False
        self._limit: TimeLimit | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the run has a time limit."""
        return self._limit is not None

    def start(self, limit: TimeLimit | None) -> None:
        """A run starts, or ends, with this limit (None: it may take for ever)."""
        self._limit = limit
        self.armed = self._cancelled or limit is not None or self.interrupted

    def cancel(self) -> None:
        """Ends the run, and all to come, at the next check. Any thread may call this."""
        self._cancelled = self.armed = True
        self.stop[0] = 1

    def interrupt(self) -> None:
        """A signal has come, whose handler waits: the next check may call it."""
        self.interrupted = self.armed = True
        self.stop[0] = 1

    def go_on(self) -> None:
        """The handlers that waited are called, or are now left to who started the run."""
        self.interrupted = False
        self.armed = self._cancelled or self._limit is not None
        self.stop[0] = self._cancelled

    def check_cancelled(self, where: str) -> None:
        """Raises CancelledError where the run was cancelled, and nothing else."""
        if self._cancelled:
            raise CancelledError(None, None, f"Run call was cancelled {where}")

    def check_ended(self, where: str) -> None:
        """Raises CancelledError or DeadlineExceededError where the run is to end."""
        self.check_cancelled(where)
        if self._limit is not None:
            self._limit.check(where)

    def check(self, where: str) -> None:
        """As `check_ended`, where a run may end by what the handler of a signal raises, too."""
        if self.interrupted:
            self._hear()
        self.check_ended(where)

    def _hear(self) -> None:
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
    """Raises what ends the run in progress, as `Clock.check`: for kernels that take long."""
    clock = RUN_CLOCK.get()
    if clock is not None and clock.armed:
        clock.check(where)


def give_early(name: str, value: Any) -> Any:
    """Gives a value to whoever started the run in progress, before its end: what that answers.

    InternalError where nobody takes it.
    """
    clock = RUN_CLOCK.get()
    if clock is None or clock.take is None:
        raise InternalError.of_no_node(f"Nobody takes the value of '{name}' from this run")
    return clock.take(name, value)
