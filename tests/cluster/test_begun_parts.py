"""Parts that wait for the first stage of their master's process, which begins them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster.wire_values import INLINE_BYTES

from .local_cluster import local_cluster

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

TASKS = [f"/job:worker/task:{index}" for index in range(3)]
Servers = dict[tuple[str, int], Any]
SENT: list[str] = []
"""The senders of tensors in separate messages."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Servers]:
    with local_cluster(worker=3) as servers, pytest.MonkeyPatch.context() as patch:
        for (_, index), server in servers.items():
            send = server._others.send_tensors

            def note(*args: Any, index: int = index, send: Any = send) -> None:
                SENT.append(f"{index}>{args[0][-1]}")
                send(*args)

            patch.setattr(server._others, "send_tensors", note)
        yield servers


@pytest.fixture
def session(cluster: Servers) -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session(cluster["worker", 0].target) as session:
        yield session


def sent_in(session: tf.Session, fetch: Any, feeds: Any = None) -> tuple[Any, list[str]]:
    """Return the fetched value of a run's second step, and the senders of tensors in it."""
    session.run(fetch, feeds)
    SENT.clear()
    value = session.run(fetch, feeds)
    return value, sorted(SENT)


def there_and_back(x: Any) -> Any:
    """Return a sum of two values that other tasks compute from a tensor of the first."""
    with tf.device(TASKS[0]):
        first = x * 2.0
    parts = []
    for task in TASKS[1:]:
        with tf.device(task):
            parts.append(first + float(task[-1]))
    with tf.device(TASKS[0]):
        return parts[0] + parts[1]


@pytest.mark.parametrize("size", [3, INLINE_BYTES])
def test_what_a_part_waits_for_comes_with_it(session: tf.Session, size: int) -> None:
    x = tf.placeholder(tf.float32, [None])
    total = there_and_back(x)
    values = np.arange(size, dtype=np.float32)
    fetched, sent = sent_in(session, total, {x: values})
    np.testing.assert_array_equal(fetched, values * 4 + 3)
    assert sent == ["1>0", "2>0"]


def test_a_signal_begins_a_part(session: tf.Session) -> None:
    with tf.device(TASKS[0]):
        v = tf.get_variable("v", initializer=1.0)
        change = v.assign_add(1.0)
    with tf.device(TASKS[1]), tf.control_dependencies([change.op]):
        y = tf.constant(2.0) * 3
    session.run(v.initializer)
    assert sent_in(session, y) == (6.0, [])
    assert session.run(v) == 3.0


def test_a_part_that_can_do_something_else_begins_at_once(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    total = there_and_back(x)
    with tf.device(TASKS[1]):
        own = tf.random_uniform([], 1.0, 1.0)
    with tf.device(TASKS[2]):
        other = own + 1.0
    fetched, sent = sent_in(session, [total, other], {x: 1.0})
    assert fetched == [7.0, 2.0]
    assert "0>1" in sent and "0>2" in sent


def test_a_step_with_a_limit_begins_all_at_once(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    total = there_and_back(x)
    session.run(total, {x: 1.0})
    SENT.clear()
    assert session.run(total, {x: 1.0}, options=tf.RunOptions(timeout_in_ms=60_000)) == 7.0
    assert sorted(SENT) == ["0>1", "0>2", "1>0", "2>0"]


def test_where_the_first_stage_fails_no_part_begins(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.device(TASKS[0]):
        checked = tf.check_numerics(x, "bad")
    with tf.device(TASKS[1]):
        v = tf.get_variable("v", initializer=1.0, use_resource=False)
        change = v.assign_add(checked)
    session.run(v.initializer)
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            session.run(change, {x: np.nan})
        assert session.run(change, {x: 0.0}) == 1.0


def test_a_part_that_a_worker_has_lost_ends_the_step(session: tf.Session, cluster: Servers) -> None:
    x = tf.placeholder(tf.float32, [])
    total = there_and_back(x)
    assert session.run(total, {x: 1.0}) == 7.0
    cluster["worker", 2]._close_lost(session._backend._handle)
    with pytest.raises(tf.errors.AbortedError, match="task:2 has no session"):
        session.run(total, {x: 1.0})
