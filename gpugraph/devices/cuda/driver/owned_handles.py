"""Owned handles: CUDA objects that are destroyed together with the last reference to them, but
never during a capture.

If a thread destroys graphs, frees memory or waits for the GPU while it captures a stream, the
capture fails. Python's garbage collector could cause such a failure at any line, because it may run
the finalizer of a session that was not closed. So the garbage collector is disabled during a
capture (`nothing_collected`).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable


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
