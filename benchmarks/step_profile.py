"""The time of each step of a training step: the small network of cpu.py.

    python benchmarks/step_profile.py [--runs N]

Each part of the step is timed by a full trace (`RunMetadata`), which adds about 0.1 us to each; the
rest of `Session.run` is the time of feeds, fetches and the call itself. Medians, in microseconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

import numpy as np

import gpugraph as tf

STEPS = 2_000


def network() -> tuple[list[Any], dict[Any, Any]]:
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


def whole(session: Any, fetches: Any, feeds: Any, runs: int) -> float:
    """The median time of a run."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(fetches, feeds)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def parts(session: Any, fetches: Any, feeds: Any, runs: int) -> dict[str, float]:
    """The median time of each step of a run."""
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    times_us: dict[str, list[float]] = {}
    for _ in range(runs):
        metadata = tf.RunMetadata()
        session.run(fetches, feeds, options=options, run_metadata=metadata)
        for step in [s for device in metadata.step_stats.dev_stats for s in device.node_stats]:
            times_us.setdefault(step.timeline_label, []).append(step.all_end_rel_nanos / 1000)
    return {label: statistics.median(times) for label, times in times_us.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=STEPS)
    chosen = parser.parse_args()
    os.environ.setdefault("GPUGRAPH_NATIVE", "wait")
    fetches, feeds = network()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds)
        total = whole(session, fetches, feeds, chosen.runs)
        times = parts(session, fetches, feeds, max(chosen.runs // 10, 1))
    steps = {label: time_us for label, time_us in times.items() if "= Identity" not in label}
    for label, time_us in steps.items():
        print(f"{time_us:8.2f}  {label}")
    print(f"{sum(steps.values()):8.2f}  all steps, traced")
    print(f"{total:8.2f}  Session.run")


if __name__ == "__main__":
    main()
