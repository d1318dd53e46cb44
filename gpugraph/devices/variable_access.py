"""Which runs of a session touch which resource variables at the same time.

A plan knows what it reads and writes before it runs. Its run enters the session's table with that,
and waits while another run is there that touches the same variables, unless both only read. So no
update of a resource variable is lost and none is read half-written, as TensorFlow has it by a lock
of each variable; what a run reads stays as it is until the run ends. Runs are served in the order
in which they come. A step that may wait for other runs leaves the table meanwhile (`WaitingRun`).

Reference variables have no part in this: `use_locking` is theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import is_main_thread
from gpugraph.plan import INTERRUPTED

_SLICE_S = 0.05  # after which a run that waits looks whether it was cancelled


class AccessTable:
    """The runs that touch resource variables now, and those that wait to."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.active: list[RunAccess] = []
        self.waiting: list[tuple[RunAccess, threading.Event]] = []

    def forget_all(self) -> None:
        """Forgets all runs: in a forked child, which has none of the other threads."""
        self.active.clear()
        self.waiting.clear()


class RunAccess:
    """What the runs of a plan, one at a time, read and write."""

    __slots__ = ("around", "reads", "table", "writes")

    def __init__(self, table: AccessTable) -> None:
        self.table = table
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.around: tuple[RunAccess, ...] = ()  # of runs that go on once this one is over

    def collides(self, other: RunAccess) -> bool:
        """Whether the runs of two plans may not go on at the same time."""
        return other not in self.around and not (
            self.writes.isdisjoint(other.writes)
            and self.writes.isdisjoint(other.reads)
            and self.reads.isdisjoint(other.writes)
        )

    def enter(self, check: Callable[[str], None]) -> None:
        """Waits until no run collides with this one. `check` raises to end the waiting."""
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
        """Lets those go on that waited for this run; nothing where it is not in the table."""
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
        """Moves those that may go on now from the waiting to the active. The lock is held."""
        table = self.table
        waiting, table.waiting = table.waiting, []
        for access, entered in waiting:
            others = [*table.active, *(earlier for earlier, _ in table.waiting)]
            if any(map(access.collides, others)):
                table.waiting.append((access, entered))
            else:
                table.active.append(access)
                entered.set()
