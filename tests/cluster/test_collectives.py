"""Collectives over processes: in one session's run, and each member in a separate session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster import all_reduce_gradients
from gpugraph.cluster.collectives.collective_peers import CollectivePeers
from gpugraph.config import RewriterConfig
from gpugraph.ops.collectives.collective_ops import (
    all_gather,
    all_reduce,
    broadcast_recv,
    broadcast_send,
)

from .collective_wire import all_ranks
from .local_cluster import free_ports, local_cluster

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

Servers = dict[tuple[str, int], Any]
TASKS = [f"/job:worker/task:{task}" for task in range(3)]
CPUS = [f"{task}/cpu:0" for task in TASKS]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with local_cluster(tf.ConfigProto(device_count={"CPU": 2}), worker=3) as servers:
        yield servers


@pytest.fixture
def target(servers: Servers) -> Iterator[str]:
    with tf.Graph().as_default():
        yield servers["worker", 0].target
        tf.Session.reset(servers["worker", 0].target)


def inputs(count: int, num_devices: int = 3) -> list[Any]:
    draw = np.random.RandomState(count)
    return [draw.uniform(-2, 2, count).astype(np.float32) for _ in range(num_devices)]


def on_each(function: Callable[[Any], Any], devices: Sequence[str] = CPUS) -> tuple[Any, Any]:
    """Return a placeholder, and the results of a function applied to it on each device."""
    places, results = [], []
    for device in devices:
        with tf.device(device):
            places.append(tf.placeholder(tf.float32, [None]))
            results.append(function(places[-1] * 1.0))
    return places, results


def own_session(
    servers: Servers,
    rank: int,
    function: Callable[[Any, int], Any],
    value: Any,
    config: Any = None,
    times: int = 1,
) -> Any:
    """Return the result of a session on a worker's own server for a graph that it alone has."""
    with tf.Graph().as_default(), tf.device(CPUS[rank]):
        x = tf.placeholder(tf.float32, [None], name="x")
        y = function(x * 1.0, rank)
        config = config or tf.ConfigProto()
        config.device_filters.append(TASKS[rank])
        with tf.Session(servers["worker", rank].target, config=config) as session:
            return [session.run(y, {x: value}) for _ in range(times)][-1]


@pytest.mark.parametrize("count", [1, 5, 1000, 200_000])
@pytest.mark.parametrize(("merge_op", "final_op"), [("Add", "Div"), ("Max", "Id")])
def test_all_reduce_in_one_run(target: str, count: int, merge_op: str, final_op: str) -> None:
    places, sums = on_each(lambda x: all_reduce(x, 3, 1, 1, merge_op, final_op))
    values = inputs(count)
    want = np.mean(values, 0) if merge_op == "Add" else np.max(values, 0)
    after = [value * 2.0 for value in sums]
    with tf.Session(target) as session:
        for _ in range(3):
            results = session.run([*sums, *after], dict(zip(places, values)))
            for result in results[:3]:
                np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-6)
                assert result.tobytes() == results[0].tobytes()
            np.testing.assert_array_equal(results[3], results[0] * 2)


@pytest.mark.parametrize("shares", [True, False])
def test_large_reductions_with_shared_memory_and_without(
    target: str, shares: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gpugraph.cluster.shared_segments.is_possible", lambda: shares and sys.platform == "linux"
    )
    places, sums = on_each(lambda x: all_reduce(x, 3, 1, 1, "Add", "Id"))
    with tf.Session(target) as session:
        kept = []
        for step in range(3):
            values = [value + step for value in inputs(300_000)]
            results = session.run(sums, dict(zip(places, values)))
            np.testing.assert_allclose(results[1], np.sum(values, 0), rtol=1e-5, atol=1e-5)
            kept.append((results, [result.copy() for result in results]))
        for results, copies in kept:  # no later run writes to an earlier run's results
            np.testing.assert_array_equal(results, copies)


def test_several_devices_of_each_task_reduce_among_themselves_first(target: str) -> None:
    devices = [f"{task}/cpu:{index}" for task in TASKS for index in (1, 0)]
    places, sums = on_each(lambda x: all_reduce(x, 6, 1, 1, "Add", "Div"), devices)
    more, gathered = on_each(lambda x: all_gather(x, 6, 1, 2), devices)
    values = inputs(500, 6)
    with tf.Session(target) as session:
        results = session.run(sums, dict(zip(places, values)))
        parts = session.run(gathered, dict(zip(more, values)))
    np.testing.assert_allclose(results[0], np.mean(values, 0), rtol=1e-5, atol=1e-6)
    assert len({result.tobytes() for result in results}) == 1
    order = np.argsort(devices)
    for part in parts:
        np.testing.assert_array_equal(part.reshape(6, 500), np.array(values)[order])


