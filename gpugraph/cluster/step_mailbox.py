"""The mailbox of a step. It holds the tensors that other tasks have sent to this task."""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from enum import IntEnum
from time import monotonic
from typing import Any

from gpugraph.base.errors import AbortedError, OpError, ResourceExhaustedError, UnavailableError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.plan import TimeLimit

SLICE_S = 0.5
_ASK_AFTER_S = 2.0
"""The number of seconds for which a part waits for a tensor before it checks whether the sender
still exists.
"""

_PATIENCE_S = 60.0
"""The number of seconds for which a part waits for a tensor from a task that has not started its
own part, or has ended it.
"""

_KEPT_S = 600.0
_MAX_REMEMBERED = 4096
_MAX_EARLY = 1 << 16
"""The maximum number of mailboxes. Most of them belong to steps that have not started on this task
yet.
"""


class PartState(IntEnum):
    """The state of a task's part of a step."""

    UNKNOWN = 0
    RUNNING = 1
    OVER = 2


AskState = Callable[[], int]
"""A function that returns the PartState of a tensor's sender, or raises UnavailableError if the
sender is gone.
"""


class StepMailbox:
    """The received tensors of one step, and the error that ended the step, if any.

    Only one thread at a time may call `take`.
    """

    def __init__(self) -> None:
        self.failure: OpError | None = None
        self.created = monotonic()
        self.is_running = False
        self._values: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._changes: queue.SimpleQueue[None] = queue.SimpleQueue()  # wakes sooner than Condition

    def put(self, keys: Sequence[str], values: Sequence[Any]) -> None:
        """Store tensors that another task has sent, by their rendezvous keys."""
        with self._lock:
            if self.failure is None:
                self._values.update(zip(keys, values))
        self._changes.put(None)

    def abort(self, error: OpError) -> None:
        """End the step. From now on `take` raises this error, or an earlier error if there was
        one.
        """
        with self._lock:
            if self.failure is None:
                self.failure = error
                self._values.clear()
        self._changes.put(None)

    def take(
        self, keys: Sequence[str], ask: AskState, check: Callable[[], Any], slice_s: float = SLICE_S
    ) -> list[Any]:
        """Wait for the values of all keys. Remove and return them.

        Raises the error that ends the step. Raises UnavailableError if the sender is gone or has no
        running part in the step.

        Args:
          ask: a function that requests the sender's progress, called after 2 seconds of waiting.
          check: a function that is called every `slice_s` seconds. If the function raises an error,
            the wait ends.
        """
        began = asked = monotonic()
        unknown_since = 0.0
        while True:
            values = self._values_of(keys, slice_s)
            if values is not None:
                return values
            check()
            now = monotonic()
            if now - asked < _ASK_AFTER_S:
                continue
            asked = now
            if ask() == PartState.RUNNING:
                unknown_since = 0.0
                continue
            unknown_since = unknown_since or now
            if now - unknown_since > _PATIENCE_S:
                raise UnavailableError.of_no_node(
                    f"A tensor of the step has not come for {now - began:.0f} s, and its sender "
                    "no longer has it"
                )

    def _values_of(self, keys: Sequence[str], limit_s: float) -> list[Any] | None:
        """Remove and return the values of all keys. Return None if a value is still missing after
        `limit_s` seconds.
        """
        ends = monotonic() + limit_s
        while True:
            with self._lock:
                if self.failure is not None:
                    raise self.failure.bare()
                if all(map(self._values.__contains__, keys)):
                    return [self._values.pop(key) for key in keys]
            try:
                self._changes.get(timeout=max(ends - monotonic(), 0))
            except queue.Empty:
                return None


class StepMailboxes:
    """The mailboxes of the steps in which this task takes part.

    Args:
      on_abort: a function that is called with the number of each step that ends with an error.
    """

    def __init__(self, on_abort: Callable[[int], Any] = lambda _: None) -> None:
        self._on_abort = on_abort
        self._lock = new_lock()
        self._open: dict[int, StepMailbox] = {}
        self._ended: OrderedDict[int, OpError] = OrderedDict()
        self._over: OrderedDict[int, None] = OrderedDict()

    def of(self, step: int) -> StepMailbox:
        """Return the mailbox of a step. Other tasks may send tensors to the mailbox before this
        task's part starts.

        Raises the error that has ended the step, or ResourceExhaustedError if too many steps have
        mailboxes.
        """
        with self._lock:
            mailbox = self._open.get(step)
            if mailbox is None:
                failure = self._ended.get(step)
                if failure is not None:
                    raise failure.bare()
                if len(self._open) >= _MAX_EARLY:
                    self._drop_old()
                mailbox = self._open[step] = StepMailbox()
            return mailbox

    def _drop_old(self) -> None:
        """Drop the mailboxes of steps that were not started on this task within ten minutes. The
        master of such a step must be gone.
        """
        limit = monotonic() - _KEPT_S
        for step, mailbox in list(self._open.items()):
            if not mailbox.is_running and mailbox.created < limit:
                del self._open[step]
        if len(self._open) >= _MAX_EARLY:
            raise ResourceExhaustedError.of_no_node(f"{len(self._open)} steps wait to begin")

    def end(self, step: int) -> None:
        """Drop a step's mailbox, and record that this task's part has ended."""
        with self._lock:
            self._open.pop(step, None)
            _remember(self._over, step, None)

    def state(self, step: int) -> PartState:
        """Return the progress of this task's part in a step."""
        with self._lock:
            mailbox = self._open.get(step)
            if mailbox is not None and mailbox.is_running:
                return PartState.RUNNING
            return PartState.OVER if step in self._over else PartState.UNKNOWN

    def abort(self, step: int, error: OpError) -> None:
        """End a step with an error. Later calls of `of` for this step raise the same error."""
        error = error.bare()
        with self._lock:
            mailbox = self._open.pop(step, None)
            _remember(self._ended, step, error)
        if mailbox is not None:
            mailbox.abort(error)
        self._on_abort(step)

    def abort_all(self, error: OpError) -> None:
        """End all steps with an error."""
        for step in list(self._open):
            self.abort(step, error)


def _remember(steps: OrderedDict[int, Any], step: int, value: Any) -> None:
    steps[step] = value
    while len(steps) > _MAX_REMEMBERED:
        steps.popitem(last=False)


class StepLimit(TimeLimit):
    """The time limit of a part's run."""

    mailbox: StepMailbox

    def check(self, where: str) -> None:
        """Raise DeadlineExceededError after the time limit. Raise AbortedError if the step has
        failed on another task.

        Args:
          where: text for the end of the message, such as "before a stage".
        """
        if self.mailbox.failure is not None:
            raise AbortedError.of_no_node(f"The step has ended {where}")
        super().check(where)
