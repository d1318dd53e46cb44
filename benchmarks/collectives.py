"""Collectives between processes of this machine: gpugraph beside TensorFlow's v1 API.

    python benchmarks/collectives.py [--tensorflow PYTHON] [--rows ROW ...] [--rounds N]

A row is a step of a few processes, each of which is a task with its own server and session.
All processes of a row exist at once and run alternately: the libraries, and gpugraph with and
without shared memory (as between machines), buckets, overlap. Printed are medians and minima of
the slowest member's steps, in milliseconds. PYTHON has TensorFlow; without it gpugraph runs alone.

    sum        25 million floats are summed over two processes, and stay there
    small      a thousand floats
    many       a hundred tensors of 10,000 floats
    training   a step of a network of 4 MB in five layers, whose gradients are averaged; `alone`
               without that, `after` once all gradients are computed
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

STEPS = 5
"""Of each turn."""


class Variant(NamedTuple):
    """The library and settings that run a row."""

    library: str
    way: str = ""


ROWS: dict[str, tuple[int, Sequence[Variant]]] = {
    "sum": (2, (Variant("gpugraph"), Variant("gpugraph", "grpc"), Variant("tensorflow"))),
    "small": (2, (Variant("gpugraph"), Variant("tensorflow"))),
    "many": (2, (Variant("gpugraph"), Variant("gpugraph", "buckets"), Variant("tensorflow"))),
    "training": (
        2,
        (
            Variant("gpugraph", "alone"),
            Variant("gpugraph", "after"),
            Variant("gpugraph", "buckets"),
        ),
    ),
}
"""The number of processes, and the variants."""


# -- a member


def library(name: str) -> tuple[Any, Any]:
    """Return a library and its module of collectives."""
    if name == "gpugraph":
        ops = importlib.import_module("gpugraph.ops.collectives.collective_ops")
        return importlib.import_module("gpugraph"), ops
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    tf = importlib.import_module("tensorflow").compat.v1
    tf.disable_v2_behavior()
    return tf, importlib.import_module("tensorflow.python.ops.collective_ops")


def sums(tf: Any, ops: Any, task: int, size: int, sizes: Sequence[int]) -> Any:
    """Return the op that sums variables of these sizes over all tasks."""
    results = []
    for number, count in enumerate(sizes):
        start = tf.zeros([count]) + float(task + 1)
        variable = tf.get_variable(f"task{task}_{number}", initializer=start)
        value = variable.read_value()
        results.append(ops.all_reduce(value, size, 1, number + 1, "Add", "Id"))
    return tf.group(*[result.op for result in results]), results[0][:2]


def training(tf: Any, ops: Any, task: int, size: int, way: str) -> Any:
    """Return a step of a small network on the task's data."""
    with tf.variable_scope(f"task{task}"):
        hidden = tf.get_variable("x", initializer=tf.random_normal([256, 448], seed=task))
        for number in range(5):
            w = tf.get_variable(f"w{number}", initializer=tf.random_normal([448, 448]) * 0.05)
            hidden = tf.nn.relu(tf.matmul(hidden, w))
    loss = tf.reduce_mean(tf.square(hidden))
    weights = [v for v in tf.global_variables() if "/w" in v.name]
    gradients = tf.gradients(loss, weights)
    if way == "after":
        with tf.control_dependencies(gradients):
            gradients = [tf.identity(gradient) for gradient in gradients]
    if way != "alone":
        gradients = [
            ops.all_reduce(gradient, size, 1, number, "Add", "Div")
            for number, gradient in enumerate(gradients)
        ]
    pairs = list(zip(gradients, weights))
    return tf.train.GradientDescentOptimizer(1e-3).apply_gradients(pairs), loss


def build(row: str, variant: Variant, task: int, size: int) -> tuple[Any, Any, Any]:
    tf, ops = library(variant.library)
    counts = {"sum": [25_000_000], "small": [1000], "many": [10_000] * 100}
    if row == "training":
        return tf, *training(tf, ops, task, size, variant.way)
    return tf, *sums(tf, ops, task, size, counts[row])


