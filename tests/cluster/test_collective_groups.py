"""Where members meet: who has come, who does not fit, who is gone. Nothing waits in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.cluster.collectives.collective_groups import (
    CollectiveGroups,
    Joining,
    Meeting,
    Member,
)

KEY = 0, "group 1, instance 1"
SIGNATURE = ["CollectiveReduce of float32", "shape [3] of instance 1"]


def task(number: int) -> str:
    return f"/job:worker/replica:0/task:{number}"


def member(number: int, session: str = "s") -> Member:
    return Member(task(number), f"{session}{number}", (f"{task(number)}/device:CPU:0",))


class Leader:
    """Groups of so many tasks, and how their waits ended."""

    def __init__(self, count: int, is_there: Callable[[str], bool] = lambda task: True) -> None:
        self.settled: dict[str, Any] = {}
        tasks = [task(number) for number in range(count)]
        self.groups = CollectiveGroups(tasks, is_there, self.settle)

    def settle(self, task: str, wait: str, outcome: Any) -> None:
        self.settled[wait] = outcome

    def join(
        self, number: int, size: int = 2, session: str = "s", limit_s: float = 0.0, wait: str = ""
    ) -> Meeting | None:
        wait = wait or f"{session}{number}"
        who = member(number, session)
        return self.groups.join(Joining(KEY, size, SIGNATURE, wait, who, limit_s))

    def ends(self, wait: str) -> Any:
        deadline = time.monotonic() + 20
        while wait not in self.settled and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.settled[wait]


def test_two_thousand_members_meet_without_a_thread_for_each() -> None:
    leader, before = Leader(2000), threading.active_count()
    for number in range(1999):
        assert leader.join(number, 2000) is None
    assert threading.active_count() <= before + 1
    meeting = leader.join(1999, 2000)
    assert meeting is not None
    assert [member.task for member in meeting.members] == [task(number) for number in range(2000)]
    assert len(leader.settled) == 1999
    assert set(map(id, leader.settled.values())) == {id(meeting)}


def test_who_joins_again_gets_what_it_missed() -> None:
    leader = Leader(2)
    assert leader.join(0) is None
    assert leader.join(0) is None  # it asks whether it still waits
    meeting = leader.join(1)
    assert leader.join(0) == meeting == leader.settled["s0"]
    assert leader.join(0, wait="next step") is None
    assert leader.join(1, wait="its next step") != meeting


def test_a_member_that_comes_anew_takes_the_place_of_its_old_self() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(0, session="t")
    assert isinstance(leader.settled["s0"], tf.errors.AbortedError)
    meeting = leader.join(1)
    assert meeting is not None and meeting.members[0].session == "t0"


def test_a_stranger_is_refused_and_so_are_too_many() -> None:
    leader = Leader(3)
    leader.join(0)
    leader.join(1)
    leader.join(0, wait="again")
    with pytest.raises(tf.errors.InvalidArgumentError, match="but the group is of"):
        leader.join(2)
    assert isinstance(leader.settled["again"], tf.errors.InvalidArgumentError)
    leader.join(0, session="t")  # of a new session: another program
    assert leader.join(2, session="t") is not None
    wide = Member(task(1), "u", (f"{task(1)}/device:CPU:0", f"{task(1)}/device:CPU:1"))
    leader.join(0, session="u")
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 devices joined a group of 2"):
        leader.groups.join(Joining(KEY, 2, SIGNATURE, "wide", wide))


def test_a_member_whose_server_is_gone_ends_the_wait() -> None:
    gone: set[str] = set()
    leader = Leader(3, lambda name: name not in gone)
    leader.join(0)
    leader.join(1)
    gone.add(task(1))
    leader.join(0, wait="second")
    error = leader.ends("second")
    assert isinstance(error, tf.errors.UnavailableError)
    assert f"{task(1)} does not answer" in error.message


def test_who_waits_for_too_long_is_told_who_was_there() -> None:
    leader = Leader(3)
    leader.join(0, 3, limit_s=0.1)
    leader.join(2, 3)
    error = leader.ends("s0")
    assert isinstance(error, tf.errors.DeadlineExceededError)
    assert "waited 0.1 s for 3 members" in error.message and "task:2" in error.message
    assert "s2" not in leader.settled
    leader.groups.stop()
    assert isinstance(leader.settled["s2"], tf.errors.AbortedError)


def test_who_comes_late_is_told_once_of_a_failure() -> None:
    leader, failure = Leader(3), tf.errors.AbortedError(None, None, "its step failed")
    leader.join(0)
    leader.join(1)
    leader.join(0, wait="second")
    leader.groups.leave(KEY, "", failure, member(1).devices)
    assert leader.settled["second"] is failure
    assert leader.join(0, wait="third") is None  # it knows, and waits for the other to come again
    assert leader.join(1, wait="again") is not None
    leader.groups.leave(KEY, "", failure, member(1).devices)
    with pytest.raises(tf.errors.AbortedError, match="its step failed"):
        leader.join(0, wait="fourth")
    assert leader.join(0, wait="fifth") is None


def test_who_fails_twice_before_it_joins_is_told_of_twice() -> None:
    leader, failure = Leader(2), tf.errors.AbortedError(None, None, "its step failed")
    leader.join(0)
    leader.join(1)
    for number, attempt in enumerate(("first", "second")):
        for _ in range(2):  # it leaves two collectives of one step
            leader.groups.leave(KEY, "", failure, member(1).devices, attempt)
        with pytest.raises(tf.errors.AbortedError, match="its step failed"):
            leader.join(0, wait=f"late {number}")
    leader.groups.leave(KEY, "", failure, member(1).devices, "second")
    assert leader.join(0, wait="waits") is None


CLOSED = tf.errors.AbortedError(None, None, "its session was closed")


def test_a_partner_that_closes_its_session_ends_the_wait() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    leader.join(0, wait="second")
    leader.groups.close_session("of another program", CLOSED)
    assert "second" not in leader.settled
    leader.groups.close_session("s1", CLOSED)
    assert leader.settled["second"] is CLOSED
    assert leader.join(0, wait="third") is None  # it knows, and waits for a new session
    assert leader.join(1, session="t") is not None


def test_who_comes_after_a_session_was_closed_is_told_once() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    leader.groups.close_session("s1", CLOSED)
    with pytest.raises(tf.errors.AbortedError, match="its session was closed"):
        leader.join(0, wait="second")
    assert leader.join(0, wait="third") is None
    assert leader.join(1, session="t") is not None
    leader.groups.close_session("t1", CLOSED)
    leader.join(1, session="t", wait="its client came back")
    assert leader.join(0, wait="fourth") is not None


def test_a_new_session_does_not_mind_what_was_closed_before() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    leader.groups.close_session("s1", CLOSED)
    assert leader.join(0, session="t") is None
    assert leader.join(1, session="t") is not None
