"""The data that members of collectives and their leader exchange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpugraph.base.errors import OpError
from gpugraph.cluster.shared_segments import SegmentName

MeetingKey = tuple[int, str]
"""The step, or 0 if the members are in separate runs; and the keys of group and instance."""


class Member(NamedTuple):
    """The members of a collective on one task and in one session: devices, and memory to share."""

    task: str
    session: str
    devices: tuple[str, ...]
    segment: SegmentName = SegmentName()


class Round(NamedTuple):
    """The position of a collective in a session: the count of steps that have it.

    turn: how often the step has done it before. sequence: the count of the session's steps with
    any collectives.
    """

    step: int = 0
    turn: int = 0
    sequence: int = 0


class Joining(NamedTuple):
    """A member's request to join a collective; `size` is the total number of devices.

    signature: the properties that must be the same for all members. wait: a name of this wait, by
    which the member may join again, and leave. limit_s: its maximum duration; 0 for no limit.
    round: the step of its session, if others are of other sessions.
    """

    key: MeetingKey
    size: int
    signature: Sequence[str]
    wait: str
    member: Member
    limit_s: float = 0.0
    round: Round = Round()

    @property
    def attempt(self) -> Attempt:
        """The record of it that remains once it no longer waits."""
        return Attempt(self.member.devices[0], self.member.session, self.round)


class Meeting(NamedTuple):
    """Members that have met, in the order of their tasks, and the number of their exchange."""

    step: int
    members: Sequence[Member]


class Attempt(NamedTuple):
    """A member, by its first device and its session, in a round."""

    device: str
    session: str
    round: Round


Outcome = Meeting | OpError
"""The outcome of a wait."""
