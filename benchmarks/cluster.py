"""Steps on servers in separate processes: gpugraph beside TensorFlow's v1 API, over loopback.

    PEERS="tensorflow=/path/to/python" python benchmarks/cluster.py [--rows ROW ...] [--check]

Each measurement starts a cluster of two tasks, `/job:w/task:0` and `/job:w/task:1`, each in a
separate process, and a session on the first. A server computes in one thread: one within an
operation and one between operations, so that two independent chains go one after
the other. That is measured, too: a server that uses more than one processor in the rows that
compute ends the row. A row is a function of the library that gives a step of such a session
(`ROWS`). How well two processes share work is the ratio of the two rows that compute. See
benchmarks/peers.py for the search for peers and the measurements.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from peers import Rows, Step, main, tensorflow

SERVE = """
import importlib, json, os, sys, threading
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
tf = importlib.import_module(sys.argv[1])
config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
server = tf.train.Server(json.loads(sys.argv[2]), "w", int(sys.argv[3]), config=config)
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
"""
"""A server, until the process that has started it ends."""

LIMITS = ("GPUGRAPH_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
MODULES = {"gpugraph": "gpugraph", "tensorflow": "tensorflow.compat.v1"}
TASKS = ("/job:w/task:0", "/job:w/task:1")
MEGABYTE, SIZE, PRODUCTS = 1_000_000, 512, 8
MOST_PROCESSORS = 1.15
"""Seconds of processor time of one server in a second: of its thread, and of gRPC's."""

COUNTED_STEPS = 12
TINY = 8
"""The size of the work that a test has time for."""


def own() -> Any:
    return importlib.import_module("gpugraph")


def start_cluster(column: str) -> tuple[str, list[int]]:
    """Start the two servers, and return the target of the first, and the ids of their processes."""
    listeners = [socket.socket() for _ in TASKS]
    for listener in listeners:
        listener.bind(("localhost", 0))
    spec = {"w": [f"localhost:{listener.getsockname()[1]}" for listener in listeners]}
    for listener in listeners:
        listener.close()
    env = {**os.environ, **dict.fromkeys(LIMITS, "1"), "CUDA_VISIBLE_DEVICES": ""}
    servers = [
        subprocess.Popen(
            [sys.executable, "-c", SERVE, MODULES[column], json.dumps(spec), str(index)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
        )
        for index in range(len(TASKS))
    ]
    for server in servers:
        atexit.register(server.kill)
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
    return f"grpc://{spec['w'][0]}", [server.pid for server in servers]


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process's threads so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_threads(step: Step, servers: Sequence[int]) -> None:
    """RuntimeError where a server computes in more than one thread."""
    for _ in range(COUNTED_STEPS):  # kernels are compiled meanwhile
        step()
    before, start = [processor_seconds(pid) for pid in servers], time.perf_counter()
    for _ in range(COUNTED_STEPS):
        step()
    seconds = time.perf_counter() - start
    used = [(processor_seconds(pid) - old) / seconds for pid, old in zip(servers, before)]
    if max(used) > MOST_PROCESSORS:
        raise RuntimeError(f"The servers use {used} processors, not one each")


# -- rows: fetches built with a library, and run on the first server


def empty_step(tf: Any) -> Any:
    """Nothing, on the server that the session is of."""
    with tf.device(TASKS[0]):
        return tf.no_op()


def step_of_another_task(tf: Any) -> Any:
    """Nothing, on the other server."""
    with tf.device(TASKS[1]):
        return tf.no_op()


def crossing_step(tf: Any) -> Any:
    """Return a tensor that goes to the other process and back, twice."""
    x = tf.Variable(np.ones(16, np.float32))
    for index in (1, 0, 1, 0):
        with tf.device(TASKS[index]):
            x = x + 1.0
    return x


def large_fetch(tf: Any, size: int) -> Any:
    """Return a tensor of `size` bytes that the client gets."""
    with tf.device(TASKS[0]):
        return tf.Variable(np.ones(size // 4, np.float32)) + 1.0


def large_edge(tf: Any, size: int) -> Any:
    """Return a tensor of `size` bytes that goes from one process to the other."""
    with tf.device(TASKS[1]):
        x = tf.Variable(np.ones(size // 4, np.float32)) + 1.0
    with tf.device(TASKS[0]):
        return tf.reduce_sum(x)


def computing_step(tf: Any, size: int, tasks: int) -> Any:
    """Two chains of products of matrices, on one task or on two."""
    sums = []
    for index in range(2):
        with tf.device(TASKS[index % tasks]):
            x = factor = tf.Variable(np.eye(size, dtype=np.float32))
            for _ in range(PRODUCTS):
                x = tf.matmul(x, factor)
            sums.append(tf.reduce_sum(x))
    with tf.device(TASKS[0]):
        return sums[0] + sums[1]


ROWS: dict[str, Callable[[Any, int], Any]] = {
    "an empty step": lambda tf, scale: empty_step(tf),
    "an empty step of the other task": lambda tf, scale: step_of_another_task(tf),
    "4 cross edges": lambda tf, scale: crossing_step(tf),
    "a fetch of 100 MB": lambda tf, scale: large_fetch(tf, 100 * MEGABYTE // scale),
    "an edge of 100 MB": lambda tf, scale: large_edge(tf, 100 * MEGABYTE // scale),
    "products, on one process": lambda tf, scale: computing_step(tf, SIZE // scale, 1),
    "products, on two processes": lambda tf, scale: computing_step(tf, SIZE // scale, 2),
}
"""The builder of each row's fetch, from a library and a number that sizes are divided by."""

COMPUTING = tuple(build for row, build in ROWS.items() if row.startswith("products"))


def step_on_servers(
    library: Callable[[], Any], column: str, build: Callable[[Any, int], Any], scale: int
) -> Step:
    """Return a step of a session on a new cluster."""
    tf = library()
    target, servers = start_cluster(column)
    graph = tf.Graph()
    with graph.as_default():
        with tf.device(TASKS[0]):
            fetch = build(tf, scale)
        initialize = tf.global_variables_initializer()
    session = tf.Session(target, graph=graph)
    session.run(initialize)
    step: Step = session.make_callable(fetch)
    if build in COMPUTING and scale == 1 and Path("/proc/self/stat").exists():
        check_threads(step, servers)
    return step


def rows(scale: int = 1) -> Rows:
    """Return all rows; `scale` divides sizes."""
    return {
        name: {
            "gpugraph": partial(step_on_servers, own, "gpugraph", build, scale),
            "tensorflow": partial(step_on_servers, tensorflow, "tensorflow", build, scale),
        }
        for name, build in ROWS.items()
    }


if __name__ == "__main__":
    main(rows(), __file__)