def member(row: str, variant: Variant, task: int, ports: Sequence[str]) -> None:
    """Run a member of a row: one turn for each line that comes."""
    if variant.way == "grpc":
        segments = importlib.import_module("gpugraph.cluster.shared_segments")
        segments.is_possible = lambda: False
    tf, _ = library(variant.library)
    cluster = tf.train.ClusterSpec({"worker": [f"localhost:{port}" for port in ports]})
    config = tf.ConfigProto()
    config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
    server = tf.train.Server(cluster, "worker", task, config=config)
    if variant.library == "gpugraph":
        config.device_filters.append(f"/job:worker/task:{task}")
    if variant.way == "buckets":
        config.graph_options.rewrite_options.scoped_allocator_optimization = 1
    with tf.device(f"/job:worker/task:{task}/cpu:0"):
        _, op, value = build(row, variant, task, len(ports))
    own = [v for v in tf.global_variables() if v.name.startswith(f"task{task}")]
    with tf.Session(server.target, config=config) as session:
        session.run([v.initializer for v in own])
        session.run([op, value])
        answer("ready")
        for _ in sys.stdin:
            times, begun = [], time.process_time()
            for _ in range(STEPS):
                start = time.perf_counter()
                session.run(op)
                times.append(time.perf_counter() - start)
            answer(json.dumps([times, (time.process_time() - begun) / STEPS]))
    os._exit(0)


def answer(text: str) -> None:
    print(text, flush=True)


# -- all members


def free_ports(count: int) -> list[str]:
    listeners = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [str(listener.getsockname()[1]) for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class Members:
    """The processes of a variant.

    times: of each step, that of the slowest member. processor_s: for each round, the processor time
    of a member's threads per step.
    """

    def __init__(self, python: str, row: str, variant: Variant, size: int) -> None:
        ports = ",".join(free_ports(size))
        command = [python, __file__, "--member", row, *variant, ports]
        self.processes = [
            subprocess.Popen(
                [*command, str(task)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for task in range(size)
        ]
        self.times: list[float] = []
        self.processor_s: list[float] = []

    def lines(self) -> list[str]:
        """Return the next line of each member's output."""
        texts = []
        for process in self.processes:
            assert process.stdout is not None
            text = process.stdout.readline()
            if not text:
                raise RuntimeError(f"A member has ended: {process.args}")
            texts.append(text)
        return texts

    def turn(self) -> None:
        """Some steps."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        times, computed = zip(*map(json.loads, self.lines()))
        self.times += map(max, zip(*times))
        self.processor_s.append(statistics.mean(computed))

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()  # closes its pipes


def measure(
    row: str, pythons: dict[str, str], rounds: int, size: int = 0, only: str = ""
) -> dict[str, Members]:
    """Run the steps of each variant of a row, or of one, and return the members."""
    count, variants = ROWS[row]
    variants = [
        variant
        for variant in variants
        if variant.library in pythons and only in ("", " ".join(filter(None, variant)))
    ]
    running: dict[str, Members] = {}
    try:
        for variant in variants:
            name = " ".join(filter(None, variant))
            running[name] = Members(pythons[variant.library], row, variant, size or count)
            running[name].lines()
        for _ in range(rounds):
            for members in running.values():
                members.turn()
    finally:
        for members in running.values():
            members.end()
    return running


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tensorflow", help="the Python that has TensorFlow")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args(arguments)
    pythons = {"gpugraph": sys.executable}
    if options.tensorflow:
        pythons["tensorflow"] = options.tensorflow
    for row in options.rows:
        for name, members in measure(row, pythons, options.rounds).items():
            medians = statistics.median(members.times) * 1e3, min(members.times) * 1e3
            print(f"{row:10} {name:18} {medians[0]:9.2f} ms  least {medians[1]:9.2f}", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    if sys.argv[1:2] == ["--member"]:
        row, name, way, ports, task = sys.argv[2:]
        member(row, Variant(name, way), int(task), ports.split(","))
    else:
        main()
