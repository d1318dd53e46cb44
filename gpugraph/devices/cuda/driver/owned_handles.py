"""Owned handles: CUDA objects that are destroyed with the last reference to them, but not during a
capture.

While a thread captures a stream, it must not destroy graphs, free memory or wait for the GPU, or
the capture fails. Python's garbage collector could cause this at any line, by the finalizer of a
session that was not closed, so it is disabled during a capture.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator

from gpugraph.base.fork_safe_locks import new_lock

_lock = new_lock()
_waits: list[bool] = []
"""For each active `nothing_collected`, whether the collector was enabled when it began."""


class Owned:
    """The handle of an event or a graph. `destroy` is called with it once, when this object is
    deleted.

    Errors of `destroy` are ignored: a finalizer has no caller, and on a lost GPU all objects are
    destroyed already.
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
    """Disable Python's garbage collector, for all threads, until the block ends."""
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
