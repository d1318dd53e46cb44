"""Servers as actors of Ray: placed, told of each other, started anew. Skipped without Ray."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster import RayCluster, RayTask, all_reduce_gradients, ray_cluster

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster({"ps": 1, "worker": 2}, wait_s=100) as cluster:
        yield cluster


def test_sessions_of_the_program_and_of_actors_share_variables(cluster: RayCluster) -> None:
    def count(task: RayTask, times: int) -> str:
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("v", initializer=0.0)
        with tf.Session(task.target) as session:
            for number in range(times):
                session.run(tf.assign_add(v, 1.0))
                task.report(step=number + 1)
        return task.device

    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("v", initializer=0.0)
        seen: list[Any] = []
        with tf.Session(cluster.target("worker", 1)) as session:
            session.run(v.initializer)
            tasks = cluster.run(count, 10, on_progress=seen.append)
            assert session.run(v) == 20
            assert len(session.list_devices()) == 3
    assert tasks == ["/job:worker/task:0", "/job:worker/task:1"]
    assert seen
    deadline = time.monotonic() + 20
    deadline = time.monotonic() + 20
    for index in range(2):  # the reports of the last steps may be in transit
        while cluster.progress()["worker", index].get("step") != 10:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert cluster.targets["ps"] == [cluster.target("ps")]
    assert cluster.cluster_spec.num_tasks("worker") == 2


def test_actors_reduce_large_gradients(cluster: RayCluster) -> None:
    def train(task: RayTask) -> Any:
        with tf.device(f"{task.device}/cpu:0"):
            w = tf.get_variable(f"w{task.index}", initializer=tf.zeros([300_000]))
            gradients = tf.gradients(tf.reduce_sum(w * (task.index + 1.0)), [w])
            ((mean, _),) = all_reduce_gradients(zip(gradients, [w]), 2)
        with tf.Session(
            task.target, config=tf.ConfigProto(device_filters=[task.device])
        ) as session:
            session.run(w.initializer)
            return session.run(mean)

    for mean in cluster.run(train):
        np.testing.assert_array_equal(mean, np.full(300_000, 1.5, np.float32))


def test_a_process_that_dies_is_started_anew_with_its_server(cluster: RayCluster) -> None:
    before = cluster.processes()["worker", 1]
    os.kill(before, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while not cluster.restarts["worker", 1] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert cluster.restarts == {("ps", 0): 0, ("worker", 0): 0, ("worker", 1): 1}
    assert cluster.processes()["worker", 1] != before
    with tf.Graph().as_default(), tf.Session(cluster.target("worker", 1)) as session:
        with tf.device("/job:worker/task:1"):
            assert session.run(tf.constant(2.0) * 3) == 6


def test_a_function_whose_process_dies_is_called_anew(cluster: RayCluster, tmp_path: Any) -> None:
    def work(task: RayTask, path: str) -> int:
        with open(path, "a") as file:
            file.write("called\n")
        with open(path) as file:
            count = len(file.readlines())
        if count == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return count

    assert cluster.run(work, str(tmp_path / "calls"), job="ps") == [2]


def test_what_a_function_raises_is_raised(cluster: RayCluster) -> None:
    def work(task: RayTask) -> None:
        raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        cluster.run(work)


def test_what_is_refused(cluster: RayCluster) -> None:
    for jobs, resources in (({}, None), ({"ps": 0}, None), ({"ps": 1}, {"worker": {"CPU": 1}})):
        with pytest.raises(tf.errors.InvalidArgumentError, match="A cluster has jobs"):
            ray_cluster(jobs, resources)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no job 'chief'"):
        cluster.run(print, job="chief")
    with pytest.raises(tf.errors.UnavailableError, match="Ray found no place"):
        ray_cluster({"ps": 1}, {"ps": {"GPU": 64}}, wait_s=1)


@pytest.mark.parametrize("name", ["MultiWorkerMirroredStrategy", "ParameterServerStrategy"])
def test_strategies_train_on_actors(cluster: RayCluster, name: str) -> None:
    def train(task: RayTask, name: str) -> list[float]:
        spec = tf.train.ClusterSpec({**task.cluster.as_dict()})
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            spec, task_type=task.job, task_id=task.index
        )
        strategy = getattr(tf.distribute.experimental, name)(cluster_resolver=resolver)
        with strategy.scope():
            step = tf.train.get_or_create_global_step()

            def fn() -> Any:
                v = tf.get_variable(name, initializer=tf.constant([4.0, 2.0]))
                loss = tf.reduce_sum(tf.square(v)) / strategy.num_replicas_in_sync
                operation = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
                with tf.control_dependencies([operation]):
                    return tf.identity(loss)

            total = strategy.reduce("SUM", strategy.experimental_run_v2(fn), axis=None)
            config = strategy.update_config_proto(tf.ConfigProto())
            with tf.Session(task.target, config=config) as session:
                if strategy.extended.experimental_should_init:
                    session.run(tf.global_variables_initializer())
                while len(session.run(tf.report_uninitialized_variables())):
                    time.sleep(0.05)
                return [float(session.run(total)) for _ in range(3)]

    results = cluster.run(train, name)
    if name == "MultiWorkerMirroredStrategy":
        for losses in results:
            np.testing.assert_allclose(losses, [20.0, 12.8, 8.192], 1e-5)
    else:
        assert all(losses[-1] < 20 for losses in results)
