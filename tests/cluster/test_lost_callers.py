"""Callers that are killed or interrupted while their step waits: the step ends, and takes nothing.

Each case starts a separate process, which accounts for its time.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

import gpugraph as tf

from .local_cluster import free_ports

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

WAIT = """
import sys
import gpugraph as tf
ps, worker, is_master = sys.argv[1:]
target = "grpc://" + ps
if is_master == "True":
    server = tf.train.Server({"ps": [ps], "worker": [worker]}, "worker", 0)
    target = server.target
with tf.device("/job:ps"):
    queue = tf.FIFOQueue(3, [tf.float32], [[]], shared_name="queue")
    taken = queue.dequeue()
with tf.Session(target, config=tf.ConfigProto(device_filters=["/job:ps"])) as session:
    session.run(taken)
"""


def wait_until(is_so: Callable[[], Any]) -> None:
    limit = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.parametrize(
    "number, is_master", [(signal.SIGKILL, False), (signal.SIGINT, False), (signal.SIGKILL, True)]
)
def test_a_step_that_nobody_waits_for_takes_no_element(
    number: int, is_master: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ps, worker = (f"localhost:{port}" for port in free_ports(2))
    server: Any = tf.train.Server({"ps": [ps], "worker": [worker]}, "ps", 0)
    running: list[int] = []
    run = server._worker._run

    def noted_run(*arguments: Any) -> Any:
        running.append(1)
        try:
            return run(*arguments)
        finally:
            running.pop()

    monkeypatch.setattr(server._worker, "_run", noted_run)
    arguments = [sys.executable, "-c", WAIT, ps, worker, str(is_master)]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: running)
        time.sleep(0.1)  # so that it waits, most of the time
        process.send_signal(number)
        _, text = process.communicate(timeout=60)
        if number == signal.SIGINT:
            assert text.rstrip().endswith(b"KeyboardInterrupt"), text.decode()
        wait_until(lambda: not running)
        with tf.Graph().as_default():
            with tf.device("/job:ps"):
                queue = tf.FIFOQueue(3, [tf.float32], [[]], shared_name="queue")
            add, size = queue.enqueue(1.0), queue.size()
            filters = tf.ConfigProto(device_filters=["/job:ps"])
            with tf.Session(server.target, config=filters) as session:
                session.run(add)
                assert session.run(size) == 1
    finally:
        process.kill()
        process.wait()
        server.stop()
