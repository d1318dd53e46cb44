"""Which steps of the members of a collective belong together, where each has its own session.

A master counts the steps of its session that have the collective; in a branch or a loop a worker
counts how often the step has done it before. When members meet, their counts are noted side by
side. From there on a member's **place** is how far it is past the meeting, and members meet at
equal places only. A step that fails before it meets uses up its place, for all: who is still there,
or comes there later, fails too, and who is past it is not concerned. So members whose steps fail
together stay in step, however late each hears of the other.

Members that have not met in their sessions have no places. They meet whoever waits. They hear of
what fails while their step goes on; and of a failure that is a few seconds old, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic

from gpugraph.base.errors import AbortedError, OpError
from gpugraph.cluster.collectives.collective_meetings import Attempt

_FRESH_S = 10.0


class GroupSteps:
    """The step in which each member of a group joined last, and since when."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int, float]] = {}  # by device

    def see(self, attempt: Attempt) -> None:
        """Notes that a member joins in a step."""
        session, sequence, _ = self._last.get(attempt.device, ("", 0, 0.0))
        if session != attempt.session or sequence < attempt.round.sequence:
            self._last[attempt.device] = attempt.session, attempt.round.sequence, monotonic()

    def began(self, attempt: Attempt) -> float:
        """Since when a member is in its last step."""
        return self._last[attempt.device][2]


class _Failure:
    """That a member has left a step, and which devices have heard of it."""

    def __init__(self, attempt: Attempt, error: OpError, is_own: bool, informed: set[str]) -> None:
        self.attempt, self.error, self.informed = attempt, error.bare(), informed
        self.is_own, self.time = is_own, monotonic()


class CollectiveHistory:
    """The last meeting of one collective, and the steps that have been left since."""

    def __init__(self, steps: GroupSteps) -> None:
        self._steps = steps
        self._met: dict[str, Attempt] = {}  # by device
        self._failures: dict[str, _Failure] = {}  # by device

    def place(self, attempt: Attempt) -> tuple[int, int] | None:
        """How far an attempt is past the last meeting; None where its session was not there."""
        met = self._met.get(attempt.device)
        if met is None or met.session != attempt.session:
            return None
        return attempt.round.step - met.round.step, attempt.round.turn

    def meet(self, attempts: Iterable[Attempt]) -> None:
        """Notes a meeting: what was before is over."""
        self._met = {attempt.device: attempt for attempt in attempts}
        self._failures.clear()

    def failure_for(self, attempt: Attempt) -> OpError | None:
        """The error of a member that does not come to this attempt any more, if there is one."""
        place = self.place(attempt)
        own = self._failures.get(attempt.device)
        if own is not None and own.attempt.session != attempt.session:
            del self._failures[attempt.device]  # it has come in a new session
        for failure in self._failures.values():
            other = self.place(failure.attempt)
            if place is not None and other is not None:
                if place[0] <= other[0]:
                    return failure.error
            elif failure.time > self._steps.began(attempt) or self._is_news(failure, attempt):
                failure.informed.add(attempt.device)
                return failure.error
        return None

    def _is_news(self, failure: _Failure, attempt: Attempt) -> bool:
        """Whether a member that has not met another one hears of its failure in an earlier step."""
        failed = failure.attempt
        if self.place(failed) is not None or not failure.is_own:
            return False
        is_recent = monotonic() - failure.time < _FRESH_S
        is_later = self.place(attempt) is None and attempt.round.step > failed.round.step
        return is_recent and not is_later and attempt.device not in failure.informed

    def concerns(self, failed: Attempt, attempt: Attempt) -> bool:
        """Whether another member waits in vain for one that has left a step."""
        place, other = self.place(attempt), self.place(failed)
        if place is not None and other is not None:
            return place[0] <= other[0]
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

    def leave(
        self, attempt: Attempt, error: OpError, is_own: bool, informed: Iterable[str]
    ) -> None:
        """Notes that a member has left a step, by a failure of its own or not, and who knows."""
        heard = set(informed)
        for device, failure in self._failures.items():
            is_same_step = failure.attempt.round.step == attempt.round.step
            if device == attempt.device:
                is_same_attempt = is_same_step and failure.attempt.session == attempt.session
                heard |= failure.informed if is_same_attempt else set()
            elif is_same_step:  # both have left it
                failure.informed.add(attempt.device)
                heard.add(device)
        self._failures[attempt.device] = _Failure(attempt, error, is_own, heard)
