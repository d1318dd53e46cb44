"""Threads in which a native kernel uses only the calling thread.

Threads that compute elements of a dataset at the same time already occupy the processors. If their
kernels used more threads, the threads would only wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable

_SETTERS: list[Callable[[], bool]] = []


def provide_single_thread(setter: Callable[[], bool]) -> None:
    """Register the function of the native runtime that limits native kernels to the calling thread.

    Args:
      setter: a function that returns whether the runtime is loaded.
    """
    _SETTERS.append(setter)


class SingleThread:
    """The single-thread setting of one thread. The thread calls `apply` before each kernel, because
    the native runtime may be loaded after the thread has started.
    """

    def __init__(self) -> None:
        self._is_set = False

    def apply(self) -> None:
        """Apply the setting if the runtime is loaded."""
        if not self._is_set:
            self._is_set = bool(_SETTERS) and all(setter() for setter in _SETTERS)
