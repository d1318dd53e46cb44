"""Members that fail, give up and come anew stay in step, and never wait in vain for each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.cluster.collectives.collective_groups import CollectiveGroups
from gpugraph.cluster.collectives.collective_meetings import (
    Joining,
    MeetingMember,
    Participation,
    Round,
)

KEYS = [(0, f"group 1, instance {instance}") for instance in (1, 2)]
TWO_GROUPS = [(0, f"group {group}, instance {group}") for group in (1, 2)]
NUM_TURNS, NUM_FAILING_TURNS = 300, 150


class Client:
    """A member that does steps of two collectives, one after the other, in separate sessions."""

    def __init__(self, number: int) -> None:
        self.number, self.session, self.step, self.num_waits = number, 0, 0, 0
        self.server, self.leader = 1, 0
        self.partners: list[int] = []  # the servers of its last meeting
        self.key: int | None = None  # the collective that it is in
        self.wait = ""
        self.kept_back: list[Callable[[], None]] = []  # departures to report

    def attempt(self) -> Participation:
        name = f"{self.number} in {self.session}"
        return Participation(f"device {self.number}", name, Round(self.step, 0, self.step))

    @property
    def task(self) -> str:
        return f"/job:worker/replica:0/task:{self.number}"

    def begin_session(self) -> None:
        self.session += 1
        self.step, self.leader, self.partners = 0, 0, []

    def restart(self) -> None:
        """Begin anew in a new process, which has sent no news of its old one."""
        self.begin_session()
        self.server += 1
        self.key, self.wait = None, ""
        self.kept_back.clear()


class Clients:
    """Members of one group with all possible events; `attempts` defines a step."""

    def __init__(self, seed: int, count: int, **chances: float) -> None:
        self.draw, self.count, self.chances = random.Random(seed), count, chances
        self.keys = TWO_GROUPS if self.happens("two groups") else KEYS
        self.settled: dict[str, Any] = {}
        self.clients = [Client(number) for number in range(count)]
        self.lead(1)
        self.news: list[Callable[[], None]] = []
        self.met: dict[Any, dict[int, dict[int, Participation]]] = {key: {} for key in self.keys}
        self.num_met = 0

    def lead(self, server: int) -> None:
        """Start the leader's server, which is that of the first client."""
        servers = {client.task: client for client in self.clients}
        self.groups = CollectiveGroups(
            list(servers), server, lambda task: servers[task].server, self.settle
        )

    def kill(self, client: Client) -> None:
        for tell in client.kept_back:
            if tell in self.news:
                self.news.remove(tell)
        client.restart()
        if client.number == 0:
            self.groups.stop()
            self.settled.clear()
            self.lead(client.server)

    def ask_again(self) -> None:
        """Repeat each request to join, and let the leader look for the servers of missing
        members."""
        for client in self.clients:
            if client.wait and client.wait not in self.settled:
                self.ask(client, client.key or 0)
        for waiting in list(self.groups._waiting.values()):
            self.groups._ask_for(waiting)

    def settle(self, task: str, wait: str, outcome: Any) -> None:
        self.settled[wait] = outcome

    def happens(self, what: str) -> bool:
        return self.draw.random() < self.chances.get(what, 0.0)

    def leave(self, client: Client, is_own: bool) -> None:
        """Fail a step: leave the awaited collective at once, and other collectives a little
        later.
        """
        first, attempt = client.key or 0, client.attempt()
        for key in range(first, len(self.keys)):
            wait = client.wait if key == client.key else ""
            error = tf.errors.AbortedError(None, None, f"{client.number} left")

            def tell(key: int = key, wait: str = wait, error: Any = error) -> None:
                self.groups.leave(self.keys[key], wait, error, attempt, is_own)

            if wait or not self.happens("delay"):
                tell()
            else:
                self.news.append(tell)
                client.kept_back.append(tell)
        client.key, client.wait = None, ""
        if self.happens("new session"):
            session, closed = attempt.session, tf.errors.AbortedError(None, None, "closed")

            def close() -> None:
                self.groups.close_session(session, closed)

            if self.happens("delay"):
                self.news.append(close)
            elif self.happens("close"):
                close()
            client.begin_session()

    def join(self, client: Client, key: int) -> None:
        for tell in client.kept_back:  # comes before it joins again
            if tell in self.news:
                self.news.remove(tell)
                tell()
        client.kept_back.clear()
        client.key, client.num_waits = key, client.num_waits + 1
        client.wait = f"wait {client.num_waits} of {client.number} in {client.server}"
        self.ask(client, key)

    def ask(self, client: Client, key: int) -> None:
        device, session, round = client.attempt()
        member = MeetingMember(client.task, session, (device,), incarnation=client.server)
        joining = Joining(
            self.keys[key], self.count, ["x"], client.wait, member, 0.0, round, client.leader
        )
        try:
            meeting = self.groups.join(joining)
        except tf.errors.AbortedError as error:
            self.end(client, error)
            return
        if meeting is not None:
            self.settled.pop(client.wait, None)
            self.end(client, meeting)

    def end(self, client: Client, outcome: Any) -> None:
        client.wait = ""
        if isinstance(outcome, tf.errors.OpError):
            client.leader, client.partners = 0, []
            self.leave(client, is_own=False)
            return
        servers = [member.incarnation for member in outcome.members]
        if any(servers[other.number] != other.server for other in self.clients):
            error = tf.errors.UnavailableError(
                None, None, "a member was killed before it exchanged"
            )
            self.end(client, error)
            return
        assert client.partners in ([], servers), "it continues with a member that began anew"
        client.leader, client.partners = outcome.leader_incarnation, servers
        meeting = self.met[self.keys[client.key or 0]].setdefault(outcome.step, {})
        meeting[client.number] = client.attempt()
        is_last = client.key == len(self.keys) - 1
        self.num_met += is_last
        client.key = None if is_last else 1

    def run(self) -> None:
        for turn in range(NUM_TURNS):
            for client in self.clients:
                if client.wait in self.settled:
                    self.end(client, self.settled.pop(client.wait))
            fails = turn < NUM_FAILING_TURNS
            idle: list[Any] = [client for client in self.clients if not client.wait]
            waiting = [x for x in self.clients if x.wait and fails and self.happens("time out")]
            if fails and self.happens("kill"):
                self.kill(self.draw.choice(self.clients))
                continue
            if not idle and not self.news and self.chances.get("kill"):
                self.ask_again()
                idle = [x for x in self.clients if not x.wait or x.wait in self.settled]
                if idle:
                    continue
            choices = [*idle, *self.news, *waiting]
            assert choices, "all wait for each other"
            chosen = self.draw.choice(choices)
            if not isinstance(chosen, Client):
                self.news.remove(chosen)
                chosen()
            elif chosen.wait:
                self.leave(chosen, is_own=False)
            else:
                chosen.step += chosen.key is None
                if fails and self.happens("fail"):
                    self.leave(chosen, is_own=True)
                else:
                    self.join(chosen, chosen.key or 0)