def test_gather_and_broadcast_in_one_run(target: str) -> None:
    places, gathered = on_each(lambda x: all_gather(x, 3, 1, 1))
    received = []
    for index, device in enumerate(CPUS):
        with tf.device(device):
            if index == 1:
                sent = broadcast_send(tf.constant([1.0, 2.0]) * 3.0, [2], tf.float32, 3, 1, 2)
                received.append(sent)
            else:
                received.append(broadcast_recv([2], tf.float32, 3, 1, 2) * 2.0)
    values = inputs(4)
    with tf.Session(target) as session:
        parts, others = session.run([gathered, received], dict(zip(places, values)))
    for part in parts:
        np.testing.assert_array_equal(part, np.concatenate(values))
    np.testing.assert_array_equal(others, [[6, 12], [3, 6], [6, 12]])


def test_one_reduction_after_another_and_what_is_sent_on(target: str) -> None:
    places, sums = on_each(lambda x: all_reduce(x, 3, 1, 1, "Add", "Id"))
    again = []
    for device, value in zip(CPUS, sums):
        with tf.device(device):
            again.append(all_reduce(value * value, 3, 1, 2, "Max", "Id"))
    with tf.device(CPUS[2]):
        far = sums[0] + again[1]
    with tf.control_dependencies([sums[1]]), tf.device(CPUS[0]):
        after = tf.identity(places[2])
    values = inputs(7)
    total = np.sum(values, 0)
    with tf.Session(target) as session:
        first, second, third = session.run([again, far, after], dict(zip(places, values)))
        session.run([value.op for value in again], dict(zip(places, values)))
    for value in first:
        np.testing.assert_allclose(value, total**2, rtol=1e-5)
    np.testing.assert_allclose(second, total + total**2, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(third, values[2])


def test_each_member_in_its_own_session(servers: Servers, target: str) -> None:
    values = inputs(90_000)

    def work(rank: int) -> Any:
        reduce = lambda x, _: all_reduce(x, 3, 1, 1, "Add", "Div")  # noqa: E731
        return own_session(servers, rank, reduce, values[rank], times=5)

    results = all_ranks(3, work)
    np.testing.assert_allclose(results[0], np.mean(values, 0), rtol=1e-5, atol=1e-6)
    assert len({result.tobytes() for result in results}) == 1


def test_two_steps_at_the_same_time_do_not_mix(target: str) -> None:
    places, sums = on_each(lambda x: all_reduce(x, 3, 1, 1, "Add", "Id"))
    with tf.Session(target) as session:

        def work(rank: int) -> Any:
            results = []
            for _ in range(8):
                feeds = {place: np.full(100_000, 10.0**rank, np.float32) for place in places}
                results += session.run(sums, feeds)
            return results

        for rank, results in enumerate(all_ranks(3, work)):
            np.testing.assert_array_equal(results, np.full((24, 100_000), 3 * 10.0**rank))


def test_training_of_replicas_is_training_on_all_examples(servers: Servers) -> None:
    draw = np.random.RandomState(0)
    x_all = draw.standard_normal((10, 3, 4, 3)).astype(np.float32)  # steps, workers, examples
    y_all = (x_all @ np.array([1, 2, 3], np.float32) + 1)[..., None]

    def build(x: Any, y: Any) -> Any:
        w = tf.get_variable("w", [3, 8], initializer=tf.ones_initializer())
        b = tf.get_variable("b", [8], initializer=tf.zeros_initializer())
        v = tf.get_variable("v", [8, 1], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w) + b), v) - y))
        optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
        return loss, optimizer, optimizer.compute_gradients(loss)

    def work(rank: int) -> list[float]:
        with tf.Graph().as_default(), tf.device(CPUS[rank]):
            x, y = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.float32, [4, 1])
            loss, optimizer, gradients = build(x, y)
            train = optimizer.apply_gradients(all_reduce_gradients(gradients, 3, group_key=9))
            config = tf.ConfigProto(device_filters=[TASKS[rank]], isolate_session_state=True)
            config.graph_options.rewrite_options.scoped_allocator_optimization = RewriterConfig.ON
            with tf.Session(servers["worker", rank].target, config=config) as session:
                session.run(tf.global_variables_initializer())
                return [
                    session.run([loss, train], {x: a[rank], y: b[rank]})[0]
                    for a, b in zip(x_all, y_all)
                ]

    losses = np.mean(all_ranks(3, work), 0)
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [12, 3]), tf.placeholder(tf.float32, [12, 1])
        loss, optimizer, gradients = build(x, y)
        train = optimizer.apply_gradients(gradients)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            want = [
                session.run([loss, train], {x: a.reshape(12, 3), y: b.reshape(12, 1)})[0]
                for a, b in zip(x_all, y_all)
            ]
    np.testing.assert_allclose(losses, want, rtol=1e-4)


