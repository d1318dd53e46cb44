"""Collectives over processes in branches and loops: each member in a separate session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.collectives.collective_ops import (
    all_gather,
    all_reduce,
    broadcast_recv,
    broadcast_send,
)

from .collective_wire import all_ranks
from .local_cluster import local_cluster

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

Servers = dict[tuple[str, int], Any]
GPUS = tf.GPUOptions(virtual_gpus=[100])
TASKS = ["/job:worker/task:0", "/job:worker/task:1"]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with local_cluster(tf.ConfigProto(gpu_options=GPUS), worker=2) as servers:
        yield servers


def member(
    servers: Servers, rank: int, build: Callable[[Any, int], Any], value: Any, device: str = "cpu:0"
) -> Any:
    """Run a session on a worker's server some times, for a graph that it alone has; return the
    results.
    """
    with tf.Graph().as_default(), tf.device(f"{TASKS[rank]}/{device}"):
        x = tf.placeholder(tf.float32, [None])
        y = build(x, rank)
        config = tf.ConfigProto(device_filters=[TASKS[rank]])
        with tf.Session(servers["worker", rank].target, config=config) as session:
            return [session.run(y, {x: value}) for _ in range(2)][-1]


@pytest.mark.parametrize(
    "count, device", [(3, "cpu:0"), (70_000, "cpu:0"), (3, "gpu:0")]
)  # by messages, and by shared memory
def test_a_loop_reduces_in_each_iteration(servers: Servers, count: int, device: str) -> None:
    def build(x: Any, rank: int) -> Any:
        def body(step: Any, total: Any) -> Any:
            mean = all_reduce(total * (rank + 1.0), 2, 1, 1, "Add", "Div")
            return step + 1, mean + x

        return tf.while_loop(lambda step, _: step < 5, body, [0, x])[1]

    values = np.random.RandomState(0).uniform(-1, 1, (2, count)).astype(np.float32)
    results = all_ranks(2, lambda rank: member(servers, rank, build, values[rank], device))
    expected = values.copy()
    for _ in range(5):
        expected = (expected[0] + expected[1] * 2) / 2 + values
    np.testing.assert_allclose(results, expected, rtol=1e-5, atol=1e-5)


def test_a_branch_that_both_take_and_one_that_neither_takes(servers: Servers) -> None:
    def build(x: Any, rank: int) -> Any:
        is_positive = tf.reduce_sum(x) > 0
        first = tf.cond(is_positive, lambda: all_reduce(x * 1.0, 2, 2, 1, "Max", "Id"), lambda: -x)
        joined = tf.cond(is_positive, lambda: all_gather(first, 2, 2, 2), lambda: first)
        return first, joined, tf.reduce_sum(joined)

    taken = all_ranks(2, lambda rank: member(servers, rank, build, [1.0 + rank, 3.0 - rank]))
    for first, joined, total in taken:
        assert first.tolist() == [2.0, 3.0]
        assert joined.tolist() == [2.0, 3.0] * 2
        assert total == 10.0
    left = all_ranks(2, lambda rank: member(servers, rank, build, [-1.0 - rank]))
    assert [first.tolist() for first, _, _ in left] == [[1.0], [2.0]]


def test_a_member_whose_leader_is_gone_names_it() -> None:
    with local_cluster(worker=2) as servers:

        def build(x: Any, rank: int) -> Any:
            return all_reduce(x * 1.0, 2, 1, 1, "Add", "Id")

        values = all_ranks(2, lambda rank: member(servers, rank, build, [1.0]).tolist())
        assert values == [[2.0], [2.0]]
        servers["worker", 0].stop()
        words = "/job:worker/replica:0/task:0, at which .* its process has ended"
        with pytest.raises(tf.errors.UnavailableError, match=words):
            member(servers, 1, build, [1.0])


def test_a_session_without_a_server_names_the_way_to_one() -> None:
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as session:
        y = all_reduce(tf.constant([1.0]), 2, 1, 1, "Add", "Id")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf.Session\(server.target\)"):
            session.run(y)


def test_a_branch_and_its_gradient_on_one_task_and_the_loss_on_another(servers: Servers) -> None:
    with tf.Graph().as_default(), tf.device(TASKS[0]):
        x = tf.placeholder(tf.float32, [])
        y = tf.cond(x > 0, lambda: tf.sin(x) * x, lambda: x)
        with tf.device(TASKS[1]):
            loss = tf.exp(y)
        gradient = tf.gradients(loss, x)[0]
        words = "task:0 and '.*' on /job:worker/replica:0/task:1. Place them on one task"
        with tf.Session(servers["worker", 0].target) as session:
            with pytest.raises(tf.errors.UnimplementedError, match=words):
                session.run(gradient, {x: 1.0})


def test_a_broadcast_in_a_loop(servers: Servers) -> None:
    def build(x: Any, rank: int) -> Any:
        def body(step: Any, total: Any) -> Any:
            if rank:
                value = broadcast_recv([2], tf.float32, 2, 3, 1)
            else:
                value = broadcast_send(x[:2] + tf.cast(step, tf.float32), [2], tf.float32, 2, 3, 1)
            return step + 1, total + value

        start = [0, tf.zeros([2])]
        return tf.while_loop(lambda step, _: step < 3, body, start)[1]

    def work(rank: int) -> Any:
        def sized(x: Any, rank: int) -> Any:
            return build(tf.reshape(x, [2]), rank)

        return member(servers, rank, sized, [1.0, 2.0]).tolist()

    assert all_ranks(2, work) == [[6.0, 9.0]] * 2


def test_training_in_a_loop_is_that_of_all_examples(servers: Servers) -> None:
    """Steps of gradient descent in one run, beside a collective outside of the loop."""
    inputs = np.random.RandomState(1).uniform(-1, 1, (2, 8)).astype(np.float32)

    def build(x: Any, rank: int) -> Any:
        def body(step: Any, w: Any) -> Any:
            gradient = tf.reduce_mean(2 * x * (w * x - 3 * x))
            return step + 1, w - 0.5 * all_reduce(gradient, 2, 4, 1, "Add", "Div")

        w = tf.while_loop(lambda step, _: step < 4, body, [0, tf.constant(0.0)])[1]
        return w, all_reduce(w, 2, 4, 2, "Add", "Id")

    results = all_ranks(2, lambda rank: member(servers, rank, build, inputs[rank]))
    w = 0.0
    for _ in range(4):
        w -= 0.5 * float(np.mean(2 * inputs * (w * inputs - 3 * inputs)))
    np.testing.assert_allclose(results, [[w, 2 * w]] * 2, rtol=1e-5)


def test_a_failure_and_a_time_limit_end_the_wait_in_a_loop(servers: Servers) -> None:
    def build(x: Any, rank: int) -> Any:
        def body(step: Any, total: Any) -> Any:
            if rank:  # fails in its third iteration
                total = tf.check_numerics(total / tf.cast(step < 2, tf.float32), "bad")
            return step + 1, all_reduce(total, 2, 5, 1, "Add", "Id")

        return tf.while_loop(lambda step, _: step < 5, body, [0, x])[1]

    def work(rank: int) -> str:
        with pytest.raises(tf.errors.OpError) as caught:
            member(servers, rank, build, [1.0])
        return f"{type(caught.value).__name__} {caught.value.message}"

    waited, failed = all_ranks(2, work)
    assert failed.startswith("InvalidArgumentError") and "bad" in failed
    assert waited.startswith("AbortedError") and "/job:worker/replica:0/task:1 left" in waited

    def alone(x: Any, rank: int) -> Any:
        return tf.cond(x[0] > 0, lambda: all_reduce(x * 1.0, 2, 6, 1, "Add", "Id"), lambda: x)

    with tf.Graph().as_default(), tf.device(f"{TASKS[0]}/cpu:0"):
        x = tf.placeholder(tf.float32, [None])
        y = alone(x, 0)
        config = tf.ConfigProto(device_filters=[TASKS[0]], operation_timeout_in_ms=200)
        with tf.Session(servers["worker", 0].target, config=config) as session:
            began = time.monotonic()
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(y, {x: [1.0]})
            assert time.monotonic() - began < 20
            assert session.run(y, {x: [-1.0]}) == [-1.0]


def test_members_of_one_run_in_branches_are_refused(servers: Servers) -> None:
    results = []
    with tf.Graph().as_default():
        for task in TASKS:
            with tf.device(f"{task}/cpu:0"):
                x = tf.placeholder_with_default(1.0, [])
                reduce = lambda x=x: all_reduce(x * 1.0, 2, 7, 1, "Add", "Id")  # noqa: E731
                results.append(tf.cond(x > 0, reduce, lambda x=x: x))
        with tf.Session(servers["worker", 0].target) as session:
            with pytest.raises(tf.errors.UnimplementedError, match="a separate session"):
                session.run(results)


def test_two_collectives_of_one_iteration_and_a_variable(servers: Servers) -> None:
    def build(x: Any, rank: int) -> Any:
        v = tf.get_variable("v", initializer=2.0, use_resource=True)

        def body(step: Any, first: Any, second: Any) -> Any:
            first = all_reduce(first * v, 2, 8, 1, "Add", "Id")
            second = all_reduce(second + 1.0, 2, 8, 2, "Max", "Id")
            return step + 1, first, second

        with tf.control_dependencies([v.initializer]):
            start = [0, tf.identity(x), tf.constant(float(rank))]
        return tf.while_loop(lambda step, *_: step < 3, body, start)[1:]

    for first, second in all_ranks(2, lambda rank: member(servers, rank, build, [1.0])):
        assert first.tolist() == [64.0]
        assert second == 4.0


def test_members_that_fail_together_go_on_with_the_same_step(servers: Servers) -> None:
    """A sum that is no number ends the step of both; it may end one before the other has met."""

    def build(x: Any, rank: int) -> Any:
        def body(turn: Any, total: Any) -> Any:
            return turn + 1, tf.check_numerics(all_reduce(total, 2, 9, 1, "Add", "Id"), "bad")

        return tf.while_loop(lambda turn, _: turn < 3, body, [0, x])[1]

    def work(rank: int) -> list[Any]:
        results = []
        with tf.Graph().as_default(), tf.device(f"{TASKS[rank]}/cpu:0"):
            x = tf.placeholder(tf.float32, [])
            y = build(x, rank)
            config = tf.ConfigProto(device_filters=[TASKS[rank]])
            with tf.Session(servers["worker", rank].target, config=config) as session:
                for step in range(12):
                    is_bad = step in (3, 6, 7) and rank != step % 2
                    try:
                        results.append(float(session.run(y, {x: np.nan if is_bad else step})))
                    except (tf.errors.AbortedError, tf.errors.InvalidArgumentError):
                        results.append(None)
        return results

    want = [None if step in (3, 6, 7) else step * 8.0 for step in range(12)]
    assert all_ranks(2, work) == [want, want]
