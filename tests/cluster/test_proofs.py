"""Proofs: each holds for one message, of one call, in one direction, at one server."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable

import pytest

import gpugraph as tf
from gpugraph.cluster.calls import proofs
from gpugraph.cluster.calls.proofs import GREETING, CallerProofs, MessageProofs, open_call

KEY, OTHER = b"k" * 16, b"x" * 16


def both_sides(method: str = "RunStep") -> tuple[MessageProofs, MessageProofs]:
    """Return the proofs of a call, of its caller and of the server."""
    server = CallerProofs(KEY)
    shown, caller = open_call(KEY, method, server.incarnation)
    return caller, server.check(shown, method)


def refuse(server: CallerProofs, shown: str, method: str, words: str) -> None:
    with pytest.raises(tf.errors.UnauthenticatedError, match=words):
        server.check(shown, method)


def test_what_is_shown_holds_for_one_call_of_one_method() -> None:
    server = CallerProofs(KEY)
    shown, _ = open_call(KEY, "RunStep", server.incarnation)
    server.check(shown, "RunStep")
    refuse(server, shown, "RunStep", "made before")
    for wrong in (
        "",
        "1.2.3.4",
        "\xff",
        open_call(OTHER, "RunStep", server.incarnation)[0],
        open_call(KEY, "Reset", server.incarnation)[0],
        shown[:-1] + ("0" if shown[-1] != "0" else "1"),
    ):
        refuse(server, wrong, "RunStep", "The caller's key")
    refuse(CallerProofs(b""), shown, "RunStep", "The caller's key")


def test_what_is_shown_holds_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    server, now = CallerProofs(KEY), time.time()
    old, _ = open_call(KEY, "RunStep", server.incarnation)
    monkeypatch.setattr(proofs.time, "time", lambda: now + 1000)
    refuse(server, old, "RunStep", "clocks")


def test_what_is_shown_holds_at_one_server() -> None:
    """Another that has the key, or the same one started anew, does not take it."""
    shown, _ = open_call(KEY, "RunStep", CallerProofs(KEY).incarnation)
    with pytest.raises(tf.errors.UnavailableError, match="restarted"):
        CallerProofs(KEY).check(shown, "RunStep")
    CallerProofs(KEY).check(open_call(KEY, GREETING, 0)[0], GREETING)


def test_calls_come_in_any_order_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls too far behind the newest of their process are refused: they may be repetitions."""
    monkeypatch.setattr(proofs, "_WINDOW", 64)
    server = CallerProofs(KEY)
    shown = [open_call(KEY, "RunStep", server.incarnation)[0] for _ in range(300)]
    order = random.Random(0).sample(range(256, 300), 44)
    for place in order:
        server.check(shown[place], "RunStep")
    late = [place for place in range(256) if place + 64 > 299]
    for place in late:
        server.check(shown[place], "RunStep")
    for place in (*order, *late, *range(0, 236)):
        refuse(server, shown[place], "RunStep", "made before")


def test_a_caller_whose_clock_is_ahead_locks_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it calls, and however often, others are heard and nothing is heard twice."""
    server, now = CallerProofs(KEY), time.time()
    before, _ = open_call(KEY, "RunStep", server.incarnation)
    server.check(before, "RunStep")
    monkeypatch.setattr(proofs.time, "time", lambda: now + 290)
    ahead = [open_call(KEY, "RunStep", server.incarnation)[0] for _ in range(1000)]
    monkeypatch.setattr(proofs.time, "time", lambda: now)
    for shown in ahead:
        server.check(shown, "RunStep")
    server.check(open_call(KEY, "RunStep", server.incarnation)[0], "RunStep")
    for shown in (before, *ahead):
        refuse(server, shown, "RunStep", "made before")


def test_callers_are_forgotten_when_their_calls_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "_MAX_CALLERS", 2)
    server, now, all_shown = CallerProofs(KEY), time.time(), []

    def call() -> None:
        monkeypatch.setattr(proofs, "_OWN_CALLS", proofs._OwnCalls())
        all_shown.append(open_call(KEY, "RunStep", server.incarnation)[0])
        server.check(all_shown[-1], "RunStep")

    call()
    call()
    with pytest.raises(tf.errors.ResourceExhaustedError, match="More than 2 processes"):
        call()
    monkeypatch.setattr(proofs.time, "time", lambda: now + 301)
    call()
    for shown in all_shown[:2]:
        refuse(server, shown, "RunStep", "clocks")
    refuse(server, all_shown[-1], "RunStep", "made before")


def test_a_forked_child_calls_under_another_name() -> None:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    server = CallerProofs(KEY)
    child = multiprocessing.get_context("fork").Process(
        target=lambda: sender.send(open_call(KEY, "RunStep", server.incarnation)[0])
    )
    child.start()
    for shown in (open_call(KEY, "RunStep", server.incarnation)[0], receiver.recv()):
        server.check(shown, "RunStep")
    child.join()


@pytest.mark.parametrize("to_server", [True, False])
def test_messages_come_as_they_were_sent(to_server: bool) -> None:
    sender, receiver = both_sides() if to_server else reversed(both_sides())
    for parts in ((b"a", b""), (b"",), (b"x" * 70_000, memoryview(b"y"))):
        assert bytes(receiver.detach(sender.attach(*parts))) == b"".join(parts)


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_messages_that_were_changed(size: int) -> None:
    content = bytes(size)

    def refused(*changes: Callable[[list[bytes]], bytes], number: int = 0) -> None:
        """The message of that number, and no other, is refused."""
        caller, server = both_sides()
        own = [caller.attach(content) for _ in range(3)]
        given = [change(own) for change in changes]
        for message in given[:number]:
            server.detach(message)
        with pytest.raises(tf.errors.UnauthenticatedError, match="does not prove"):
            server.detach(given[number])

    refused(lambda own: own[1])  # one is left out
    refused(lambda own: own[0], lambda own: own[0], number=1)  # one comes twice
    refused(lambda own: own[0], lambda own: own[2], number=1)
    refused(lambda own: own[0][:-1])
    refused(lambda own: own[0] + b"\0")
    refused(lambda own: b"\1" + own[0][1:])
    refused(lambda own: own[0][:-1] + bytes((own[0][-1] ^ 1,)))
    refused(lambda own: b"")
    refused(lambda own: content)


def test_messages_of_other_calls_and_directions() -> None:
    (caller, server), (other, _) = both_sides(), both_sides()
    for wrong in (other.attach(b"a"), server.attach(b"a")):  # the second comes back to its sender
        with pytest.raises(tf.errors.UnauthenticatedError):
            server.detach(wrong)
    with pytest.raises(tf.errors.UnauthenticatedError):
        caller.detach(caller.attach(b"a"))


def test_names_of_the_service_are_the_key_owners() -> None:
    names = {proofs.service_of(key) for key in (b"", KEY, OTHER)}
    assert len(names) == 3 and proofs.SERVICE in names
