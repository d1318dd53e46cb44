"""A gate that is closed while the process forks: no run of a plan starts or continues during the
fork.

A forked child starts with a copy of the memory. If another thread were writing data at that moment,
in native code or in NumPy, the data would stay partly written in the child.
"""

from __future__ import annotations

import threading


class ForkGate:
    """A gate that makes runs wait while the process forks. A run checks `is_closed` before it
    starts. If the gate is closed, the run calls `wait`.
    """

    __slots__ = ("is_closed", "lock")

    def __init__(self) -> None:
        self.is_closed = False
        self.lock = threading.RLock()

    def close(self) -> None:
        """Close the gate at the start of a fork. The forking thread holds `lock` until the fork
        ends.
        """
        self.lock.acquire()
        self.is_closed = True

    def open(self) -> None:
        """Open the gate in the parent after the fork."""
        self.is_closed = False
        self.lock.release()

    def renew(self) -> None:
        """Open the gate in the child, with a new lock."""
        self.is_closed = False
        self.lock = threading.RLock()

    def wait(self) -> None:
        """Block until no fork is in progress."""
        with self.lock:
            pass


GATE = ForkGate()
