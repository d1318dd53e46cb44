"""Attempts on a container that may have to wait: in their order, until they succeed or give up.

Whoever calls `Attempts.make` waits until its attempt is done. Each change of the container lets the
first attempt of each line try again, and so on until none gets further. A wait ends early where its
run does: when the session is closed, at a time limit, by the handler of a signal.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import CancelledError, OpError
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.plan import check_run

_SLICE_S = 0.05  # after which an attempt that waits looks whether its run goes on

Try = Callable[["Attempt"], bool]
"""One try, with the lock held: whether it changed the container, or ended the attempt."""


class Attempt:
    """Something to be done as soon as the container lets it."""

    __slots__ = ("error", "give_up", "is_done", "requested", "result", "taken", "try_once", "woken")

    def __init__(self, try_once: Try, give_up: Callable[[Attempt], Any] | None = None) -> None:
        self.try_once = try_once
        self.give_up = give_up
        self.is_done = False
        self.error: OpError | None = None
        self.result: Any = None
        self.requested = 0
        self.taken: list[Any] = []
        self.woken: threading.Event | None = None

    def end(self, result: Any = None, error: OpError | None = None) -> bool:
        """The attempt is done: with a result, or an error."""
        self.result, self.error = result, error
        self.is_done = True
        if self.woken is not None:
            self.woken.set()
        return True


class Attempts:
    """Lines of attempts on one container, and the lock that guards it."""

    def __init__(self, num_lines: int) -> None:
        self.lock = new_rlock()
        self.lines: tuple[deque[Attempt], ...] = tuple(deque() for _ in range(num_lines))

    def make(self, attempt: Attempt, line: int, what: str) -> Any:
        """Waits for its turn in a line: what the attempt results in, or its error.

        what: the operation as errors name it, "Enqueue".
        """
        with self.lock:
            self.lines[line].append(attempt)
            self.proceed()
            if not attempt.is_done:
                attempt.woken = threading.Event()
        if attempt.woken is not None:
            self._wait(attempt, self.lines[line], what)
        if attempt.error is not None:
            raise attempt.error
        return attempt.result

    def proceed(self) -> None:
        """Lets the first of each line try, until none gets further. The lock is held."""
        changed = True
        while changed:
            changed = False
            for line in self.lines:
                while line and line[0].try_once(line[0]):
                    changed = True
                    if not line[0].is_done:
                        break
                    line.popleft()

    def cancel(self, line: int, message: str) -> None:
        """Ends all attempts of a line with CancelledError. The lock is held."""
        waiting = self.lines[line]
        while waiting:
            waiting.popleft().end(error=CancelledError.of_no_node(message))

    def _wait(self, attempt: Attempt, line: deque[Attempt], what: str) -> None:
        assert attempt.woken is not None
        try:
            while not attempt.woken.wait(_SLICE_S):
                check_run(f"while {what} waited")
        except BaseException as error:
            with self.lock:
                if attempt.is_done:
                    if raised_by_handler(error):
                        raise
                    return
                line.remove(attempt)
                if attempt.give_up is not None:
                    attempt.give_up(attempt)
                self.proceed()
            if isinstance(error, CancelledError):
                raise CancelledError.of_no_node(f"{what} operation was cancelled") from error
            raise
