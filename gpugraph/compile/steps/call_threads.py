"""Calls of user functions in separate threads. A run that ends early abandons its calls."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import CancelledError
from gpugraph.plan import RUN_CLOCK, Clock

_SLICE_S = 0.05  # interval of checks for cancellation


class CallClock(Clock):
    """The clock that a user function polls while it is called in a separate thread. It is the clock
    of the run until the run abandons the call.
    """

    __slots__ = ("is_left", "run_clock")

    def __init__(self, run_clock: Clock | None) -> None:
        super().__init__()
        self.armed = True
        self.is_left = False
        self.run_clock = run_clock
        self.take = None if run_clock is None else run_clock.take

    def check(self, where: str) -> None:
        """Raise the error that ends the run, or CancelledError if the run has abandoned the
        call.
        """
        if self.is_left:
            raise CancelledError(None, None, f"The run was over {where}")
        if self.run_clock is not None:
            self.run_clock.check(where)


class CallThread(threading.Thread):
    """A thread that calls a user function and holds the result. If the run ends early, it abandons
    the call.

    An abandoned call that polls its run (`check_run`) gets an error.

    Args:
      place: the point where the run waits for the call, for error messages.
    """

    def __init__(self, name: str, call: Callable[[], Any], place: str) -> None:
        super().__init__(name=name, daemon=True)
        self.place = place
        self._context = contextvars.copy_context()
        self._clock = CallClock(self._context.get(RUN_CLOCK))
        self._context.run(RUN_CLOCK.set, self._clock)
        self._call = call
        self._returned: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Call the function, and store its result or its error."""
        try:
            self._returned = self._context.run(self._call)
        except BaseException as error:
            self._error = error

    def wait(self, check: Callable[[str], None]) -> None:
        """Wait until the call has returned. `check` is called repeatedly, and may raise an error to
        stop the wait.
        """
        try:
            while self.is_alive():
                self.join(_SLICE_S)
                check(self.place)
        except BaseException:
            self.leave()
            raise

    @property
    def has_failed(self) -> bool:
        """Whether the call has raised an error."""
        return self._error is not None

    @property
    def gave_up(self) -> bool:
        """Whether the call has raised an error because it was abandoned."""
        return self._clock.is_left and isinstance(self._error, CancelledError)

    def leave(self) -> None:
        """Abandon the call. The result is ignored. If the called function polls the run, it gets an
        error.
        """
        self._clock.is_left = True

    def result(self) -> Any:
        """Return the result of the call, or raise its error."""
        if self._error is not None:
            raise self._error
        return self._returned
