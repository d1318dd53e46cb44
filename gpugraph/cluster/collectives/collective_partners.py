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
      informed: the sessions that have received the error that reports this end.
      was_restarted: whether the session has ended because its server was restarted.
    """

    error: OpError
    informed: set[str]
    was_restarted: bool = False


class CollectivePartners:
    """The members that each session has last met in each group, the sessions that have ended, and
    the last known incarnation of each task's server.
    """

    def __init__(self) -> None:
        # By session, then by group and first device: the members of the last meeting.
        self._known: OrderedDict[str, dict[tuple[str, str], Sequence[MeetingMember]]] = (
            OrderedDict()
        )
        self._ended: OrderedDict[str, SessionEnd] = OrderedDict()  # by session
        self._servers: dict[str, list[int]] = {}  # by task: all incarnations, the last at the end

    def meet(self, key: MeetingKey, members: Sequence[MeetingMember]) -> None:
        """Record a meeting."""
        for member in members:
            known = self._known.setdefault(member.session, {})
            known[group_of(key), member.devices[0]] = members
            self._known.move_to_end(member.session)
        drop_oldest(self._known)

    def of(self, key: MeetingKey, members: Iterable[MeetingMember]) -> Sequence[MeetingMember]:
        """Return the members that any of `members` has last met in the group of `key`."""
        for member in members:
            known = self._known.get(member.session, {}).get((group_of(key), member.devices[0]))
            if known:
                return known
        return ()

    def replaced_server(self, task: str, incarnation: int) -> int:
        """Record the incarnation of a task's server. If the server was restarted since the last
        call, return the incarnation of the replaced server. Otherwise return 0.

        Args:
          incarnation: 0 if the server does not answer.
        """
        known = self._servers.setdefault(task, [])
        if not incarnation or incarnation in known:  # a replaced server's messages may come late
            return 0
        known.append(incarnation)
        return known[-2] if len(known) > 1 else 0

    def sessions_of(self, task: str, incarnation: int) -> list[str]:
        """Return the sessions of a task's server whose members have had a meeting."""
        meetings = [members for known in self._known.values() for members in known.values()]
        met = {member for members in meetings for member in members}
        return sorted({x.session for x in met if (x.task, x.incarnation) == (task, incarnation)})

    def end(self, session: str, error: OpError, was_restarted: bool) -> SessionEnd:
        """Record the end of a session. Return this record, or an earlier one if the session's
        server was restarted.
        """
        ended = self._ended.get(session)
        if ended is None or not ended.was_restarted:
            informed = set() if ended is None else ended.informed
            ended = self._ended[session] = SessionEnd(error.bare(), informed, was_restarted)
            drop_oldest(self._ended)
        return ended

    def reopen(self, session: str) -> None:
        """Drop the record that a session was closed, since one of its members joins again."""
        ended = self._ended.get(session)
        if ended is not None and not ended.was_restarted:
            del self._ended[session]

    def lost(
        self, key: MeetingKey, member: MeetingMember, present: Container[str]
    ) -> SessionEnd | None:
        """Return the end of a session that `member` has met in the group of `key`. If the session's
        server was restarted, a meeting in any group is sufficient. Return None if there is no such
        session, or if `member` has been notified already.

        Args:
          present: the devices whose members wait now. If a closed session has had one of these
            devices, a new session has replaced it.
        """
        group = group_of(key)
        for (met_in, _), partners in self._known.get(member.session, {}).items():
            for partner in partners:
                ended = self._ended.get(partner.session)
                if ended is None or member.session in ended.informed:
                    continue
                is_replaced = met_in != group or partner.devices[0] in present
                if ended.was_restarted or not is_replaced:
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
