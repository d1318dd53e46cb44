"""Meetings of the members of a collective. One task, the leader, records which members have joined.

A request to join contains the member's keys, the group's size, a signature (operation, dtype and
shape) and the member's devices. When all members have joined, each receives the list of members and
a number for their exchange. No call blocks: the leader notifies members when their wait is over.
Members repeat their request periodically, since the leader may have been restarted. If a member's
request contradicts the requests of the other members, all members that have joined fail. Members
also fail if the server of a missing member is gone, or if they have waited for
`GPUGRAPH_COLLECTIVE_WAIT` seconds.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from time import monotonic, sleep
from typing import Any

from gpugraph.base.errors import (
    AbortedError,
    DeadlineExceededError,
    OpError,
    UnavailableError,
    invalid_argument,
)
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.collectives.collective_meetings import (
    Joining,
    Meeting,
    MeetingKey,
    MeetingMember,
    Outcome,
    Participation,
)
from gpugraph.cluster.collectives.collective_partners import (
    CollectivePartners,
    devices_of,
    drop_oldest,
    group_of,
)
from gpugraph.cluster.collectives.collective_rounds import CollectiveHistory

_SLICE_S = 0.5
_PATIENCE_S = 1.0  # how long members wait before the servers of missing ones are checked


class _Waiting:
    """The members of one collective that have joined and wait for the remaining members."""

    def __init__(self, first: Joining) -> None:
        self.key, self.size, self.signature = first.key, first.size, first.signature
        self.first = first.member.devices[0]
        self.members: dict[str, MeetingMember] = {}  # by the name of the wait
        self.attempts: dict[str, Participation] = {}
        self.devices: dict[str, str] = {}  # by device, the name of its wait
        self.limits: dict[str, tuple[float, float]] = {}  # by wait: start, maximum duration
        self.asked = monotonic()


class CollectiveGroups:
    """The meetings that this task leads. No method waits for members. A member that must wait is
    notified later, by a call of `settle`.

    Args:
      incarnation: the incarnation of this task's server.
      incarnation_of: a function that returns the incarnation of a task's server, or 0 if the
        server does not answer.
      settle: a function that notifies a task of the outcome of a wait.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        incarnation: int,
        incarnation_of: Callable[[str], int],
        settle: Callable[[str, str, Outcome], Any],
    ) -> None:
        self._tasks, self._incarnation = tasks, incarnation
        self._incarnation_of, self._settle = incarnation_of, settle
        self._waiting: dict[MeetingKey, _Waiting] = {}
        self._outcomes: OrderedDict[str, Outcome] = OrderedDict()  # by the names of waits
        self._partners = CollectivePartners()
        self._histories: OrderedDict[str, CollectiveHistory] = OrderedDict()  # by key
        self._met: OrderedDict[str, dict[str, Participation]] = (
            OrderedDict()
        )  # last, by group and device
        self._lock = new_lock()
        self._is_watched = False

    def join(self, joining: Joining) -> Meeting | None:
        """Return the meeting if all members have now joined. Otherwise return None, and report the
        meeting later through `settle`.

        Raises InvalidArgumentError if members' requests contradict each other, UnavailableError if
        a member's server is gone, AbortedError if a member has failed, its session is closed, or
        its server or the leader's server was restarted, and DeadlineExceededError after the time
        limit.
        """
        key, wait, member = joining.key, joining.wait, joining.member
        if joining.leader_incarnation not in (0, self._incarnation):
            reason = "was restarted after the session's last meeting"
            raise AbortedError.of_no_node(f"The leader of the collective {key[1]} {reason}")
        with self._lock:
            ended = self._note_server(member.task, member.incarnation)
            waiting = self._waiting.get(key)
            is_new = wait not in self._outcomes and (waiting is None or wait not in waiting.members)
            refusal = self._refusal(joining) if is_new and not key[0] else None
            if refusal is not None:
                ended += self._left(key, refusal, joining.attempt, is_own=False)
            elif is_new:
                if waiting is None:
                    waiting = self._waiting[key] = _Waiting(joining)
                waiting.limits[wait] = monotonic(), joining.limit_s
                ended += self._enter(waiting, joining)
                self._watch()
            outcome = refusal or self._outcomes.get(wait)
        self._announce(end for end in ended if end[1] != wait)
        if isinstance(outcome, OpError):
            raise outcome.bare()
        return outcome

    def _enter(self, waiting: _Waiting, joining: Joining) -> list[tuple[str, str, Outcome]]:
        """Add a new member. Return the task, name and outcome of each wait that ends as a
        result.
        """
        size, wait, member = joining.size, joining.wait, joining.member
        old = {waiting.devices[name] for name in member.devices if name in waiting.devices}
        waiting.members[wait], waiting.attempts[wait] = member, joining.attempt
        waiting.devices.update(dict.fromkeys(member.devices, wait))
        ended = []
        for other in old:  # the member on this device was restarted
            error = AbortedError.of_no_node(
                f"Another member joined the collective {waiting.key[1]} on {member.devices[0]}"
            )
            ended.append(self._end(waiting, other, error))
        ended += self._end_late(waiting, joining.attempt)
        misfit = _misfit(waiting, joining)
        if not misfit and len(waiting.devices) > size:
            devices = ", ".join(waiting.devices)
            misfit = f"{len(waiting.devices)} devices joined a group of {size}: {devices}"
        if not misfit and len(waiting.devices) == size:
            misfit = self._partners.strangers(waiting.key, list(waiting.members.values()))
        if misfit:
            refusal = f"The collective {waiting.key[1]} can't be done: {misfit}"
            ended += self._end_all(waiting, invalid_argument(refusal))
        elif len(waiting.devices) == size:
            ended += self._end_all(waiting, self._meeting(waiting))
        return ended

    def _end(self, waiting: _Waiting, wait: str, outcome: Outcome) -> tuple[str, str, Outcome]:
        member, attempt = self._remove(waiting, wait)
        self._outcomes[wait] = outcome.bare() if isinstance(outcome, OpError) else outcome
        if isinstance(outcome, OpError) and not waiting.key[0]:
            self._history(waiting.key).leave(attempt, outcome, is_own=False)
        drop_oldest(self._outcomes)
        return member.task, wait, outcome

    def _remove(self, waiting: _Waiting, wait: str) -> tuple[MeetingMember, Participation]:
        member, attempt = waiting.members.pop(wait), waiting.attempts.pop(wait)
        del waiting.limits[wait]
        for name in member.devices:
            if waiting.devices.get(name) == wait:
                del waiting.devices[name]
        if not waiting.members and self._waiting.get(waiting.key) is waiting:
            del self._waiting[waiting.key]
        return member, attempt

    def _end_all(self, waiting: _Waiting, outcome: Outcome) -> list[tuple[str, str, Outcome]]:
        return [self._end(waiting, wait, outcome) for wait in list(waiting.members)]

    def _end_late(
        self, waiting: _Waiting, attempt: Participation
    ) -> list[tuple[str, str, Outcome]]:
        """End the waits for the member of `attempt` in steps that this member has left or
        passed.
        """
        history = self._history(waiting.key)
        late = {wait: history.lateness(other, attempt) for wait, other in waiting.attempts.items()}
        return [self._end(waiting, wait, error) for wait, error in late.items() if error]

    def _announce(self, ended: Iterable[tuple[str, str, Outcome]]) -> None:
        for task, wait, outcome in ended:
            self._settle(task, wait, outcome)

    def _meeting(self, waiting: _Waiting) -> Meeting:
        key = waiting.key
        members = sorted(waiting.members.values(), key=lambda x: (_task_order(x.task), x.devices))
        if not key[0]:
            self._partners.meet(key, members)
            self._history(key).meet(waiting.attempts.values())
        return Meeting(int.from_bytes(os.urandom(8), "little") >> 2, members, self._incarnation)

    def _history(self, key: MeetingKey) -> CollectiveHistory:
        """Return a collective's record over all sessions: its last meeting, and the failures since
        that meeting.
        """
        history = self._histories.pop(key[1], None)
        if history is None:
            self._met.setdefault(group_of(key), {})
            drop_oldest(self._met)
            history = CollectiveHistory(group_of(key), self._met)
        self._histories[key[1]] = history
        drop_oldest(self._histories)
        return history

    def _refusal(self, joining: Joining) -> OpError | None:
        """Return the error for a joining member if another member will never join in this step.
        Otherwise return None.

        If another member has failed in this step, the error of that member is returned. A closed
        session is reported only once to each of the other sessions. After that, the other session
        waits for the session that replaces the closed session.
        """
        key, member, attempt = joining.key, joining.member, joining.attempt
        history, waiting = self._history(key), self._waiting.get(key)
        error = history.failure_for(attempt)
        present = () if waiting is None else waiting.devices
        self._partners.reopen(member.session)
        closed = None if error else self._partners.lost(key, member, present)
        if closed is not None:
            closed.informed.add(member.session)
            return closed.error
        for other in () if waiting is None else waiting.attempts.values():
            error = error or history.lateness(attempt, other)
        return error

    def _watch(self) -> None:
        """Start a thread that supervises the waits as long as any member waits."""
        if self._waiting and not self._is_watched:
            self._is_watched = True
            threading.Thread(target=self._look, name="gpugraph-groups", daemon=True).start()

    def _look(self) -> None:
        while True:
            sleep(_SLICE_S)
            with self._lock:
                self._is_watched = bool(self._waiting)
                if not self._is_watched:
                    return
                waits = list(self._waiting.values())
                ended = [end for waiting in waits for end in self._ended_by_time(waiting)]
                late = [waiting for waiting in waits if monotonic() - waiting.asked > _PATIENCE_S]
            self._announce(ended)
            for waiting in late:
                self._ask_for(waiting)

    def _ended_by_time(self, waiting: _Waiting) -> list[tuple[str, str, Outcome]]:
        ended = []
        for wait, (began, limit_s) in list(waiting.limits.items()):
            if limit_s and monotonic() - began > limit_s:
                error = DeadlineExceededError.of_no_node(
                    f"The collective {waiting.key[1]} waited {limit_s:g} s for {waiting.size} "
                    f"members; there were {', '.join(devices_of(waiting.members.values()))}"
                )
                ended.append(self._end(waiting, wait, error))
        return ended

    def _ask_for(self, waiting: _Waiting) -> None:
        """Check the servers of missing members. If a server does not answer, end the waits for its
        members with UnavailableError.
        """
        with self._lock:
            waiting.asked = monotonic()
            members = list(waiting.members.values())
            joined = {member.task for member in members}
            known = self._partners.of(waiting.key, members)
        missing = {member.task for member in known} - joined
        wanted = missing or set(self._tasks) - joined
        incarnations = {task: self._incarnation_of(task) for task in wanted}
        with self._lock:
            ended = [end for pair in incarnations.items() for end in self._note_server(*pair)]
        self._announce(ended)
        gone = sorted(task for task, incarnation in incarnations.items() if not incarnation)
        if gone and (missing or len(gone) == len(wanted)):  # else another task may have them
            error = UnavailableError.of_no_node(
                f"The collective {waiting.key[1]} waits for members, but {', '.join(gone)} does "
                "not answer"
            )
            with self._lock:
                ended = self._end_all(waiting, error)
            self._announce(ended)

    def leave(
        self, key: MeetingKey, wait: str, error: OpError, attempt: Participation, is_own: bool
    ) -> None:
        """Record that a member won't join in a step, or no longer waits. The members that wait for
        this member fail.

        Args:
          wait: the name of the member's wait, if the wait has begun.
          is_own: whether the member's step has failed by itself, rather than because another member
            failed.
        """
        with self._lock:
            ended = self._left(key, error, attempt, is_own, wait)
        self._announce(ended)

    def _left(
        self, key: MeetingKey, error: OpError, attempt: Participation, is_own: bool, wait: str = ""
    ) -> list[tuple[str, str, Outcome]]:
        waiting, history = self._waiting.get(key), self._history(key)
        attempts: dict[str, Participation] = {}
        ended = []
        if waiting is not None and (not wait or wait in waiting.attempts):
            for name, other in waiting.attempts.items():
                if wait or history.concerns(attempt, other):
                    attempts[name] = other
            ended = [self._end(waiting, name, error) for name in attempts]
        if not key[0]:
            informed = [other.device for other in attempts.values()]
            history.leave(attempt, error, is_own, informed)
        return ended

    def close_session(self, session: str, error: OpError) -> None:
        """Record that a session's members are gone. Waiting members that have met the session's
        members fail.

        Members that join later receive the error once. After that they wait for the missing members
        to join from a new session.
        """
        with self._lock:
            ended = self._close(session, error)
        self._announce(ended)

    def _close(
        self, session: str, error: OpError, was_restarted: bool = False
    ) -> list[tuple[str, str, Outcome]]:
        closed = self._partners.end(session, error, was_restarted)
        lost = [
            (waiting, wait, member)
            for waiting in self._waiting.values()
            for wait, member in waiting.members.items()
            if self._partners.lost(waiting.key, member, waiting.devices) is closed
        ]
        closed.informed.update(member.session for _, _, member in lost)
        return [self._end(waiting, wait, error) for waiting, wait, _ in lost]

    def _note_server(self, task: str, incarnation: int) -> list[tuple[str, str, Outcome]]:
        """Record the incarnation of a task's server. If the server was restarted, close the
        sessions of the old server, and remove the waits of its members.
        """
        old = self._partners.replaced_server(task, incarnation)
        if not old:
            return []
        for waiting in list(self._waiting.values()):
            for wait, member in list(waiting.members.items()):
                if (member.task, member.incarnation) == (task, old):
                    self._remove(waiting, wait)
        error = AbortedError.of_no_node(f"{task}, a member of collectives, was restarted")
        lost = self._partners.sessions_of(task, old)
        return [end for session in lost for end in self._close(session, error, True)]

    def stop(self) -> None:
        """End all waits with AbortedError."""
        error = AbortedError.of_no_node("The leader of the collectives has stopped")
        with self._lock:
            ended = [end for x in list(self._waiting.values()) for end in self._end_all(x, error)]
        self._announce(ended)


def _misfit(waiting: _Waiting, joining: Joining) -> str:
    size, signature, member = joining.size, joining.signature, joining.member
    if size != waiting.size:
        return (
            f"{member.devices[0]} gives the group {size} members, but {waiting.first} gives it "
            f"{waiting.size}"
        )
    for word, other in zip(signature, waiting.signature):
        if word != other:
            return f"{member.devices[0]} has {word}, but {waiting.first} has {other}"
    if len(signature) != len(waiting.signature):
        return (
            f"{member.devices[0]} reduces {len(signature)} tensors together, but {waiting.first} "
            f"reduces {len(waiting.signature)}"
        )
    return ""


def _task_order(task: str) -> tuple[str, int]:
    """Return a sort key of a task by job and number, so that task 10 follows task 2."""
    job, _, number = task.rpartition(":")
    return job, int(number)
