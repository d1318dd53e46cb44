"""What members of collectives and their leader tell each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpugraph.base.errors import OpError
from gpugraph.cluster.shared_segments import SegmentName

MeetingKey = tuple[int, str]
"""The step of a session all of whose members are in one run, else 0; and the group's and instance's
keys."""


class Member(NamedTuple):
    """What of a collective is on one task, of one session: devices, and memory to share."""

    task: str
    session: str
    devices: tuple[str, ...]
    segment: SegmentName = SegmentName()


class Round(NamedTuple):
    """A step of a session, of those that have the collective.

    turn: how often the step has done it before. sequence: counts the steps of the session that have
    any collectives.
    """

    step: int = 0
    turn: int = 0
    sequence: int = 0


class Joining(NamedTuple):
    """What a member joins a collective with, which has so many devices in all.

    signature: what all members have to agree in. wait: a name of this wait, by which it may join
    again, and leave. limit_s: how long it may last; 0 for no limit. round: the step of its
    session, if others are of other sessions.
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
        """What is known of it once it does not wait any more."""
        return Attempt(self.member.devices[0], self.member.session, self.round)


class Meeting(NamedTuple):
    """Members that have met, in the order of their tasks, and their number of a step."""

    step: int
    members: Sequence[Member]


class Attempt(NamedTuple):
    """A member, by its first device and its session, in a round."""

    device: str
    session: str
    round: Round


Outcome = Meeting | OpError
"""How a wait ends."""
