"""Conditions that end a run early, such as a time limit, a closed session or a signal handler's
exception.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import CancelledError, DeadlineExceededError, InternalError
from gpugraph.base.interruptions.signal_handlers import PENDING, poll_signals

INTERRUPTED: list[Any] = []
"""The `plan_steps.Access` of each run that a signal handler is interrupting now."""


class TimeLimit(NamedTuple):
    """A time limit. It has the seconds that a run may take, and the value of `time.monotonic()` at
    which the limit is reached.
    """

    seconds: float
    ends: float

    @classmethod
    def of(cls, seconds: float) -> TimeLimit:
        """Return a limit that starts now."""
        return cls(seconds, monotonic() + seconds)

    def check(self, where: str) -> None:
        """Raise DeadlineExceededError if the limit has been reached.

        Args:
          where: the place in the run, for the error message.
        """
        if monotonic() > self.ends:
            raise DeadlineExceededError(
                None, None, f"Timed out waiting for notification: {where} after {self.seconds} s"
            )


Take = Callable[[str, Any], Any]
"""A function that receives an operation's name and a value from its kernel during a run, and may
return the operation's result. If it needs the value after the call, it must copy it.
"""

FetchDestination = Callable[[int, Any], Any]
"""A function that returns the array to which fetch number i is copied, or None for a new array."""


class Clock:
    """The clock of a plan's runs, which ends a run early if necessary. Long steps call `check`
    repeatedly while `armed` is set.
    """

    __slots__ = (
        *("_cancelled", "_limit", "access", "armed", "interrupted", "one_thread", "stop", "take"),
        "waits",
    )

    def __init__(self) -> None:
        self.armed = False
        self.stop = np.zeros(1, np.int64)  # nonzero once the run must end: polled by native code
        self.interrupted = False  # whether a signal handler is pending
        self.access: Any = None  # the run's access to variables
        self.one_thread = False  # whether the run does all work in the calling thread
        self.waits = False  # whether the run is in a user function
        self.take: Take | None = None  # receives inputs of collectives during the run
        self._cancelled = False
        self._limit: TimeLimit | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the run has a time limit."""
        return self._limit is not None

    def start(self, limit: TimeLimit | None) -> None:
        """Set the time limit at the start of a run, or None for no limit. At the end of a run, None
        is passed as well.
        """
        self._limit = limit
        self.armed = self._cancelled or limit is not None or self.interrupted

    def cancel(self) -> None:
        """Cancel this run and all later runs. Each raises CancelledError at its next check. This
        method is thread-safe.
        """
        self._cancelled = self.armed = True
        self.stop[0] = 1

    def interrupt(self) -> None:
        """Record that a signal has arrived. Its handler is called at the next `check`."""
        self.interrupted = self.armed = True
        self.stop[0] = 1

    def go_on(self) -> None:
        """Clear the record of a signal. Its handler has been called, or the run's caller will call
        it.
        """
        self.interrupted = False
        self.armed = self._cancelled or self._limit is not None
        self.stop[0] = self._cancelled

    def check_cancelled(self, where: str) -> None:
        """Raise CancelledError if the run was cancelled. This method ignores the time limit and
        signals.
        """
        if self._cancelled:
            raise CancelledError(None, None, f"Run call was cancelled {where}")

    def check_ended(self, where: str) -> None:
        """Raise CancelledError if the run was cancelled, or DeadlineExceededError if its time limit
        has been reached.
        """
        self.check_cancelled(where)
        if self._limit is not None:
            self._limit.check(where)

    def check(self, where: str) -> None:
        """Call `check_ended`, and then call pending signal handlers, which may raise exceptions."""
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
    """Call `Clock.check` of the run in this thread. If there is no run, do nothing. Kernels that
    take a long time call this often.
    """
    clock = RUN_CLOCK.get()
    if clock is not None and clock.armed:
        clock.check(where)


def give_early(name: str, value: Any) -> Any:
    """Pass a kernel's value to the caller of the run while the run is in progress, and return the
    caller's response.

    Raises InternalError if the caller does not accept values.
    """
    clock = RUN_CLOCK.get()
    if clock is None or clock.take is None:
        raise InternalError.of_no_node(f"No caller takes the value of '{name}' from this run")
    return clock.take(name, value)
