"""Matches the steps of members that take part in one collective from separate sessions.

A master counts the steps of its session that contain the collective. In a loop, a worker counts how
often the step has already executed the collective. When members meet, the leader records the counts
of all members. From then on a member's **place** is the number of its steps since the meeting, and
members meet only at equal places. If a member's step fails before the meeting, no member can meet
at this place any more. A member that waits at that place, or reaches that place later, fails as
well. A member beyond that place is not affected. So members whose steps fail together remain
synchronized, even if they are notified late of each other's failure.

If two members have not yet met in a collective, they may meet even if their places differ. If one
of them fails before that, their last meeting in another collective decides whether the failure
affects the other member. Each member counts its steps that contain any collective since that
meeting, and these counts are compared. If a member's session has not met any other member, the
member receives the error of a failure once, provided that the failure is less than 10 seconds old.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import monotonic

from gpugraph.base.errors import AbortedError, OpError
from gpugraph.cluster.collectives.collective_meetings import Participation, Round

_FRESH_S = 10.0


class _Failure:
    """The failure of a member's step, and the devices of the members that have been notified of the
    failure.
    """

    def __init__(
        self, attempt: Participation, error: OpError, is_own: bool, informed: set[str]
    ) -> None:
        self.attempt, self.error, self.informed = attempt, error.bare(), informed
        self.is_own, self.time = is_own, monotonic()


class CollectiveHistory:
    """The last meeting of a collective's members, and the failures of their steps since then.

    Args:
      group: the collective's group.
      last: for each group, the rounds of the last meeting of any of its collectives, by device.
    """

    def __init__(self, group: str, last: Mapping[str, dict[str, Participation]]) -> None:
        self._met: dict[str, Participation] = {}  # by device
        self._last_of_group, self._last = last[group], last
        self._failures: dict[tuple[str, str], _Failure] = {}  # by device and session

    def _order(self, attempt: Participation, other: Participation) -> tuple[int, int] | None:
        """Return how far `attempt` is ahead of `other`: the number of steps, and the number of
        executions within a step.

        The steps are counted from the meeting of the two sessions. Returns None if these sessions
        have not met in this collective.
        """
        met = _are_in(self._met, attempt, other)
        if met is None:
            return None
        first, second = met
        past = attempt.round.step - first.step - (other.round.step - second.step)
        return past, attempt.round.turn - other.round.turn

    def _is_past(self, attempt: Participation, failed: Participation) -> bool | None:
        """Return whether an attempt is in a later step than `failed`, the step that another member
        has left.

        If the two members have not met in this collective yet, their last meeting in another
        collective of the group decides. If there is none, their last meeting in another group
        decides. Returns None if the two members have not met at all.
        """
        order = self._order(attempt, failed)
        if order is not None:
            return order[0] > 0
        for last in (self._last_of_group, *self._last.values()):
            met = _are_in(last, attempt, failed)
            if met is not None:
                first, second = (round.sequence for round in met)
                return attempt.round.sequence - first > failed.round.sequence - second
        return None

    def meet(self, attempts: Iterable[Participation]) -> None:
        """Record a meeting of these attempts, and drop all failures before it."""
        self._met = {attempt.device: attempt for attempt in attempts}
        self._last_of_group.clear()
        self._last_of_group.update(self._met)
        self._failures.clear()

    def failure_for(self, attempt: Participation) -> OpError | None:
        """Return the error of another member that has left the step of `attempt`, or None."""
        self._forget_older(attempt)
        for failure in self._failures.values():
            is_past = self._is_past(attempt, failure.attempt)
            if attempt.device == failure.attempt.device or is_past:
                continue
            if is_past is not None:
                return failure.error
            if self._is_news(failure, attempt):
                failure.informed.add(attempt.device)
                return failure.error
        return None

    def _forget_older(self, attempt: Participation) -> None:
        """Drop the failures of an earlier session on the same device, if that session has not met
        any other session.
        """
        for failure in list(self._failures.values()):
            device, session, _ = failure.attempt
            is_other = device == attempt.device and session != attempt.session
            if is_other and not self._has_met(failure.attempt):
                del self._failures[device, session]

    def _has_met(self, attempt: Participation) -> bool:
        met = [last[attempt.device] for last in self._last.values() if attempt.device in last]
        return any(other.session == attempt.session for other in met)

    def _is_news(self, failure: _Failure, attempt: Participation) -> bool:
        """Return whether to report a failure to a member that has never met the failed member."""
        failed = failure.attempt
        if self._has_met(failed) or not failure.is_own:
            return False
        is_recent = monotonic() - failure.time < _FRESH_S
        is_later = not self._has_met(attempt) and attempt.round.step > failed.round.step
        return is_recent and not is_later and attempt.device not in failure.informed

    def concerns(self, failed: Participation, attempt: Participation) -> bool:
        """Return whether a waiting member must fail because another member has left a step.

        If the failed member has met an earlier session on the waiting member's device, the waiting
        member continues to wait. The two members may then meet even if their places differ.
        """
        if attempt.device == failed.device:
            return False
        is_past = self._is_past(attempt, failed)
        return not (self._has_met(failed) if is_past is None else is_past)

    def lateness(self, attempt: Participation, other: Participation) -> OpError | None:
        """Return the error for an attempt at a step that `other` has already passed, or None."""
        if (self._order(attempt, other) or (0, 0)) >= (0, 0):
            return None
        return AbortedError.of_no_node(
            f"{attempt.device} waits for {other.device} in a collective, in a step that this one "
            "has left"
        )

    def leave(
        self, attempt: Participation, error: OpError, is_own: bool, informed: Iterable[str] = ()
    ) -> None:
        """Record that a member has left a step because of an error.

        Args:
          is_own: whether the member's step failed by itself, not because another member had failed.
          informed: the devices of members that have been notified.
        """
        self._forget_older(attempt)
        heard = set(informed)
        for (device, session), failure in self._failures.items():
            is_same_step = failure.attempt.round.step == attempt.round.step
            if (device, session) == (attempt.device, attempt.session):
                heard |= failure.informed if is_same_step else set()
            elif is_same_step:  # both have left this step
                failure.informed.add(attempt.device)
                heard.add(device)
        failure = _Failure(attempt, error, is_own, heard)
        self._failures[attempt.device, attempt.session] = failure


def _are_in(
    met: Mapping[str, Participation], attempt: Participation, other: Participation
) -> tuple[Round, Round] | None:
    """Return the rounds of two members in their last meeting. Return None unless both sessions in
    that meeting are the current sessions of the members.
    """
    first, second = met.get(attempt.device), met.get(other.device)
    if first is None or second is None:
        return None
    if (first.session, second.session) != (attempt.session, other.session):
        return None
    return first.round, second.round
