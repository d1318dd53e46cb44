"""Mutual exclusion of a session's concurrent runs that use the same resource variables.

The reads and writes of a plan are fixed before it runs. Its run enters the session's table with
them, and waits while another run there uses the same variables, unless both only read. So no
update of a resource variable is lost and none is read half-written, which TensorFlow achieves with
a lock per variable; and the values that a run reads do not change until the run ends. Runs are
admitted in the order in which they come. A step that may wait for other runs leaves the table
meanwhile (`WaitingRun`).

Reference variables are not part of this: they have `use_locking`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import is_main_thread
from gpugraph.plan import INTERRUPTED

_SLICE_S = 0.05  # the interval at which a waiting run checks for its cancellation


class AccessTable:
    """The runs that use resource variables now, and those that wait to."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.active: list[RunAccess] = []
        self.waiting: list[tuple[RunAccess, threading.Event]] = []

    def forget_all(self) -> None:
        """Remove all runs, in a forked child, which has none of the other threads."""
        self.active.clear()
        self.waiting.clear()


class RunAccess:
    """The variables that the runs of a plan, one at a time, read and write."""

    __slots__ = ("around", "reads", "table", "writes")

    def __init__(self, table: AccessTable) -> None:
        self.table = table
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.around: tuple[RunAccess, ...] = ()  # runs that this one interrupts

    def collides(self, other: RunAccess) -> bool:
        """Return whether the runs of two plans must not overlap."""
        return other not in self.around and not (
            self.writes.isdisjoint(other.writes)
            and self.writes.isdisjoint(other.reads)
            and self.reads.isdisjoint(other.writes)
        )

    def enter(self, check: Callable[[str], None]) -> None:
        """Wait until no run collides with this one. `check` raises to end the waiting."""
        table = self.table
        with table.lock:
            if not table.active and not table.waiting:
                table.active.append(self)
                return
            self.around = tuple(INTERRUPTED) if is_main_thread() else ()
            others = [*table.active, *(access for access, _ in table.waiting)]
            if not any(map(self.collides, others)):
                table.active.append(self)
                return
            entered = threading.Event()
            table.waiting.append((self, entered))
        try:
            is_in = False
            while not is_in:
                is_in = entered.wait(_SLICE_S)
                check("while it waited for variables that another run uses")
        except BaseException:
            self._give_up(entered)
            raise

    def leave(self) -> None:
        """Leave the table and admit waiting runs; do nothing if this run is not in the table."""
        table = self.table
        with table.lock:
            if self in table.active:
                table.active.remove(self)
                if table.waiting:
                    self._admit()

    def _give_up(self, entered: threading.Event) -> None:
        table = self.table
        with table.lock:
            table.waiting = [entry for entry in table.waiting if entry[1] is not entered]
            if entered.is_set() and self in table.active:
                table.active.remove(self)
            self._admit()

    def _admit(self) -> None:
        """Activate the waiting runs that can proceed. The caller must hold the lock."""
        table = self.table
        waiting, table.waiting = table.waiting, []
        for access, entered in waiting:
            others = [*table.active, *(earlier for earlier, _ in table.waiting)]
            if any(map(access.collides, others)):
                table.waiting.append((access, entered))
            else:
                table.active.append(access)
                entered.set()
