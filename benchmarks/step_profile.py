"""The time of each step of a training step: the small network of cpu.py, and a transformer block.

    python benchmarks/step_profile.py [--runs N]

Each part of the step is timed by a full trace (`RunMetadata`), which adds about 0.1 us to each; the
rest of `Session.run` is that of feeds, fetches and the call itself. Minimum times, in microseconds,
of one core (GPUGRAPH_THREADS=1).

Beside each stands the machine's minimum: products at the rate of one of 1,024 x 1,024 x
1,024, which is measured, and for all else a copy of as many bytes as it reads and writes.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from math import prod
from typing import Any, NamedTuple

import cpu_graph
import numpy as np
from cpu_numbers import Transformer

import gpugraph as tf

STEPS = 2_000
PEAK_SIZE = 1024
PRODUCTS = ("MatMul", "_FusedMatMul", "BatchMatMul", "BatchMatMulV2", "_FusedBatchMatMulV2")

Fetches = tuple[list[Any], dict[Any, Any]]


class Part(NamedTuple):
    """A step of a run: its time, and the lower bound of it."""

    label: str
    time_us: float
    floating_point_operations: int
    moved_bytes: int

    def least_us(self, gigaflops: float) -> float:
        if self.floating_point_operations:
            return self.floating_point_operations / gigaflops / 1e3
        return copy_us(self.moved_bytes)


def network() -> Fetches:
    """Fetches and feeds of an SGD step of 64-128-10, batch 32."""
    random = np.random.RandomState(0)
    x, labels = tf.placeholder(tf.float32, [32, 64]), tf.placeholder(tf.int32, [32])
    y = x
    for units in (128, 10):
        kernel = tf.Variable((random.randn(int(y.shape[1]), units) * 0.1).astype(np.float32))
        y = tf.matmul(y, kernel) + tf.Variable(tf.zeros([units]))
        y = tf.nn.relu(y) if units == 128 else y
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y)
    loss = tf.reduce_mean(losses)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    feeds = {x: random.randn(32, 64).astype(np.float32), labels: random.randint(0, 10, 32)}
    return [train, loss], {key: np.asarray(v, key.dtype.as_numpy_dtype) for key, v in feeds.items()}


def block() -> Fetches:
    """Fetches and feeds of an Adam step of one transformer block, 4 x 64 x 128."""
    work = Transformer(1, 4, 64, 128, 4)
    shape = [work.batch, work.tokens, work.width]
    x, target = tf.placeholder(tf.float32, shape), tf.placeholder(tf.float32, shape)
    weights = {name: tf.Variable(array) for name, array in work.weights()[0].items()}
    y = cpu_graph.block(tf, tf.reshape(x, [-1, work.width]), weights, work)
    loss = tf.reduce_mean(tf.square(tf.reshape(y, shape) - target))
    train = tf.train.AdamOptimizer(work.rate).minimize(loss)
    return [train, loss], {x: work.x(), target: work.target()}


def least_us(call: Any, runs: int) -> float:
    """Return the minimum time of a call."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def peak_gigaflops() -> float:
    """Return the rate of a large product."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable(tf.ones([PEAK_SIZE, PEAK_SIZE]))
        product = tf.matmul(x, x).op
        session.run(tf.global_variables_initializer())
        return 2 * PEAK_SIZE**3 / least_us(lambda: session.run(product), 30) / 1e3


def copy_us(moved_bytes: int) -> float:
    """Return the time of a copy that reads and writes `moved_bytes` in all."""
    source = np.zeros(max(moved_bytes // 8, 1), np.float32)
    target = np.empty_like(source)
    return least_us(lambda: np.copyto(target, source), 50)


def parts(session: Any, fetches: Any, feeds: Any, runs: int) -> list[Part]:
    """Return the steps of a run, each with its minimum time, except for those that pass a tensor
    on.
    """
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    times_us: dict[str, float] = {}
    for _ in range(runs):
        metadata = tf.RunMetadata()
        session.run(fetches, feeds, options=options, run_metadata=metadata)
        steps = [step for device in metadata.step_stats.dev_stats for step in device.node_stats]
        for step in steps:
            time_us = step.all_end_rel_nanos / 1000
            times_us[step.timeline_label] = min(times_us.get(step.timeline_label, 1e9), time_us)
    shapes = {
        (step.node_name, output.slot): [dim.size for dim in output.tensor_description.shape.dim]
        for step in steps
        for output in step.output
    }
    steps = [step for step in steps if "= Identity" not in step.timeline_label]
    return [
        Part(step.timeline_label, times_us[step.timeline_label], *amounts(step, shapes))
        for step in steps
    ]


def amounts(step: Any, shapes: dict[tuple[str, int], list[int]]) -> tuple[int, int]:
    """Return the floating-point operations of products, and the bytes that a step reads and
    writes.
    """
    kind, inputs = re.match(r".*? = (\w+)\((.*?)\)", step.timeline_label).groups()  # type: ignore[union-attr]
    reads = [shape_of(name, shapes) for name in inputs.split(", ") if name[:1] not in ("", "^")]
    writes = [shapes[step.node_name, output.slot] for output in step.output]
    moved_bytes = 4 * sum(map(prod, (*reads, *writes)))
    if kind in PRODUCTS:
        return 2 * writes[0][-1] * prod(reads[0]), moved_bytes
    if kind == "_FusedAttention":
        return 4 * prod(reads[0]) * reads[1][-2], moved_bytes
    return 0, moved_bytes


def shape_of(name: str, shapes: dict[tuple[str, int], list[int]]) -> list[int]:
    """Return the shape of a step's input; none where the client's graph has no such tensor."""
    name, _, slot = re.sub(r"^_arg_(.*)_\d+_\d+$", r"\1", name).partition(":")
    if (name, int(slot or 0)) in shapes:
        return shapes[name, int(slot or 0)]
    try:
        tensor = tf.get_default_graph().get_tensor_by_name(f"{name}:{slot or 0}")
    except KeyError:
        return [0]
    return [0 if size is None else size for size in tensor.shape.as_list()]


def profile(name: str, build: Any, runs: int, gigaflops: float) -> None:
    """Print the profile of a network."""
    with tf.Graph().as_default(), tf.Session() as session:
        fetches, feeds = build()
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds)
        total = least_us(lambda: session.run(fetches, feeds), runs)
        steps = parts(session, fetches, feeds, max(runs // 10, 1))
    print(f"{name}\n{'us':>9}{'least':>9}")
    for step in steps:
        print(f"{step.time_us:9.2f}{step.least_us(gigaflops):9.2f}  {step.label[:100]}")
    for what, is_product in (("products", True), ("all else", False)):
        some = [step for step in steps if bool(step.floating_point_operations) is is_product]
        spent, least = sum(s.time_us for s in some), sum(s.least_us(gigaflops) for s in some)
        print(f"{spent:9.2f}{least:9.2f}  {what}: {100 * least / spent:.0f} % of the machine's")
    print(f"{total:9.2f}           Session.run\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=STEPS)
    chosen = parser.parse_args()
    os.environ.setdefault("GPUGRAPH_NATIVE", "wait")
    os.environ.setdefault("GPUGRAPH_THREADS", "1")
    gigaflops = peak_gigaflops()
    print(f"products of {PEAK_SIZE}: {gigaflops:.0f} GFLOP/s")
    profile("MLP 64-128-10, batch 32, SGD step", network, chosen.runs, gigaflops)
    profile("transformer block 4 x 64 x 128, Adam step", block, chosen.runs // 10, gigaflops)


if __name__ == "__main__":
    main()
