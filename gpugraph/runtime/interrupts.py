"""Ctrl-C during a run: the run ends as a whole, and then KeyboardInterrupt is raised.

An exception that a signal's handler raises may come between any two instructions of Python, so
also in the middle of an update, or between the updates of a variable and of its slots. While
a run is in progress in the main thread, the handler that is installed here only notes the
interrupt; it is raised when the run is over, at the end of a loop's iteration, or where a
kernel that takes long looks (`check_run`). A function of the user's (`WaitingRun`) is interrupted
at once, and so is what is before and after a run.

A second Ctrl-C, a second or more after the first, is raised at once, whatever it leaves.
"""

from __future__ import annotations

import signal
import threading
from types import CodeType, FrameType
from typing import Any

from gpugraph.plan import Clock, WaitingRun

_RUNS: set[CodeType] = set()
_WAITING = WaitingRun.__call__.__code__


def runs_plan(function: Any) -> Any:
    """Decorates a function that runs its argument `plan`: Ctrl-C does not end it midway.

    Its caller calls `plan.clock.deliver` when `plan.clock.interrupted`.
    """
    _RUNS.add(function.__code__)
    return function


def _clock_of(frame: FrameType | None) -> Clock | None:
    """The clock of the innermost run; None where none is in progress, or it calls the user's."""
    while frame is not None and frame.f_code is not _WAITING:
        if frame.f_code in _RUNS:
            clock: Clock = frame.f_locals["plan"].clock
            return clock
        frame = frame.f_back
    return None


def _handle(number: int, frame: FrameType | None) -> None:
    clock = _clock_of(frame)
    if clock is None or not clock.interrupt():
        signal.default_int_handler(number, frame)


def install_interrupts() -> None:
    """Takes the place of Python's handler of SIGINT, in the main thread.

    A handler of the program's stays: what it does is the program's.
    """
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
        and threading.current_thread() is threading.main_thread()
    ):
        signal.signal(signal.SIGINT, _handle)
