"""Handles of CUDA that are destroyed with their last reference, but not during a capture.

While a thread captures a stream, it must not destroy graphs, free memory or wait: the capture would
fail. Python's garbage collector may do all of that at any line, by finalizers (of a session that
was not closed), so it is disabled during a capture.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator

from gpugraph.base.fork_safe_locks import new_lock

_lock = new_lock()
_waits: list[bool] = []
"""For each `nothing_collected` in progress, whether the collector was enabled before it."""


class Owned:
    """The handle of an event or a graph: `destroy` is called with it, once.

    Its errors are dropped: a finalizer has no caller, and on a lost GPU everything is already
    destroyed.
    """

    __slots__ = ("_destroy", "handle")

    def __init__(self, handle: int, destroy: Callable[[int], object]) -> None:
        self.handle = handle
        self._destroy = destroy

    def __del__(self) -> None:
        if not sys.is_finalizing():
            with contextlib.suppress(RuntimeError):
                self._destroy(self.handle)


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """Disable Python's garbage collector inside the context, in all threads."""
    with _lock:
        _waits.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            if len(_waits) == 1 and _waits[0]:
                gc.enable()
            _waits.pop()
