"""Owned handles: CUDA objects that are destroyed together with the last reference to them, but
never during a capture.

If a thread destroys graphs, frees memory or waits for the GPU while it captures a stream, the
capture fails. Python's garbage collector could cause such a failure at any line, because it may run
the finalizer of a session that was not closed. So the garbage collector is disabled during a
capture.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator

from gpugraph.base.fork_safe_locks import new_lock

_lock = new_lock()
_waits: list[bool] = []
"""Whether the collector was enabled at the beginning of each active `nothing_collected`."""


class Owned:
    """The handle of an event or a graph. When this object is deleted, `destroy` is called with the
    handle.

    Errors of `destroy` are ignored, because a finalizer has no caller, and a lost GPU has already
    destroyed all its objects.
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
    """Disable Python's garbage collector for all threads while the `with` block runs."""
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
