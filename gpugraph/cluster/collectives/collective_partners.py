"""The sessions that have met under a leader, and the ends of these sessions.

A restarted server has a new incarnation number. Its new sessions do not continue the steps of the
old server's sessions. So each session that has met a session of the old server receives one error.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

from gpugraph.base.errors import OpError
from gpugraph.cluster.collectives.collective_meetings import MeetingKey, MeetingMember

_MAX_KNOWN = 4096


class SessionEnd(NamedTuple):
    """The end of a session.

    Args:
      informed: the sessions that have received the error.
      is_killed: whether the session's server was restarted.
    """

    error: OpError
    informed: set[str]
    is_killed: bool = False


class CollectivePartners:
    """The members that each session has last met in each group, the sessions that have ended, and
    the last known incarnation of each task's server.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str], Sequence[MeetingMember]] = OrderedDict()
        self._ended: OrderedDict[str, SessionEnd] = OrderedDict()  # by session
        self._servers: dict[str, int] = {}

    def meet(self, key: MeetingKey, members: Sequence[MeetingMember]) -> None:
        """Record a meeting."""
        for member in members:
            self._known[group_of(key), member.session, member.devices[0]] = members
        drop_oldest(self._known)

    def of(self, key: MeetingKey, members: Iterable[MeetingMember]) -> Sequence[MeetingMember]:
        """Return the members that any of `members` has last met in the group of `key`."""
        for member in members:
            known = self._known.get((group_of(key), member.session, member.devices[0]))
            if known:
                return known
        return ()

    def sessions_before(self, task: str, server: int) -> list[str]:
        """Record the incarnation of a task's server. If the server was restarted, return the
        sessions of the old server. Otherwise return no sessions.

        Args:
          server: the incarnation, or 0 if the server does not answer.
        """
        old = self._servers.get(task, server)
        if server:
            self._servers[task] = server
        if not server or server == old:
            return []
        met = {member for members in self._known.values() for member in members}
        return sorted({x.session for x in met if (x.task, x.server) == (task, old)})

    def end(self, session: str, error: OpError, is_killed: bool) -> SessionEnd:
        """Record the end of a session. Return this record, or an earlier one if the session's
        server was restarted.
        """
        ended = self._ended.get(session)
        if ended is None or not ended.is_killed:
            ended = self._ended[session] = SessionEnd(error.bare(), set(), is_killed)
            drop_oldest(self._ended)
        return ended

    def reopen(self, session: str) -> None:
        """Drop the record that a session has ended, since one of its members joins again."""
        self._ended.pop(session, None)

    def lost(
        self, key: MeetingKey, member: MeetingMember, present: Container[str]
    ) -> SessionEnd | None:
        """Return the end of a session that `member` has met. Return None if there is no such
        session, or if `member` has been notified already.

        Args:
          present: the devices whose members wait now. If one of them is of a session that was
            closed, it has a new session.
        """
        for partner in self.of(key, [member]):
            ended = self._ended.get(partner.session)
            if ended is None or member.session in ended.informed:
                continue
            if ended.is_killed or partner.devices[0] not in present:
                return ended
        return None

    def strangers(self, key: MeetingKey, members: Sequence[MeetingMember]) -> str:
        """Return an error message if a member has previously met other members under the group's
        key. Otherwise return "".
        """
        present = devices_of(members)
        checked: Sequence[MeetingMember] = ()
        for member in () if key[0] else members:
            known = self.of(key, [member])
            if known is checked:
                continue
            checked = known
            devices = set(devices_of(known))
            others = sorted(set(present) - devices) if known else []
            if others:
                return f"{others[0]} joined, but the group is of {', '.join(sorted(devices))}"
        return ""


def drop_oldest(known: OrderedDict[Any, Any]) -> None:
    """Remove the oldest entries of a record that has too many."""
    while len(known) > _MAX_KNOWN:
        known.popitem(last=False)


def group_of(key: MeetingKey) -> str:
    """Return the part of a meeting's key that names the group."""
    return key[1].partition(",")[0]


def devices_of(members: Iterable[MeetingMember]) -> list[str]:
    """Return the full names of the devices of members."""
    return [device for member in members for device in member.devices]
