"""A handle of CUDA's that goes with the last reference to it, but not while a stream is captured.

CUDA lets a thread that captures a stream destroy no graph, free no memory and wait for nothing: the
capture would fail. Python's collector may do all of it at any line, by finalizers of what it finds
(a session that nobody has closed); so it waits.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable, Iterator

_lock = threading.Lock()
_waits: list[bool] = []
"""Whether the collector was on, for each who has it wait: the first knows."""


class Owned:
    """An event, a graph: `destroy` is called with the handle, once.

    What it raises is dropped: a finalizer has nobody to tell, and a lost GPU has destroyed all.
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
    """Python's collector waits meanwhile, in all threads."""
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
