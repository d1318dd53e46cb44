"""Where members meet: arrivals, mismatches and departures. Nothing waits in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.cluster.collectives.collective_groups import CollectiveGroups
from gpugraph.cluster.collectives.collective_meetings import (
    Joining,
    Meeting,
    MeetingMember,
    Participation,
    Round,
)

KEY = 0, "group 1, instance 1"
FAILURE = tf.errors.AbortedError(None, None, "its step failed")
SIGNATURE = ["CollectiveReduce of float32", "shape [3] of instance 1"]


def task(number: int) -> str:
    return f"/job:worker/replica:0/task:{number}"


def member(number: int, session: str = "s") -> MeetingMember:
    devices = (f"{task(number)}/device:CPU:0",)
    return MeetingMember(task(number), f"{session}{number}", devices, incarnation=1)


class Leader:
    """Groups of the given number of tasks, and how their waits ended."""

    def __init__(self, count: int, incarnation_of: Callable[[str], int] = lambda task: 1) -> None:
        self.settled: dict[str, Any] = {}
        tasks = [task(number) for number in range(count)]
        self.groups = CollectiveGroups(tasks, 1, incarnation_of, self.settle)
        self.steps: dict[str, int] = {}  # of each session
        self.joined: set[tuple[str, int]] = set()

    def settle(self, task: str, wait: str, outcome: Any) -> None:
        self.settled[wait] = outcome

    def join(
        self,
        number: int,
        size: int = 2,
        session: str = "s",
        limit_s: float = 0.0,
        wait: str = "",
        turn: int = 0,
    ) -> Meeting | None:
        """Joins in the next step of a session; after a join of this name, or a turn, its last."""
        wait = wait or f"{session}{number}"
        if (wait, number) not in self.joined and not turn:
            self.attempt(number, session)
        self.joined.add((wait, number))
        who, attempt = member(number, session), self.last(number, session)
        limit = limit_s, attempt.round._replace(turn=turn)
        return self.groups.join(Joining(KEY, size, SIGNATURE, wait, who, *limit))

    def last(self, number: int, session: str = "s") -> Participation:
        step = self.steps.get(f"{session}{number}", 0)
        return Participation(member(number).devices[0], f"{session}{number}", Round(step, 0, step))

    def attempt(self, number: int, session: str = "s") -> Participation:
        """Return the next step of a session, which fails before it joins."""
        name = f"{session}{number}"
        self.steps[name] = self.steps.get(name, 0) + 1
        return self.last(number, session)

    def fails(self, number: int, session: str = "s", attempt: Participation | None = None) -> None:
        """A member's own step fails before it joins."""
        self.groups.leave(KEY, "", FAILURE, attempt or self.attempt(number, session), True)

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
    wide = MeetingMember(task(1), "u", (f"{task(1)}/device:CPU:0", f"{task(1)}/device:CPU:1"))
    leader.join(0, session="u")
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 devices joined a group of 2"):
        leader.groups.join(Joining(KEY, 2, SIGNATURE, "wide", wide))


def test_a_member_whose_server_is_gone_ends_the_wait() -> None:
    gone: set[str] = set()
    leader = Leader(3, lambda name: int(name not in gone))
    leader.join(0)
    leader.join(1)
    gone.add(task(1))
    leader.join(0, wait="second")
    error = leader.ends("second")
    assert isinstance(error, tf.errors.UnavailableError)
    assert f"{task(1)} does not answer" in error.message


def test_a_member_whose_server_was_restarted_ends_the_wait() -> None:
    """Even if the new process never joins, as when it waits for this member's session."""
    servers = {task(0): 1, task(1): 1}
    leader = Leader(2, servers.__getitem__)
    leader.join(0)
    leader.join(1)
    servers[task(1)] = 2
    leader.join(0, wait="second")
    error = leader.ends("second")
    assert isinstance(error, tf.errors.AbortedError)
    assert f"{task(1)}, a member of collectives, was restarted" in error.message
    assert leader.join(0, wait="third") is None  # it receives the error once


def test_who_has_met_under_a_leader_of_old_is_told_once() -> None:
    leader = Leader(2)
    with pytest.raises(
        tf.errors.AbortedError, match=r"leader of the collective group 1.* restarted"
    ):
        leader.groups.join(Joining(KEY, 2, SIGNATURE, "old", member(0), leader_incarnation=7))
    assert leader.join(0) is None
    meeting = leader.join(1)
    assert meeting is not None and meeting.leader_incarnation == 1


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


def test_who_comes_late_to_a_step_that_failed_is_told_in_this_step_only() -> None:
    leader = Leader(3)
    leader.join(0)
    leader.join(1)
    leader.join(0, wait="second")
    leader.fails(1)
    assert leader.settled["second"] is FAILURE
    assert leader.join(0, wait="third") is None  # it waits for the other to come again
    assert leader.join(1, wait="again") is not None
    leader.fails(1)
    with pytest.raises(tf.errors.AbortedError, match="its step failed"):
        leader.join(0, wait="fourth")
    assert leader.join(0, wait="fifth") is None


