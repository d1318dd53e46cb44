"""A gate that is closed while the process forks: no run of a plan begins, or goes on, meanwhile.

A child has the memory as it is when the process forks. What another thread is writing then, in
native code or in NumPy, stays half-written there.
"""

from __future__ import annotations

import threading


class ForkGate:
    """`is_closed` is looked at before each run; who finds it so passes once the fork is over."""

    __slots__ = ("is_closed", "lock")

    def __init__(self) -> None:
        self.is_closed = False
        self.lock = threading.RLock()

    def close(self) -> None:
        """Begins a fork, which holds `lock`."""
        self.lock.acquire()
        self.is_closed = True

    def open(self) -> None:
        """Lets runs go on, in the parent."""
        self.is_closed = False
        self.lock.release()

    def renew(self) -> None:
        """Lets runs go on, in the child, where no other thread holds the lock."""
        self.is_closed = False
        self.lock = threading.RLock()

    def wait(self) -> None:
        """Returns when no fork is under way."""
        with self.lock:
            pass


GATE = ForkGate()
