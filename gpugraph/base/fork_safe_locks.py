"""Locks that are free in a forked child, whatever thread held them when the process forked.

A child has the thread that forked and no other. A lock that another thread held would never be
released there. What is only ever held for a moment, by allocators, is waited for before the fork,
so that the child finds whole what it guards; other locks become free in the child.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_LOCKS: WeakSet[Any] = WeakSet()
_BRIEF: WeakSet[Any] = WeakSet()
_WAIT_S = 1.0  # for a brief lock, before a fork
_held_by_fork: list[Any] = []


def new_lock() -> threading.Lock:
    """A lock that is free in a forked child."""
    lock = threading.Lock()
    _LOCKS.add(lock)
    return lock


def new_rlock(brief: bool = False) -> Any:
    """A reentrant lock that is free in a forked child. brief: a fork waits until it is free."""
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
