"""Attempts to change a container, such as an enqueue, which may have to wait until they succeed.

`Attempts.make` blocks its caller until the attempt is done. Attempts wait in lines. After each
change of the container, the first attempt of each line is retried, until no attempt makes progress.
A wait ends early if its run ends because the session is closed, because a time limit is reached, or
because a signal handler raises an exception.
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

_SLICE_S = 0.05  # seconds between two checks whether the run of a waiting attempt has ended

Try = Callable[["Attempt"], bool]
"""A function that tries an attempt with `lock` held, and returns whether it changed the container
or ended the attempt.
"""


class Attempt:
    """An action on a container that is retried until it is done.

    Args:
      give_up: a function that undoes a partial action when the wait ends early.
    """

    __slots__ = (
        "elements", "error", "give_up", "is_done", "requested", "result", "try_once", "woken",
    )  # fmt: skip

    def __init__(self, try_once: Try, give_up: Callable[[Attempt], Any] | None = None) -> None:
        self.try_once = try_once
        self.give_up = give_up
        self.is_done = False
        self.error: OpError | None = None
        self.result: Any = None
        self.requested = 0
        self.elements: list[Any] = []
        self.woken: threading.Event | None = None

    def end(self, result: Any = None, error: OpError | None = None) -> bool:
        """Mark the attempt as done, with a result or an error, and wake the thread that waits for
        it. Return True.
        """
        self.result, self.error = result, error
        self.is_done = True
        if self.woken is not None:
            self.woken.set()
        return True


class Attempts:
    """Lines of attempts that wait for one container, and the lock that protects the lines and the
    container.
    """

    def __init__(self, num_lines: int) -> None:
        self.lock = new_rlock()
        self.lines: tuple[deque[Attempt], ...] = tuple(deque() for _ in range(num_lines))

    def make(self, attempt: Attempt, line: int, what: str) -> Any:
        """Make an attempt, and wait in line number `line` until it is done. Return its result or
        raise its error.

        Args:
          what: the name of the operation for error messages, such as "Enqueue".
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
        """Retry the first attempt of each line until no attempt makes progress.

        The caller must hold the lock.
        """
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
        """End all attempts of a line with CancelledError. The caller must hold `lock`."""
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
