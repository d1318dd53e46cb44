"""Pauses of Python's garbage collector.

The collector would repeatedly traverse the many long-lived objects of imports and compilations, and
it may run the finalizer of any object at any line.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from gpugraph.base.fork_safe_locks import new_lock

_lock = new_lock()
_waits: list[bool] = []
"""Whether the collector was enabled at the beginning of each active `nothing_collected`."""


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
