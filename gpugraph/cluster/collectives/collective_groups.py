"""Where the members of a collective meet: one task of the cluster, the leader, keeps the lists.

A member joins with its keys, the group's size, a signature (what it does, on which dtype and shape)
and its devices. When all have come, each gets the list and a number for what they send each other.
Who does not fit fails all that wait with it. Members that wait for one that can't come any more, as
its server is gone, fail too; and so does who has waited for `GPUGRAPH_COLLECTIVE_WAIT` seconds.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import NamedTuple

from gpugraph.base.errors import (
    AbortedError,
    DeadlineExceededError,
    OpError,
    UnavailableError,
    invalid_argument,
)
from gpugraph.cluster.shared_segments import SegmentName

_SLICE_S = 0.5
_PATIENCE_S = 1.0  # before a member that does not come is asked for
_MOST_KNOWN = 4096
_FRESH_S = 10.0

MeetingKey = tuple[int, str]
"""The step of a session all of whose members are in one run, else 0; and the group's and instance's
keys."""


class Member(NamedTuple):
    """What of a collective is on one task, of one session: devices, and memory to share."""

    task: str
    session: str
    devices: tuple[str, ...]
    segment: SegmentName = SegmentName()


class Meeting(NamedTuple):
    """Members that have met, in the order of their tasks, and their number of a step."""

    step: int
    members: Sequence[Member]


class _Waiting:
    """Members of one collective that wait for others."""

    def __init__(self, size: int, signature: Sequence[str], first: str) -> None:
        self.size, self.signature, self.first = size, signature, first
        self.members: dict[str, Member] = {}  # by a name of each wait
        self.failures: dict[str, OpError] = {}
        self.meeting: Meeting | None = None

    def fail(self, error: OpError) -> None:
        """Ends all waits."""
        self.failures = dict.fromkeys(self.members, error)


class _Leaving(NamedTuple):
    """That a member's step failed before it joined: who has been told, and when it was."""

    error: OpError
    informed: set[str]
    time: float


