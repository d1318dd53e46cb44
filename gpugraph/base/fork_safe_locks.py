"""Locks that are free in a forked child, even if a thread held them when the process forked.

The child has only the thread that forked. If another thread held a lock at that moment, no thread
of the child would ever release it. Brief locks, which allocators hold only for short times, are
acquired before the fork, so that the data they protect is consistent in the child. All other locks
are reset to free in the child.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_LOCKS: WeakSet[Any] = WeakSet()
_BRIEF: WeakSet[Any] = WeakSet()
_WAIT_S = 1.0  # maximum seconds that a fork waits for a brief lock
_held_by_fork: list[Any] = []


def new_lock() -> threading.Lock:
    """Return a lock that is free in a forked child."""
    lock = threading.Lock()
    _LOCKS.add(lock)
    return lock


def new_rlock(brief: bool = False) -> Any:
    """Return a reentrant lock that is free in a forked child.

    Args:
      brief: whether a fork first waits, for at most a second, until the lock is released.
    """
    lock = threading.RLock()
    (_BRIEF if brief else _LOCKS).add(lock)
    return lock


def _before() -> None:
    _held_by_fork.extend(lock for lock in list(_BRIEF) if lock.acquire(timeout=_WAIT_S))


def _in_parent() -> None:
    while _held_by_fork:
        _held_by_fork.pop().release()


def _in_child() -> None:
    _held_by_fork.clear()
    for lock in (*_LOCKS, *_BRIEF):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
