"""Rendezvous: values meet their receivers by key."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.plan import rendezvous_key
from gpugraph.runtime import Rendezvous, parse_key

CPU, GPU = "/job:a/replica:0/task:0/device:CPU:0", "/job:a/replica:0/task:0/device:GPU:0"


def test_a_value_waits_for_its_receiver() -> None:
    rendezvous = Rendezvous()
    rendezvous.send("a", 1)
    rendezvous.send("b", 2, is_dead=True)
    assert rendezvous.recv("b") == (2, True)
    assert rendezvous.recv("a") == (1, False)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers())))
def test_values_of_one_key_come_in_the_order_they_were_sent(sent: list[tuple[str, int]]) -> None:
    rendezvous = Rendezvous()
    for key, value in sent:
        rendezvous.send(key, value)
    for wanted in "abc":
        for key, value in sent:
            if key == wanted:
                assert rendezvous.recv(key) == (value, False)
        with pytest.raises(tf.errors.DeadlineExceededError):
            rendezvous.recv(wanted)


def test_a_receiver_waits_for_its_value() -> None:
    rendezvous = Rendezvous()
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(rendezvous.recv, key, None) for key in ("a", "b")]
        time.sleep(0.01)
        rendezvous.send("b", 2)
        assert waiting[1].result(10) == (2, False)
        assert not waiting[0].done()
        rendezvous.send("a", 1)
        assert waiting[0].result(10) == (1, False)


def test_many_receivers_of_one_key_get_a_value_each() -> None:
    rendezvous = Rendezvous()
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(rendezvous.recv, "a", 10) for _ in range(8)]
        for value in range(8):
            rendezvous.send("a", value)
        assert sorted(future.result(10)[0] for future in waiting) == list(range(8))


def test_waiting_ends_with_the_time_that_was_given() -> None:
    began = time.monotonic()
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"way.*0\.02 s"):
        Rendezvous().recv("way", 0.02)
    assert 0.015 < time.monotonic() - began < 5


def test_an_abort_fails_all_that_wait_and_all_that_comes_after() -> None:
    rendezvous = Rendezvous()
    rendezvous.send("sent", 1)
    reason = tf.errors.CancelledError(None, None, "enough")
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(rendezvous.recv, key, None) for key in ("a", "a", "b")]
        time.sleep(0.01)
        rendezvous.start_abort(reason)
        for future in waiting:
            with pytest.raises(tf.errors.CancelledError, match="enough"):
                future.result(10)
    rendezvous.start_abort(tf.errors.InternalError(None, None, "too late"))
    for call in (lambda: rendezvous.recv("sent"), lambda: rendezvous.send("a", 1)):
        with pytest.raises(tf.errors.CancelledError, match="enough"):
            call()


def test_clear_forgets_what_is_under_way() -> None:
    rendezvous = Rendezvous()
    rendezvous.send("a", 1)
    rendezvous.clear()
    with pytest.raises(tf.errors.DeadlineExceededError):
        rendezvous.recv("a")


def test_senders_never_wait() -> None:
    rendezvous = Rendezvous()
    thread = threading.Thread(target=lambda: [rendezvous.send("a", i) for i in range(1000)])
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


@given(st.integers(0, 2**63), st.integers(0, 99), st.integers(0, 99))
def test_a_key_tells_the_whole_way(incarnation: int, frame: int, iteration: int) -> None:
    key = rendezvous_key(CPU, incarnation, GPU, "edge_5_a:0", frame, iteration)
    assert key.count(";") == 4
    assert parse_key(key) == (CPU, incarnation, GPU, "edge_5_a:0", (frame, iteration))


@pytest.mark.parametrize(
    "key",
    [
        "",
        "a;b;c",
        f"{CPU};xyz;{GPU};edge;0:0",
        f"{CPU};1;{GPU};edge;0",
        f"{CPU};1;{GPU};edge;0:x",
        f"{CPU};1;{GPU};edge;0:0;more",
    ],
)
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid rendezvous key"):
        parse_key(key)