CHANCES = {"fail": 0.15, "delay": 0.3, "close": 0.7}
LIVES = {
    "steps fail": {},
    "clients give up": {"time out": 0.05},
    "sessions are made anew": {"time out": 0.05, "new session": 0.3},
    "sessions are not closed": {"time out": 0.05, "new session": 0.3, "close": 0.0},
    "two groups": {"time out": 0.05, "new session": 0.3, "two groups": 1.0},
    "servers are killed": {"kill": 0.1, "new session": 0.8, "two groups": 0.5},
    "servers are killed, clients go on": {"kill": 0.1, "two groups": 0.5},
}


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize(
    "seeds",
    [range(15), pytest.param(range(15, 1000), marks=pytest.mark.exhaustive)],
    ids=["some", "many"],
)
def test_nobody_waits_in_vain_and_steps_stay_side_by_side(
    life: str, count: int, seeds: range
) -> None:
    for seed in seeds:
        clients = Clients(seed, count, **CHANCES | LIVES[life])
        try:
            clients.run()
        finally:
            clients.groups.stop()
        assert clients.num_met > count * 10, seed
        if not LIVES[life]:  # those of the first meeting go together
            for key in clients.keys:
                whole = [met for met in clients.met[key].values() if len(met) == count]
                assert len({distances(met) for met in whole}) == 1, seed


def distances(meeting: dict[int, Participation]) -> tuple[int, ...]:
    """By how many steps the members of a meeting are ahead of the first."""
    return tuple(meeting[number].round.step - meeting[0].round.step for number in sorted(meeting))


class Two:
    """Two members, whose sessions join one collective at the tests' command."""

    def __init__(self) -> None:
        self.settled: dict[str, Any] = {}
        tasks = [f"/job:worker/replica:0/task:{number}" for number in range(2)]
        self.tasks, self.num_waits = tasks, 0
        self.groups = CollectiveGroups(tasks, 1, lambda task: 1, self.settle)

    def settle(self, task: str, wait: str, outcome: Any) -> None:
        self.settled[wait] = outcome

    def attempt(self, number: int, session: str, step: int) -> Participation:
        return Participation(f"device {number}", f"{session} of {number}", Round(step, 0, step))

    def join(self, number: int, session: str, step: int) -> str:
        """Join, and return the name of the member's wait, which may have ended by now."""
        self.num_waits += 1
        wait, attempt = f"wait {self.num_waits}", self.attempt(number, session, step)
        member = MeetingMember(self.tasks[number], attempt.session, (attempt.device,))
        joining = Joining(KEYS[0], 2, ["x"], wait, member, 0.0, attempt.round)
        meeting = self.groups.join(joining)
        if meeting is not None:
            self.settled[wait] = meeting
        return wait

    def meet(self) -> None:
        """A first step, of first sessions."""
        waits = [self.join(number, "first session", 1) for number in range(2)]
        assert len({self.settled[wait].step for wait in waits}) == 1

    def leave(self, number: int, session: str, step: int) -> None:
        error = tf.errors.AbortedError(None, None, f"{number} left")
        self.groups.leave(KEYS[0], "", error, self.attempt(number, session, step), True)


def test_what_a_closed_session_left_does_not_end_the_wait_of_a_new_one() -> None:
    """The new session may be there before the leader has heard of it."""
    two = Two()
    two.meet()
    wait = two.join(0, "second session", 1)
    two.leave(1, "first session", 2)
    assert wait not in two.settled
    other = two.join(1, "second session", 1)
    assert two.settled[wait].step == two.settled[other].step
    two.groups.stop()


def test_a_late_member_hears_first_of_a_failure_then_that_the_session_is_closed() -> None:
    two = Two()
    two.meet()
    two.leave(1, "first session", 2)
    two.groups.close_session("first session of 1", tf.errors.AbortedError(None, None, "closed"))
    with pytest.raises(tf.errors.AbortedError, match="1 left"):
        two.join(0, "first session", 2)
    with pytest.raises(tf.errors.AbortedError, match="closed"):
        two.join(0, "first session", 3)
    wait = two.join(0, "first session", 4)
    other = two.join(1, "second session", 1)
    assert two.settled[wait].step == two.settled[other].step
    two.groups.stop()
