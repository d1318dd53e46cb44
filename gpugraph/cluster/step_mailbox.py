"""Where the tensors of a step wait that go from one task to another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from gpugraph.base.errors import DeadlineExceededError, OpError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.plan import TimeLimit
from gpugraph.runtime import Rendezvous

_SLICE_S = 0.5
_KEPT_S = 600.0
_MOST_ENDED = 4096


class StepMailbox:
    """The tensors of one step that this task sends, and whether the step goes on."""

    def __init__(self) -> None:
        self.rendezvous = Rendezvous()
        self.failure: OpError | None = None
        self.begun = monotonic()
        self.num_left: int | None = None  # values that wait, once this task's part has run
        self.num_taken = 0
        self.cancels: list[Callable[[], None]] = []  # of calls that receive for this task

    def abort(self, error: OpError) -> None:
        """Ends the step: whatever waits raises the error."""
        if self.failure is None:
            self.failure = error
            self.rendezvous.start_abort(error)
            for cancel in self.cancels:
                cancel()

    def receive(self, keys: Sequence[str], goes_on: Callable[[], bool]) -> list[Any]:
        """The values of keys, as soon as they are sent; raises what ends the step."""
        values = []
        for key in keys:
            while True:
                try:
                    values.append(self.rendezvous.recv(key, _SLICE_S)[0])
                    break
                except DeadlineExceededError:  # of this slice; or of the step, which it ends
                    if self.failure is not None or not goes_on():
                        raise
        return values


class StepMailboxes:
    """The mailboxes of the steps that this task takes part in."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._open: dict[int, StepMailbox] = {}
        self._ended: OrderedDict[int, OpError | None] = OrderedDict()

    def of(self, step: int) -> StepMailbox:
        """The mailbox of a step, which others may ask before this task's part begins.

        Raises what has ended the step.
        """
        with self._lock:
            failure = self._ended.get(step)
            if failure is not None:
                raise failure
            mailbox = self._open.get(step)
            if mailbox is None:
                self._drop_old()
                mailbox = self._open[step] = StepMailbox()
            return mailbox

    def _drop_old(self) -> None:
        """Forgets steps whose master is gone."""
        limit = monotonic() - _KEPT_S
        for step, mailbox in list(self._open.items()):
            if mailbox.num_left is not None and mailbox.begun < limit:
                del self._open[step]

    def note(
        self, step: int, mailbox: StepMailbox, num_taken: int = 0, num_sent: int | None = None
    ) -> None:
        """Notes that others have taken values, or that the part has run and sent so many.

        The step is forgotten once all that was sent has been taken.
        """
        with self._lock:
            mailbox.num_taken += num_taken
            if num_sent is not None:
                mailbox.num_left = num_sent
            if mailbox.num_taken == mailbox.num_left and self._open.get(step) is mailbox:
                del self._open[step]

    def abort(self, step: int, error: OpError) -> None:
        """Ends a step, also for calls that come late."""
        with self._lock:
            mailbox = self._open.pop(step, None)
            self._ended[step] = error
            while len(self._ended) > _MOST_ENDED:
                self._ended.popitem(last=False)
        if mailbox is not None:
            mailbox.abort(error)

    def abort_all(self, error: OpError) -> None:
        """Ends all steps."""
        for step in list(self._open):
            self.abort(step, error)


class StepLimit(TimeLimit):
    """The time limit of a part's run, and the end of its step."""

    mailbox: StepMailbox

    def check(self, where: str) -> None:
        """DeadlineExceededError when the time is over; the error that has ended the step."""
        failure = self.mailbox.failure
        if failure is not None:
            raise failure
        super().check(where)