def test_who_fails_twice_before_it_joins_is_told_of_twice() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    for number in range(2):
        attempt = leader.attempt(1)
        for _ in range(2):  # however often it repeats that
            leader.fails(1, attempt=attempt)
        with pytest.raises(tf.errors.AbortedError, match="its step failed"):
            leader.join(0, wait=f"late {number}")
    leader.fails(1, attempt=attempt)
    assert leader.join(0, wait="waits") is None


@pytest.mark.parametrize("has_met", [True, False])
def test_members_that_fail_in_one_step_stay_in_step(has_met: bool) -> None:
    leader = Leader(2)
    if has_met:
        leader.join(0)
        leader.join(1)
    leader.fails(0)
    leader.fails(1)
    assert leader.join(0, wait="next") is None
    assert leader.join(1, wait="its next") is not None
    assert isinstance(leader.settled["next"], Meeting)


def test_who_is_a_step_behind_fails_and_then_meets_the_other() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    leader.join(0, wait="second")
    leader.attempt(1)  # ended without a report
    assert leader.join(1, wait="third of 1") is None
    assert "in a step that this one has left" in leader.settled["second"].message
    assert leader.join(0, wait="third") is not None
    leader.attempt(1)
    leader.join(1, wait="fifth of 1")
    with pytest.raises(tf.errors.AbortedError, match="in a step that this one has left"):
        leader.join(0, wait="fourth")
    assert leader.join(0, wait="fifth") is not None


def test_news_of_a_failure_that_come_late_end_no_later_step() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    failed = leader.attempt(1)
    leader.attempt(0)
    assert leader.join(0, wait="third") is None
    leader.fails(1, attempt=failed)
    assert "third" not in leader.settled
    assert leader.join(1, wait="third of 1") is not None
    leader.fails(1, attempt=failed)
    assert leader.join(0, wait="fourth") is None


def test_iterations_of_a_loop_meet_their_like() -> None:
    leader = Leader(2)
    for turn in range(3):
        leader.join(0, wait=f"a{turn}", turn=turn)
        assert leader.join(1, wait=f"b{turn}", turn=turn) is not None
    leader.join(0, wait="a3", turn=3)  # the other's loop is over
    assert leader.join(1, wait="next of 1") is None
    assert isinstance(leader.settled["a3"], tf.errors.AbortedError)
    assert leader.join(0, wait="next") is not None


@pytest.mark.parametrize("is_known", [True, False])
def test_a_new_session_hears_of_a_failure_in_the_first_step_of_another(is_known: bool) -> None:
    leader = Leader(3)
    if is_known:  # the devices, of older sessions
        leader.join(0, session="old")
        leader.join(1, session="old")
        leader.join(0, session="old", wait="waits")
        leader.fails(1, "old")
    leader.fails(1)
    with pytest.raises(tf.errors.AbortedError, match="its step failed"):
        leader.join(0)
    assert leader.join(0, session="t") is None  # once
    leader.fails(2, "old")
    assert "t0" in leader.settled


def test_a_new_session_does_not_mind_what_failed_before() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    leader.fails(1)
    assert leader.join(0, session="t") is None
    assert leader.join(1, session="t") is not None


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
    assert leader.join(0, wait="third") is None  # it waits for a new session
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


def test_a_member_of_a_replaced_server_meets_nobody() -> None:
    """It has joined before it was killed, and its new process waits in another collective."""
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    leader.join(1, wait="of the killed process")
    other = KEY[0], "group 1, instance 2"
    new = member(1, "t")._replace(incarnation=2)
    assert leader.groups.join(Joining(other, 2, SIGNATURE, "of the new process", new)) is None
    with pytest.raises(tf.errors.AbortedError, match="was restarted"):
        leader.join(0, wait="second")
    assert leader.join(0, wait="third") is None  # it receives the error once


def test_a_restart_concerns_all_groups() -> None:
    leader = Leader(2)
    leader.join(0)
    leader.join(1)
    waiting = Joining((0, "group 2, instance 7"), 2, SIGNATURE, "in group 2", member(0))
    assert leader.groups.join(waiting) is None
    new = member(1, "t")._replace(incarnation=2)
    assert leader.groups.join(Joining(KEY, 2, SIGNATURE, "new", new)) is None
    assert isinstance(leader.settled["in group 2"], tf.errors.AbortedError)


def test_late_news_of_a_replaced_server_change_nothing() -> None:
    leader = Leader(2)
    new = member(1, "t")._replace(incarnation=2)
    leader.join(1)
    leader.join(0)
    assert leader.groups.join(Joining(KEY, 2, SIGNATURE, "new", new)) is None
    with pytest.raises(tf.errors.AbortedError, match="was restarted"):
        leader.join(0, wait="told")
    assert leader.join(0, wait="then") is not None
    assert leader.join(0, wait="next") is None
    leader.groups._note_server(task(1), 1)
    assert "next" not in leader.settled
