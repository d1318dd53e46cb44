"""Steps over several tasks: training, dependencies, shared queues, failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .local_cluster import local_cluster

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

PS, FIRST, SECOND = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
Servers = dict[tuple[str, int], Any]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with local_cluster(ps=1, worker=2) as servers:
        yield servers


@pytest.fixture
def target(servers: Servers) -> Iterator[str]:
    with tf.Graph().as_default():
        yield servers["worker", 0].target
        tf.Session.reset(servers["worker", 0].target)


def regression(optimizer: Any) -> tuple[Any, ...]:
    """Return placeholders, loss and train op of a linear regression."""
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None])
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer(), use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, w) + b, 1) - y))
    step = tf.train.get_or_create_global_step()
    return x, y, loss, optimizer.minimize(loss, global_step=step), step


def batches() -> Iterator[tuple[Any, Any]]:
    draw = np.random.RandomState(0)
    for _ in range(20):
        x = draw.standard_normal((8, 3)).astype(np.float32)
        yield x, x @ np.array([1, 2, 3], np.float32) + 1


def losses(target: str, device: Any) -> list[float]:
    with tf.Graph().as_default(), tf.device(device):
        x, y, loss, train, step = regression(tf.train.AdamOptimizer(0.1))
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            values = [session.run([loss, train], {x: a, y: b})[0] for a, b in batches()]
            assert session.run(step) == 20
        return values


def test_training_with_a_parameter_server_is_training_in_one_process(target: str) -> None:
    setter = tf.train.replica_device_setter(1, worker_device=SECOND)
    np.testing.assert_allclose(losses(target, setter), losses("", None), rtol=1e-6)


def test_several_sessions_train_the_same_variables(servers: Servers, target: str) -> None:
    def worker(task: int) -> None:
        setter = tf.train.replica_device_setter(1, worker_device=f"/job:worker/task:{task}")
        with tf.Graph().as_default(), tf.device(setter):
            x, y, _, train, _ = regression(tf.train.GradientDescentOptimizer(0.05))
            with tf.Session(servers["worker", task].target) as session:
                if task == 0:
                    session.run(tf.global_variables_initializer())
                    ready.set()
                ready.wait()
                for a, b in batches():
                    session.run(train, {x: a, y: b})

    ready = threading.Event()
    threads = [threading.Thread(target=worker, args=(task,)) for task in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with tf.device(PS):
        step = tf.train.get_or_create_global_step()
    with tf.Session(target) as session:
        assert session.run(step) == 40


def test_synchronous_workers_train_as_one_process_on_all_their_examples(
    servers: Servers, target: str
) -> None:
    together, is_ready = threading.Barrier(2), threading.Event()
    losses: dict[int, list[float]] = {0: [], 1: []}

    def work(task: int) -> None:
        setter = tf.train.replica_device_setter(1, worker_device=f"/job:worker/task:{task}")
        with tf.Graph().as_default(), tf.device(setter):
            descent = tf.train.GradientDescentOptimizer(0.05)
            optimizer = tf.train.SyncReplicasOptimizer(descent, replicas_to_aggregate=2)
            x, y, loss, train, _ = regression(optimizer)
            hook = optimizer.make_session_run_hook(task == 0, num_tokens=0)
            if task:
                is_ready.wait(30)  # a monitored session would look again after 30 seconds
            with tf.train.MonitoredTrainingSession(
                servers["worker", task].target, is_chief=task == 0, hooks=[hook]
            ) as session:
                is_ready.set()
                for a, b in batches():
                    half = slice(task * 4, task * 4 + 4)
                    together.wait(30)
                    losses[task].append(session.run([loss, train], {x: a[half], y: b[half]})[0])
                together.wait(30)

    threads = [threading.Thread(target=work, args=(task,), daemon=True) for task in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with tf.Graph().as_default():
        x, y, loss, train, _ = regression(tf.train.GradientDescentOptimizer(0.05))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            want = [session.run([loss, train], {x: a, y: b})[0] for a, b in batches()]
    np.testing.assert_allclose(np.mean([losses[0], losses[1]], 0), want, rtol=1e-6)


def test_what_waits_for_a_write_reads_what_was_written(target: str) -> None:
    with tf.device(PS):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
    before = v + 0.0
    with tf.device(SECOND), tf.control_dependencies([before]):
        three = tf.constant([3.0, 3.0]) * 1.0
    write = tf.assign_add(v, three)
    with tf.control_dependencies([write]):
        with tf.device(SECOND):
            after = v + 0.0
        with tf.device(PS):
            near = v * 2.0
    with tf.Session(target) as session:
        session.run(v.initializer)
        results = session.run([before, after, near, v])
    np.testing.assert_array_equal(results, [[1, 2], [4, 5], [8, 10], [4, 5]])


def test_a_tensor_goes_there_and_back(target: str) -> None:
    x = y = tf.placeholder(tf.float32, [])
    for task in (FIRST, SECOND, PS) * 3:
        with tf.device(task):
            y = y * 2 + 1
    with tf.Session(target) as session:
        assert session.run([y, x], {x: 1.0}) == [1023, 1]


def test_branches_and_loops_of_one_task(target: str) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.device(PS):
        v = tf.get_variable("v", initializer=2.0)
        far = v * x
    with tf.device(SECOND):
        y = tf.cond(far > 3, lambda: far * 10, lambda: far - 1)
        z = tf.while_loop(lambda n: n < 100, lambda n: n + far, [y])
    with tf.device(PS):
        update = tf.assign(v, z)
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run([y, z, update], {x: 2.0}) == [40, 100, 100]
        assert session.run(v) == 100


def test_a_branch_of_several_tasks_is_refused(target: str) -> None:
    x = tf.placeholder(tf.float32, [])

    def branch() -> Any:
        with tf.device(SECOND):
            y = x * 2
        with tf.device(PS):
            return y + 1

    z = tf.cond(x > 0, branch, lambda: x)
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.UnimplementedError, match="A branch or a loop of several"):
            session.run(z, {x: 1.0})


def test_queues_lead_from_session_to_session(servers: Servers, target: str) -> None:
    with tf.device(PS):
        queue = tf.FIFOQueue(2, tf.int32, shared_name="queue")
    x = tf.placeholder(tf.int32, [])
    put, take = queue.enqueue(x), queue.dequeue()
    with tf.device(SECOND):
        doubled = take * 2
    results = []
    with tf.Session(target) as one, tf.Session(servers["worker", 1].target) as other:
        thread = threading.Thread(target=lambda: results.append(other.run(doubled)), daemon=True)
        thread.start()
        one.run(put, {x: 21})
        thread.join(20)
    assert results == [42]


def test_a_reset_reaches_the_sessions_of_other_masters(servers: Servers, target: str) -> None:
    with tf.device(PS):
        v = tf.get_variable("v", initializer=1.0)
    with tf.Session(servers["worker", 1].target) as other:
        other.run(v.initializer)
        assert other.run(v) == 1
        tf.Session.reset(target)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            other.run(v)
        other.run(v.initializer)
        with tf.Session(target) as session:
            assert session.run(tf.assign_add(v, 1.0)) == 2
        assert other.run(v) == 2


def test_an_error_on_one_task_ends_the_step_on_all(target: str) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device(PS):
        queue = tf.FIFOQueue(2, tf.float32, shared_name="waits")
        waits = queue.dequeue()
        v = tf.get_variable("v", initializer=1.0)
    with tf.device(SECOND):
        bad = tf.check_numerics(x, "bad", name="bad")
    with tf.device(PS):
        write = tf.assign(v, bad)
    with tf.Session(target) as session:
        session.run(v.initializer)
        started = time.monotonic()
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had NaN") as info:
            session.run([write, waits], {x: float("nan")})
        assert time.monotonic() - started < 10
        assert info.value.op is bad.op
        assert session.run(v) == 1
        session.run(queue.enqueue(5.0))
        assert session.run([write, waits], {x: 2.0}) == [2, 5]


def test_a_time_limit_ends_the_step_on_all(target: str) -> None:
    with tf.device(PS):
        taken = tf.FIFOQueue(2, tf.float32, shared_name="empty").dequeue()
    with tf.device(SECOND):
        y = taken * 2
    with tf.Session(target) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(y, options=tf.RunOptions(timeout_in_ms=300))


def test_what_is_fed_and_fetched_may_be_anywhere(target: str) -> None:
    with tf.device(PS):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        c = tf.constant([7.0, 8.0])
    with tf.device(SECOND):
        y = c + v
        z = y * 2
    with tf.Session(target) as session:
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run([v, c, y, z])[2:], [[8, 10], [16, 20]])
        np.testing.assert_array_equal(session.run([y, z], {y: [1.0, 1.0]})[1], [2, 2])
        np.testing.assert_array_equal(session.run(z, {v: [0.0, 0.0]}), [14, 16])
        handle = session.partial_run_setup([z], [y])
        np.testing.assert_array_equal(session.partial_run(handle, z, {y: [2.0, 3.0]}), [4, 6])
