"""Servers that are killed: errors within a time, and training that goes on from its checkpoint."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .local_cluster import free_ports

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

SERVE = """
import json, sys
import gpugraph as tf
server = tf.train.Server(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
print("ready", flush=True)
server.join()
"""
STEPS = 30
PS, WORKER = "/job:ps/task:0", "/job:worker/task:1"


class Cluster:
    """A chief in this process, and a parameter server and a worker in processes of their own."""

    def __init__(self) -> None:
        ports = free_ports(3)
        self.spec = {
            "worker": [f"localhost:{port}" for port in ports[:2]],
            "ps": [f"localhost:{ports[2]}"],
        }
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.chief = tf.train.Server(self.spec, "worker", 0)
        for task in ("ps 0", "worker 1"):
            self.start(task)
        for task in self.processes:
            self.wait_for(task)

    def start(self, task: str) -> None:
        command = [sys.executable, "-c", SERVE, json.dumps(self.spec), *task.split()]
        self.processes[task] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def wait_for(self, task: str) -> None:
        output = self.processes[task].stdout
        assert output is not None
        assert output.readline() == "ready\n"

    def kill(self, task: str) -> None:
        self.processes[task].kill()
        self.processes[task].communicate()

    def stop(self) -> None:
        for task in self.processes:
            self.kill(task)
        self.chief.stop()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.stop()


def train(cluster: Cluster, folder: Path, killed: str, moment: int) -> tuple[int, Any, int]:
    """Train, and kill a process before step `moment`: the last step, the weights, sessions."""
    starts = 0

    class Starts(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            nonlocal starts
            starts += 1

    def restart() -> None:
        cluster.kill(killed)
        cluster.start(killed)

    with tf.Graph().as_default():
        setter = tf.train.replica_device_setter(cluster=cluster.spec, worker_device=WORKER)
        with tf.device(setter):
            x = tf.placeholder(tf.float32, [None, 2])
            w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
            step = tf.train.get_or_create_global_step()
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - tf.reduce_sum(x, 1, keepdims=True)))
            op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        hooks = [tf.train.StopAtStepHook(last_step=STEPS), Starts()]
        draw, count, is_killed = np.random.RandomState(0), 0, False
        with tf.train.MonitoredTrainingSession(
            cluster.chief.target,
            checkpoint_dir=str(folder),
            hooks=hooks,
            save_checkpoint_secs=None,
            save_checkpoint_steps=5,
            save_summaries_steps=None,
            log_step_count_steps=None,
        ) as session:
            while not session.should_stop():
                if count == moment and not is_killed:
                    is_killed = True
                    restart()
                count = session.run([step, op], {x: draw.standard_normal((16, 2))})[0]
    reader = tf.train.load_checkpoint(str(folder))
    return int(reader.get_tensor("global_step")), reader.get_tensor("w"), starts


def check(cluster: Cluster, folder: Path, killed: str, moment: int) -> None:
    last, weights, starts = train(cluster, folder, killed, moment)
    assert (last, starts) == (STEPS, 2)
    np.testing.assert_allclose(weights, [[1.0], [1.0]], atol=0.1)


@pytest.mark.parametrize("killed", ["ps 0", "worker 1"])
def test_training_goes_on(cluster: Cluster, tmp_path: Path, killed: str) -> None:
    check(cluster, tmp_path, killed, 12)
    cluster.wait_for(killed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("killed", ["ps 0", "worker 1"])
@pytest.mark.parametrize("moment", range(1, 30, 3))
def test_training_goes_on_from_any_moment(
    cluster: Cluster, tmp_path: Path, killed: str, moment: int
) -> None:
    check(cluster, tmp_path, killed, moment)
    cluster.wait_for(killed)


def test_a_server_that_dies_in_a_step(cluster: Cluster) -> None:
    with tf.Graph().as_default():
        with tf.device(PS):
            queue = tf.FIFOQueue(2, tf.float32, shapes=[[]], shared_name="never")
            waits = queue.dequeue()
        with tf.device(WORKER):
            doubled = waits * 2
        with tf.device("/job:worker/task:0"):
            result = doubled + 1
        near = tf.constant(1.0) + 1
        with tf.Session(cluster.chief.target) as session:
            assert session.run(near) == 2
            timer = threading.Timer(1.0, cluster.kill, ["ps 0"])
            timer.start()
            started = time.monotonic()
            with pytest.raises(
                (tf.errors.UnavailableError, tf.errors.AbortedError), match=cluster.spec["ps"][0]
            ):
                session.run(result)
            assert time.monotonic() - started < 15
            timer.join()
            assert session.run(near) == 2  # all else goes on
            cluster.start("ps 0")
            cluster.wait_for("ps 0")
            deadline = time.monotonic() + 20
            while True:
                with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)) as info:
                    session.run(result)
                if "restarted" in info.value.message:
                    break
                assert time.monotonic() < deadline
