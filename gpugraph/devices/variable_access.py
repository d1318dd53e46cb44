"""Variable access: mutual exclusion of concurrent runs that use the same resource variables.

The variables that a plan reads and writes are known before it runs. A run of the plan enters the
session's table with these two sets. If another run in the table uses one of the variables, the run
waits, unless both runs only read this variable. So no update of a resource variable is lost, and no
run reads a partly written value. TensorFlow ensures this with one lock per variable. Here, unlike
in TensorFlow, the values that a run reads also do not change until the run ends. Runs are admitted
in the order of their arrival, but a run may overtake runs with which it does not collide. While a
step waits for other runs, its run leaves the table (`WaitingRun`).

Reference variables are not protected in this way. Their ops have `use_locking`.

Copies of a variable that share one memory are separated by the first run of a plan that changes one
copy alone (`Separation`). During this run, no other run that uses a copy is in the table. If a plan
is bound to the common memory, its next run is refused, and the plan is compiled again. A run that
is waiting in the middle can't be refused any more. When it continues, its changes of the common
memory are copied to each copy that no other run has changed since the separation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import is_main_thread
from gpugraph.plan import INTERRUPTED, SeparatedCopiesError

_SLICE_S = 0.05  # seconds between checks whether a waiting run was cancelled


class Separation(Protocol):
    """The separation of the copies of a variable (`variable_copies.Separation`)."""

    is_done: bool
    has_moved: bool

    def ids(self) -> set[int]:
        """Return the ids of the variables of all copies."""

    def complete(self) -> None:
        """Copy the common value to the memory of each copy. Later calls do nothing."""

    def equal_copies(self) -> list[Callable[[], None]]:
        """Return, for each copy that is equal to the first one, a function that copies the value
        of the first copy to it.
        """


class SharedVariable(Protocol):
    """A variable whose memory several copies may share."""

    @property
    def separation(self) -> Separation | None:
        """The separation of the copies, or None if they share the memory."""


class AccessTable:
    """The runs that currently use resource variables, and the runs that wait for these runs.

    Attributes:
      epoch: the number of separations of copies so far.
    """

    def __init__(self) -> None:
        self.epoch = 0
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
      shared: the variables that the plan uses as the common memory of several copies.
      separations: separations that must be complete before a run of the plan begins.
    """

    __slots__ = (
        "_epoch", "_followers", "_separated", "around", "reads", "separations", "shared", "table",
        "writes",
    )  # fmt: skip

    def __init__(self, table: AccessTable) -> None:
        self.table = table
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.shared: list[SharedVariable] = []
        self.separations: list[Separation] = []
        self._epoch = -1  # of the table, when the plan was found to fit it
        self._separated: list[Separation] = []  # while a step of the run waited
        self._followers: list[Callable[[], None]] = []
        self.around: tuple[
            RunAccess, ...
        ] = ()  # runs of this thread that this run interrupts, in a signal handler

    def collides(self, other: RunAccess) -> bool:
        """Return whether this run and another run must not overlap.

        Two runs collide if both runs use a variable and at least one of them writes it. A run does
        not collide with a run that it interrupts.
        """
        return other not in self.around and not (
            self.writes.isdisjoint(other.writes)
            and self.writes.isdisjoint(other.reads)
            and self.reads.isdisjoint(other.writes)
        )

    def enter(self, check: Callable[[str], None]) -> None:
        """Wait until no earlier run collides with this run, then enter the table. During the wait,
        `check` is called repeatedly, and may raise an error to end the wait.

        Raises SeparatedCopiesError if the plan must be compiled again, because copies of variables
        do not share memory any more.
        """
        self._enter(check)
        if self._epoch != self.table.epoch:
            self._fit()

    def enter_again(self, check: Callable[[str], None]) -> None:
        """Enter the table again after a step in the middle of the run has waited."""
        while True:
            epoch = self.table.epoch
            if epoch != self._epoch:
                self._note_separations()
            self._enter(check)
            if self.table.epoch == epoch:
                break
            self.leave()
        for separation in self._separated:
            self._followers += separation.equal_copies()

    def _enter(self, check: Callable[[str], None]) -> None:
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
        while self._followers:
            self._followers.pop()()
        with table.lock:
            if self in table.active:
                table.active.remove(self)
                if table.waiting:
                    self._admit()

    def _fit(self) -> None:
        """Complete the separations with which the plan was compiled. The caller must have entered
        this run in the table.

        Raises SeparatedCopiesError if the plan still uses the common memory of copies that are
        separated.
        """
        for separation in self.separations:
            if not separation.is_done:
                separation.complete()
                with self.table.lock:
                    self.table.epoch += 1
        epoch = self.table.epoch
        if any(separation.has_moved for separation in self.separations) or self._find_separated():
            raise SeparatedCopiesError
        self._epoch = epoch

    def _find_separated(self) -> list[Separation]:
        """Return the complete separations of copies whose common memory the plan uses."""
        found = [variable.separation for variable in self.shared]
        return [separation for separation in found if separation is not None and separation.is_done]

    def _note_separations(self) -> None:
        """Adapt this run, which is in progress, to separations that other runs have completed since
        it began.
        """
        for separation in self._find_separated():
            if separation not in self._separated and not separation.ids().isdisjoint(self.writes):
                self._separated.append(separation)
                self.writes |= separation.ids()

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
