"""The data that members of collectives exchange with their leader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpugraph.base.errors import OpError
from gpugraph.cluster.shared_segments import SegmentName

MeetingKey = tuple[int, str]
"""The number of the step (0 if the members are in separate runs), and a text with the group and
instance keys.
"""


class MeetingMember(NamedTuple):
    """The members of a collective on one task and in one session. They join together, as one
    member.

    Args:
      devices: the members' devices, by full names.
      segment: the name of the shared memory that holds the members' input. The name is empty if
        there is no shared memory.
      incarnation: the incarnation of the task's server.
    """

    task: str
    session: str
    devices: tuple[str, ...]
    segment: SegmentName = SegmentName()
    incarnation: int = 0


class Round(NamedTuple):
    """The position of one execution of a collective among the steps of its session.

    Args:
      step: the number of the session's steps so far that contain the collective.
      turn: in a loop, the number of times that the current step has already executed the
        collective.
      sequence: the number of the session's steps so far that contain any collective.
    """

    step: int = 0
    turn: int = 0
    sequence: int = 0


class Joining(NamedTuple):
    """A member's request to join a collective.

    Args:
      size: the total number of devices in the group.
      signature: the properties that must be the same for all members.
      wait: a unique name of this wait. The member uses the name to repeat the request or to leave.
      limit_s: the maximum duration of the wait in seconds, or 0 for no limit.
      round: the position among the steps of the session. It is used if the members are in several
        sessions.
      leader_incarnation: the incarnation that the leader's server had in the session's last
        meeting. It is 0 if there has been no meeting since the session's last error.
    """

    key: MeetingKey
    size: int
    signature: Sequence[str]
    wait: str
    member: MeetingMember
    limit_s: float = 0.0
    round: Round = Round()
    leader_incarnation: int = 0

    @property
    def attempt(self) -> Participation:
        """The member and the round of this request. The leader keeps this record after the wait has
        ended.
        """
        return Participation(self.member.devices[0], self.member.session, self.round)


class Meeting(NamedTuple):
    """Members that have met, in the order of their tasks.

    Args:
      step: the number of the exchange that follows.
      leader_incarnation: the incarnation of the leader's server.
    """

    step: int
    members: Sequence[MeetingMember]
    leader_incarnation: int = 0


class Participation(NamedTuple):
    """A member, identified by its first device and its session, in a round."""

    device: str
    session: str
    round: Round


Outcome = Meeting | OpError
"""The outcome of a member's wait: the meeting, or the error that ended the wait."""
