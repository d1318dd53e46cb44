"""Signals at chosen places of a call, whose handler raises: for tests of the state afterwards."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from gpugraph.base.interruptions.signal_handlers import install_handlers


class StopError(Exception):
    """The exception that the program's handler raises."""


@contextmanager
def raising() -> Iterator[list[StopError]]:
    """Install a handler of SIGUSR1 that raises, and yield the list of exceptions that it has
    raised.
    """
    raised: list[StopError] = []

    def stop(number: int, frame: Any) -> None:
        raised.append(StopError(len(raised)))
        raise raised[-1]

    install_handlers()
    before = signal.signal(signal.SIGUSR1, stop)
    try:
        yield raised
    finally:
        signal.signal(signal.SIGUSR1, before)


def stopped_at_line(
    files: set[str], call: Callable[[], Any], place: int, functions: set[str] | None = None
) -> bool:
    """Make a call in which a signal comes at the n-th line of these files.

    Return False where there are fewer lines; else the handler's exception has come out of the call.
    """
    left = [place]

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGUSR1)
        return line

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        is_in = code.co_filename in files and (functions is None or code.co_name in functions)
        return line if is_in else None

    sys.settrace(trace)
    try:
        call()
    except StopError:
        return True
    finally:
        sys.settrace(None)
    assert left[0] > 0, f"the exception at line {place} is lost"
    return False


def stopped_at_call(files: set[str], call: Callable[[], Any], place: int) -> tuple[bool, bool]:
    """Make a call in which a signal comes at a place where Python checks for signals.

    These are the start of a function, and the end of a call of a builtin one. Return whether the
    signal came, and whether its exception came out of the call."""
    left = [place]

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code.co_filename in files and event in ("call", "c_return"):
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGUSR1)

    sys.setprofile(profile)
    try:
        call()
    except StopError:
        return True, True
    finally:
        sys.setprofile(None)
    return left[0] <= 0, False