def test_a_gradient_is_reduced_while_others_are_computed(servers: Servers, target: str) -> None:
    """The backward pass of a worker goes on only once its peer has the mean of the first
    gradients.
    """
    is_reduced, order = threading.Event(), []

    @tf.custom_gradient
    def layer(x: Any) -> Any:
        return x * 1.0, lambda dy: tf.py_func(backward, [dy], tf.float32)

    def backward(dy: Any) -> Any:
        order.append("lower layer")
        assert is_reduced.wait(20), "the upper layer's gradient was kept until the end"
        return dy

    def work(rank: int) -> Any:
        with tf.Graph().as_default(), tf.device(CPUS[rank]):
            x = tf.placeholder(tf.float32, [2, 3])
            lower = tf.get_variable("lower", [3, 3], initializer=tf.ones_initializer())
            upper = tf.get_variable("upper", [3, 1], initializer=tf.ones_initializer())
            hidden = tf.matmul(x, lower)
            hidden = layer(hidden) if rank == 0 else hidden
            loss = tf.reduce_sum(tf.square(tf.matmul(hidden, upper)))
            gradients = tf.gradients(loss, [lower, upper])
            means = all_reduce_gradients(zip(gradients, [lower, upper]), 2, group_key=5)
            (of_lower, _), (of_upper, _) = means
            config = tf.ConfigProto(device_filters=[TASKS[rank]], isolate_session_state=True)
            with tf.Session(servers["worker", rank].target, config=config) as session:
                session.run(tf.global_variables_initializer())
                feeds = {x: np.full((2, 3), rank + 1.0, np.float32)}
                if rank == 0:
                    return session.run([of_lower, of_upper], feeds)
                upper_mean = session.run(of_upper, feeds)
                order.append("reduced")
                is_reduced.set()
                return session.run(of_lower, feeds), upper_mean

    first, second = all_ranks(2, work)
    assert sorted(order) == ["lower layer", "reduced"]
    for mean, other, want in zip(first, second, (90.0, 270.0)):
        np.testing.assert_array_equal(mean, other)
        np.testing.assert_array_equal(mean, np.full_like(mean, want))


@pytest.mark.parametrize(("limit", "num_meetings"), [(0, 4), (1000, 2), (1 << 20, 1)])
def test_reductions_are_done_in_buckets(
    servers: Servers, target: str, limit: int, num_meetings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_COLLECTIVE_BUCKET", str(limit))
    meetings = []
    join = CollectivePeers.join

    def counted(self: Any, leader: str, joining: Any) -> Any:
        meetings.append(joining.signature)
        return join(self, leader, joining)

    monkeypatch.setattr(CollectivePeers, "join", counted)
    config = tf.ConfigProto()
    rewrites = config.graph_options.rewrite_options
    rewrites.scoped_allocator_optimization = RewriterConfig.ON
    sums: list[list[Any]] = []
    products: list[Any] = []
    for device in CPUS[:2]:
        with tf.device(device):
            values = [tf.ones([count]) * count for count in (100, 100, 50, 200)]
            products.append(all_reduce(values[0] + 1.0, 2, 1, 9, "Mul", "Id"))
            sums.append([all_reduce(x, 2, 1, n, "Add", "Id") for n, x in enumerate(values)])
    with tf.Session(target, config=config) as session:
        results = session.run([sums, products])
    for ours in results[0]:
        for count, value in zip((100, 100, 50, 200), ours):
            np.testing.assert_array_equal(value, np.full(count, 2.0 * count))
    np.testing.assert_array_equal(results[1], np.full((2, 100), 101.0**2))
    assert len(meetings) == 2 * (num_meetings + 1)


REFUSED: list[tuple[str, Callable[[Any, int], Any]]] = [
    ("gives the group", lambda x, rank: all_reduce(x, 3 + rank, 1, 1, "Add", "Id")),
    ("merge_op", lambda x, rank: all_reduce(x, 3, 1, 1, ["Add", "Max", "Add"][rank], "Id")),
    ("shape", lambda x, rank: all_reduce(tf.tile(x, [1 + rank]), 3, 1, 1, "Add", "Id")),
    (
        "float",
        lambda x, rank: all_reduce(
            tf.cast(x, [tf.int32, tf.float32][rank % 2]), 3, 1, 1, "Add", "Id"
        ),
    ),
    (
        "CollectiveGather",
        lambda x, rank: all_reduce(x, 3, 1, 1, "Add", "Id") if rank else all_gather(x, 3, 1, 1),
    ),
]


@pytest.mark.parametrize(("words", "function"), REFUSED, ids=[words for words, _ in REFUSED])
def test_members_that_do_not_fit_are_refused_on_all(
    servers: Servers, target: str, words: str, function: Callable[[Any, int], Any]
) -> None:
    def work(rank: int) -> str:
        config = tf.ConfigProto(operation_timeout_in_ms=20_000)
        with pytest.raises(tf.errors.OpError) as info:
            own_session(servers, rank, function, [1.0, 2.0], config)
        return f"{type(info.value).__name__}: {info.value.message}"

    # The third may come when the first two have failed: it waits for others, then.
    texts = all_ranks(2, work)
    assert all(text.startswith("InvalidArgumentError") and words in text for text in texts), texts


def test_a_second_member_on_one_device_and_too_many_in_a_run(target: str) -> None:
    _, sums = on_each(lambda x: all_reduce(x, 2, 1, 1, "Add", "Id"))
    with tf.Session(target) as session:
        places = [value.op.inputs[0].op.inputs[0] for value in sums]
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 members are in this run"):
            session.run(sums, {place: [1.0] for place in places})


def test_a_member_in_a_branch_is_refused(target: str) -> None:
    results = []
    for device in CPUS:
        with tf.device(device):
            x = tf.placeholder_with_default(1.0, [])
            results.append(
                tf.cond(x > 0, lambda x=x: all_reduce(x * 1.0, 3, 1, 1, "Add", "Id"), lambda x=x: x)
            )
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.UnimplementedError, match="a branch or a loop"):
            session.run(results)


