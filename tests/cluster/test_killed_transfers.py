"""Large tensors in shared memory whose writer, or reader, is killed: nothing is left of them.

The tests start two processes, which accounts for their time.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster import shared_segments, wire_values

from .local_cluster import SERVE, free_ports

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")
pytestmark = pytest.mark.skipif(not shared_segments.is_possible(), reason="memfd is Linux's")

HERE, READER, WRITER = (f"/job:worker/task:{task}" for task in range(3))
SIZE = 1 << 20
FETCH = f"""
filters = ["{HERE}"]
with tf.device(filters[0]):
    fetched = tf.fill([{SIZE}], tf.placeholder_with_default(1.0, []))
target = "grpc://" + json.loads(sys.argv[1])["worker"][0]
session = tf.Session(target, config=tf.ConfigProto(device_filters=filters))
sys.stdin.readline()
while True:
    session.run(fetched)
"""


class Cluster(NamedTuple):
    """A server of this process, and processes that may be killed."""

    server: Any
    processes: Mapping[str, subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire_values, "_KEPT_OF_ENDED_S", 0.05)
        spec = {"worker": [f"localhost:{port}" for port in free_ports(3)]}
        server = tf.train.Server(spec, "worker", 0)
        programs = {READER: SERVE, WRITER: SERVE.replace("server.join()", FETCH)}
        processes = {
            name: subprocess.Popen(
                [sys.executable, "-c", program, json.dumps(spec), "worker", name[-1], "1"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for name, program in programs.items()
        }
        try:
            yield Cluster(server, processes)
        finally:
            for process in processes.values():
                process.kill()
                process.communicate()
            server.stop()


def until(is_so: Callable[[], Any]) -> None:
    limit = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.01)


def kill_when(process: subprocess.Popen[bytes], is_so: Callable[[], Any]) -> None:
    """Start a process that is ready, and kill it once the condition holds."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    until(is_so)
    process.kill()
    process.wait()


def check_that_nothing_is_left(cluster: Cluster) -> None:
    parcels = cluster.server._listener.parcels
    until(lambda: not parcels._parcels)
    parcels.segments.clear()
    gc.collect()
    sizes = []
    for file in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # others are closed meanwhile
            if "memfd:gpugraph" in os.readlink(file):
                sizes.append(file.stat().st_size)
    assert max(sizes, default=0) < SIZE  # probes are there


@pytest.mark.parametrize("killed", [READER, WRITER])
def test_who_is_at_one_end_is_killed(cluster: Cluster, killed: str) -> None:
    process = cluster.processes[killed]
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with tf.device(HERE if killed == READER else WRITER):
            sent = x + 1.0
        with tf.device(READER if killed == READER else HERE):
            total = tf.reduce_sum(sent)
        steps: list[float] = []
        fed = {x: np.zeros(SIZE, np.float32)}

        def is_in_a_step() -> bool:
            fetches_too = killed == READER or len(cluster.server.master._sessions) > 1
            return len(steps) > 4 and fetches_too

        killer = threading.Thread(target=kill_when, args=(process, is_in_a_step))
        config = tf.ConfigProto(device_filters=[killed])
        with tf.Session(cluster.server.target, config=config) as session:
            killer.start()
            with pytest.raises(tf.errors.UnavailableError):
                while True:
                    steps.append(session.run(total, fed))
            killer.join()
    assert set(steps) == {SIZE}
    check_that_nothing_is_left(cluster)
