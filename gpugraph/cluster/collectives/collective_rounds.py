"""Which steps of the members of a collective belong together, where each has its own session.

A master counts the steps of its session that have the collective; in a branch or a loop a worker
counts how often the step has done it before. When members meet, their counts are noted side by
side. From there on a member's **place** is how far it is past the meeting, and members meet at
equal places only. A step that fails before it meets uses up its place, for all: who is still there,
or comes there later, fails too, and who is past it is not concerned. So members whose steps fail
together stay in step, however late each hears of the other.

Members that have not met in their sessions have no places. They meet whoever waits, and hear of a
failure that is a few seconds old, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import NamedTuple

from gpugraph.base.errors import AbortedError, OpError

_FRESH_S = 10.0


class Attempt(NamedTuple):
    """A member, by its first device and its session, in a step, of those that have the collective.

    turn: how often the step has done it before.
    """

    device: str
    session: str
    step: int
    turn: int = 0


class _Failure:
    """That a member's step has failed, and which devices have heard of it."""

    def __init__(self, attempt: Attempt, error: OpError, informed: set[str]) -> None:
        self.attempt, self.error, self.informed = attempt, error.bare(), informed
        self.time = monotonic()


class CollectiveHistory:
    """The last meeting of one collective, and the steps that have failed since."""

    def __init__(self) -> None:
        self._met: dict[str, Attempt] = {}  # by device
        self._failures: dict[str, _Failure] = {}  # by device

    def place(self, attempt: Attempt) -> tuple[int, int] | None:
        """How far an attempt is past the last meeting; None where its session was not there."""
        met = self._met.get(attempt.device)
        if met is None or met.session != attempt.session:
            return None
        return attempt.step - met.step, attempt.turn

    def meet(self, attempts: Iterable[Attempt]) -> None:
        """Notes a meeting: what was before is over."""
        self._met = {attempt.device: attempt for attempt in attempts}
        self._failures.clear()

    def failure_for(self, attempt: Attempt) -> OpError | None:
        """The error of a member that does not come to this attempt any more, if there is one."""
        place = self.place(attempt)
        own = self._failures.get(attempt.device)
        if own is not None and (place is None or own.attempt.session != attempt.session):
            del self._failures[attempt.device]  # it has come again
        for failure in self._failures.values():
            if not self.concerns(failure.attempt, attempt):
                continue
            other = self.place(failure.attempt)
            if place is not None and other is not None:
                return failure.error
            is_recent = monotonic() - failure.time < _FRESH_S
            if other is None and is_recent and attempt.device not in failure.informed:
                failure.informed.add(attempt.device)
                return failure.error
        return None

    def concerns(self, failed: Attempt, attempt: Attempt) -> bool:
        """Whether another member waits in vain for an attempt that has failed."""
        if attempt.device == failed.device:
            return False
        place, other = self.place(attempt), self.place(failed)
        if place is not None and other is not None:
            return place[0] <= other[0]
        if place is None and other is None:
            return attempt.step <= failed.step
        return True

    def lateness(self, attempt: Attempt, other: Attempt) -> OpError | None:
        """The error of an attempt at a step that another member has left, if it has."""
        place, its_place = self.place(attempt), self.place(other)
        if place is None or its_place is None or its_place <= place:
            return None
        return AbortedError.of_no_node(
            f"{attempt.device} waits for {other.device} in a collective, in a step that this one "
            "has left"
        )

    def fail(self, attempt: Attempt, error: OpError, informed: Iterable[str]) -> None:
        """Notes that a member's own step failed, and who has heard of it."""
        heard = set(informed)
        for device, failure in self._failures.items():
            is_same_step = failure.attempt.step == attempt.step
            if device == attempt.device:
                is_same_attempt = is_same_step and failure.attempt.session == attempt.session
                heard |= failure.informed if is_same_attempt else set()
            elif is_same_step:  # both failed in it
                failure.informed.add(attempt.device)
                heard.add(device)
        self._failures[attempt.device] = _Failure(attempt, error, heard)
