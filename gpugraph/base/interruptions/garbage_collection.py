"""Pauses of Python's garbage collector.

The collector would repeatedly traverse the many long-lived objects of imports and compilations, and
it may run the finalizer of any object at any line.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from threading import get_ident

from gpugraph.base.fork_safe_locks import new_rlock

_lock = new_rlock()
_pauses: list[int] = []
"""The threads with an active `nothing_collected`, each once for every `with` block."""
_was_enabled = False
"""Whether the collector was enabled before the first of these pauses began."""


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """Disable Python's garbage collector for all threads while the `with` block runs."""
    global _was_enabled
    thread = get_ident()
    with _lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
        _pauses.append(thread)
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pauses.remove(thread)
            _go_on()


def _go_on() -> None:
    if not _pauses and _was_enabled:
        gc.enable()


def _in_child() -> None:
    """End the pauses of the threads that a forked child does not have."""
    had_pauses = bool(_pauses)
    _pauses[:] = [thread for thread in _pauses if thread == get_ident()]
    if had_pauses:
        _go_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
