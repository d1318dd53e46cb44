"""Variable access: mutual exclusion of concurrent runs that use the same resource variables.

The variables that a plan reads and writes are known before it runs. A run of the plan enters the
session's table with these two sets. If another run in the table uses one of the variables, the run
waits, unless both runs only read this variable. So no update of a resource variable is lost, and no
run reads a partly written value. TensorFlow prevents lost updates and partial reads with one lock
per variable. Here, unlike in TensorFlow, the values that a run reads also do not change until the
run ends. Runs are admitted in the order of their arrival, but a run may overtake runs with which it
does not collide. While a step waits for other runs, its run leaves the table (`WaitingRun`).

Reference variables are not protected in this way. Their ops have `use_locking`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import is_main_thread
from gpugraph.plan import INTERRUPTED

_SLICE_S = 0.05  # seconds between checks whether a waiting run was cancelled


class AccessTable:
    """The runs that currently use resource variables, and the runs that wait for them."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.active: list[RunAccess] = []
        self.waiting: list[tuple[RunAccess, threading.Event]] = []

    def forget_all(self) -> None:
        """Remove all runs in a forked child, where the other threads do not exist."""
        self.active.clear()
        self.waiting.clear()


class RunAccess:
    """The access of one plan to resource variables. A plan has only one run at a time.

    Attributes:
      reads, writes: the ids of the `VariableState`s that the plan reads and writes.
    """

    __slots__ = ("around", "reads", "table", "writes")

    def __init__(self, table: AccessTable) -> None:
        self.table = table
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.around: tuple[
            RunAccess, ...
        ] = ()  # runs of this thread that this run interrupts, in a signal handler

    def collides(self, other: RunAccess) -> bool:
        """Return whether this run and the other run must not overlap.

        Two runs collide if both runs use a variable and at least one of them writes it. A run does
        not collide with a run that it interrupts.
        """
        return other not in self.around and not (
            self.writes.isdisjoint(other.writes)
            and self.writes.isdisjoint(other.reads)
            and self.reads.isdisjoint(other.writes)
        )

    def enter(self, check: Callable[[str], None]) -> None:
        """Wait until no earlier run collides with this run, then enter the table. `check` is called
        repeatedly during the wait. `check` raises an error to end the wait.
        """
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
        """Leave the table, and admit the waiting runs that no longer collide. Do nothing if this
        run is not in the table.
        """
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
        """Admit the waiting runs that collide with no earlier run. The caller must hold the table's
        lock.
        """
        table = self.table
        waiting, table.waiting = table.waiting, []
        for access, entered in waiting:
            others = [*table.active, *(earlier for earlier, _ in table.waiting)]
            if any(map(access.collides, others)):
                table.waiting.append((access, entered))
            else:
                table.active.append(access)
                entered.set()