def test_a_step_that_fails_fails_for_all_members(servers: Servers, target: str) -> None:
    def function(x: Any, rank: int) -> Any:
        first = all_reduce(x, 3, 1, 1, "Add", "Id")
        checked = tf.check_numerics(x, "bad") if rank == 1 else x
        return first + all_reduce(checked, 3, 1, 2, "Add", "Id")

    def work(rank: int) -> str:
        with pytest.raises(tf.errors.OpError) as info:
            own_session(servers, rank, function, [float("nan") if rank == 1 else 1.0])
        return type(info.value).__name__

    assert all_ranks(3, work) == ["AbortedError", "InvalidArgumentError", "AbortedError"]


def test_a_time_limit_and_the_longest_wait(
    servers: Servers, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reduce = lambda x, _: all_reduce(x, 3, 1, 1, "Add", "Id")  # noqa: E731
    config = tf.ConfigProto(operation_timeout_in_ms=400)
    with pytest.raises(tf.errors.DeadlineExceededError):
        own_session(servers, 0, reduce, [1.0], config)
    monkeypatch.setenv("GPUGRAPH_COLLECTIVE_WAIT", "0.3")
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"waited 0\.3 s for") as info:
        own_session(servers, 1, reduce, [1.0])
    assert "task:0" not in info.value.message.partition("there were")[2]
    monkeypatch.delenv("GPUGRAPH_COLLECTIVE_WAIT")
    results = all_ranks(3, lambda rank: own_session(servers, rank, reduce, [rank + 1.0]))
    np.testing.assert_array_equal(results, [[6.0]] * 3)


WORKER = """
import sys, time, os
import gpugraph as tf
from gpugraph.ops.collectives.collective_ops import all_reduce
task, ports, count = int(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3])
server = tf.train.Server({"worker": ["localhost:" + port for port in ports]}, "worker", task)
with tf.device(f"/job:worker/task:{task}/cpu:0"):
    x = tf.placeholder(tf.float32, [None])
    y = all_reduce(x * 1.0, len(ports), 1, 1, "Add", "Id")
    config = tf.ConfigProto(device_filters=[f"/job:worker/task:{task}"])
with tf.Session(server.target, config=config) as session:
    step = 0
    while True:
        try:
            result = session.run(y, {x: [1.0] * count})
        except tf.errors.OpError as error:
            print(type(error).__name__, flush=True)
            break
        assert result[0] == len(ports)
        if step == 0:
            print("ready", flush=True)
        step += 1
os._exit(0)
"""


@pytest.mark.parametrize(
    "count",
    [10, 200_000],  # each starts 3 processes, and waits 20 seconds for the lost one
)
@pytest.mark.exhaustive
def test_a_member_that_is_killed_is_noticed_by_all(tmp_path: Path, count: int) -> None:
    ports = ",".join(map(str, free_ports(3)))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(task), ports, str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for task in range(3)
    ]
    try:
        for process in processes:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        started = time.monotonic()
        os.kill(processes[1].pid, signal.SIGKILL)
        for process in (processes[0], processes[2]):
            assert process.stdout is not None
            assert process.stdout.readline() in ("UnavailableError\n", "AbortedError\n")
        print("noticed after", time.monotonic() - started)
    finally:
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