class CollectiveGroups:
    """The meetings that one task leads. is_there: whether a task's server answers now."""

    def __init__(self, tasks: Sequence[str], is_there: Callable[[str], bool]) -> None:
        self._tasks, self._is_there = tasks, is_there
        self._waiting: dict[MeetingKey, _Waiting] = {}
        self._known: OrderedDict[tuple[str, str, str], Sequence[Member]] = OrderedDict()
        self._sessions: dict[tuple[str, str], str] = {}  # of the last meeting, by group and device
        self._left: dict[tuple[str, str], _Leaving] = {}  # by group and device
        self._changed = threading.Condition()
        self.is_stopped = False

    def join(
        self,
        key: MeetingKey,
        size: int,
        signature: Sequence[str],
        wait: str,
        member: Member,
        limit_s: float,
    ) -> Meeting:
        """The meeting, once all members are there.

        wait: a name by which `leave` ends this wait. limit_s: 0 for no limit.
        InvalidArgumentError for members that don't fit, UnavailableError for one whose server is
        gone, AbortedError where one has failed, DeadlineExceededError after `limit_s`.
        """
        with self._changed:
            if not key[0]:
                self._tell(key, member)
            waiting = self._waiting.get(key)
            if waiting is None:
                waiting = self._waiting[key] = _Waiting(size, signature, member.devices[0])
            self._enter(key, waiting, size, signature, wait, member)
            try:
                return self._wait(key, waiting, wait, limit_s)
            finally:
                waiting.members.pop(wait, None)
                if not waiting.members and self._waiting.get(key) is waiting:
                    del self._waiting[key]

    def _enter(
        self,
        key: MeetingKey,
        waiting: _Waiting,
        size: int,
        signature: Sequence[str],
        wait: str,
        member: Member,
    ) -> None:
        for other_wait, other in list(waiting.members.items()):
            if set(other.devices) & set(member.devices):  # it was started anew
                waiting.failures[other_wait] = AbortedError.of_no_node(
                    f"Another member joined the collective {key[1]} on {other.devices[0]}"
                )
                del waiting.members[other_wait]
        waiting.members[wait] = member
        misfit = _misfit(waiting, size, signature, member) or self._stranger(key, member)
        if misfit:
            waiting.fail(invalid_argument(f"The collective {key[1]} can't be done: {misfit}"))
        else:
            count = sum(len(other.devices) for other in waiting.members.values())
            if count > size:
                waiting.fail(
                    invalid_argument(
                        f"The collective {key[1]} can't be done: {count} devices joined a group of "
                        f"{size}: {', '.join(_devices(waiting.members.values()))}"
                    )
                )
            elif count == size:
                self._complete(key, waiting)
        if waiting.failures or waiting.meeting:
            if (misfit or waiting.meeting) and self._waiting.get(key) is waiting:
                del self._waiting[key]
            self._changed.notify_all()

    def _complete(self, key: MeetingKey, waiting: _Waiting) -> None:
        members = sorted(waiting.members.values(), key=lambda x: (_task_order(x.task), x.devices))
        waiting.meeting = Meeting(int.from_bytes(os.urandom(8), "little") >> 2, members)
        group = _group(key)
        for member in members if not key[0] else ():
            self._known[group, member.session, member.devices[0]] = members
            self._sessions[group, member.devices[0]] = member.session
        while len(self._known) > _MOST_KNOWN:
            (group, session, device), _ = self._known.popitem(last=False)
            if self._sessions.get((group, device)) == session:
                del self._sessions[group, device]

    def _tell(self, key: MeetingKey, member: Member) -> None:
        """Raises that another member of the group failed, where this one has not been told.

        Once for each failure, so that it may then wait for the other to come again. A member of a
        new session has nothing to do with what was before.
        """
        group, device = _group(key), member.devices[0]
        self._left.pop((group, device), None)
        last = self._sessions.get((group, device))
        for (left_group, _), left in self._left.items():
            if left_group != group or device in left.informed:
                continue
            left.informed.add(device)
            is_recent = monotonic() - left.time < _FRESH_S
            if last == member.session or (last is None and is_recent):
                raise left.error

    def _stranger(self, key: MeetingKey, member: Member) -> str:
        """What is wrong where a session's member met others under this group's key before."""
        if key[0]:
            return ""
        group = _group(key)
        waiting = self._waiting[key].members.values()
        for other in waiting:
            known = self._known.get((group, other.session, other.devices[0]))
            devices = set(_devices(known or ()))
            if known and not devices.issuperset(member.devices):
                return (
                    f"{member.devices[0]} joined, but the group is of {', '.join(sorted(devices))}"
                )
        return ""

    def _wait(self, key: MeetingKey, waiting: _Waiting, wait: str, limit_s: float) -> Meeting:
        begun = asked = monotonic()
        while True:
            if wait in waiting.failures:
                raise waiting.failures[wait]
            if waiting.meeting is not None:
                return waiting.meeting
            if self.is_stopped:
                raise AbortedError.of_no_node("The leader of the collectives has stopped")
            now = monotonic()
            if limit_s and now - begun > limit_s:
                raise DeadlineExceededError.of_no_node(
                    f"The collective {key[1]} waited {limit_s:g} s for {waiting.size} members; "
                    f"there were {', '.join(_devices(waiting.members.values()))}"
                )
            if now - asked > _PATIENCE_S:
                asked = now
                gone = self._gone(key, waiting)
                if gone and waiting.meeting is None:
                    waiting.fail(
                        UnavailableError.of_no_node(
                            f"The collective {key[1]} waits for members, but {gone} does not answer"
                        )
                    )
                    self._changed.notify_all()
            else:
                self._changed.wait(_SLICE_S)

    def _gone(self, key: MeetingKey, waiting: _Waiting) -> str:
        """A task that had to come, and is gone: one of the last meeting, or all that might come."""
        group = _group(key)
        joined = {member.task for member in waiting.members.values()}
        known: Sequence[Member] = ()
        for member in waiting.members.values():
            known = self._known.get((group, member.session, member.devices[0]), known)
        missing = {member.task for member in known} - joined
        wanted = missing or set(self._tasks) - joined
        self._changed.release()
        try:
            gone = sorted(task for task in wanted if not self._is_there(task))
        finally:
            self._changed.acquire()
        is_hopeless = bool(gone) and (bool(missing) or len(gone) == len(wanted))
        return ", ".join(gone) if is_hopeless else ""

    def leave(self, key: MeetingKey, wait: str, error: OpError, devices: Sequence[str]) -> None:
        """A member will not come, or waits no more: those that wait for it fail with the error.

        devices: of a member whose own step failed; who comes later is told, too.
        """
        with self._changed:
            waiting = self._waiting.get(key)
            informed = set()
            if waiting is not None and (not wait or wait in waiting.members):
                informed = {member.devices[0] for member in waiting.members.values()}
                waiting.fail(error)
                del self._waiting[key]
                self._changed.notify_all()
            if devices:
                earlier = self._left.get((_group(key), devices[0]))
                informed |= earlier.informed if earlier is not None else set()
                self._left[_group(key), devices[0]] = _Leaving(error, informed, monotonic())

    def stop(self) -> None:
        """Ends all waits."""
        with self._changed:
            self.is_stopped = True
            self._changed.notify_all()


def _misfit(waiting: _Waiting, size: int, signature: Sequence[str], member: Member) -> str:
    if size != waiting.size:
        return (
            f"{member.devices[0]} says that the group has {size} members, {waiting.first} that it "
            f"has {waiting.size}"
        )
    for word, other in zip(signature, waiting.signature):
        if word != other:
            return f"{member.devices[0]} has {word}, but {waiting.first} has {other}"
    if len(signature) != len(waiting.signature):
        return f"{member.devices[0]} reduces others at once with it than {waiting.first}"
    return ""


def _group(key: MeetingKey) -> str:
    """The group of a key."""
    return key[1].partition(",")[0]


def _devices(members: Iterable[Member]) -> list[str]:
    return [device for member in members for device in member.devices]


def _task_order(task: str) -> tuple[str, int]:
    """By job and number: task 10 comes after task 2."""
    job, _, number = task.rpartition(":")
    return job, int(number)
