"""Sessions that see many sets of shapes, and many cold processes.

    python benchmarks/many_shapes.py hot [--sets 8 100 1000] [--works mlp gru ...] [--warm 10]
    python benchmarks/many_shapes.py cold [--processes 100] [--programs chain ...]
    python benchmarks/many_shapes.py memory [--runs 100000] [--works mlp gru unique]

hot: the processor time of a set of shapes that runs often, after so many other sets, divided by
its time in a fresh session. The sessions alternate. The result is the median of the ratios.
Before, both run for `--warm` seconds, and wait until their code is compiled. cold: in each of so
many processes, each with an empty cache of compiled code, the microseconds of a run after
`--warm` seconds (2, unless given), of a chain of 1,000 scalar ops, of a small MLP and of a CNN;
printed are the median, the extremes, and how many are within 20 % of the median, by the clock and
by the processor. memory: the growth of the process over runs of varying shapes, and the arena
beside the bound of the largest run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from peers import wait_for_kernels
from varying_shapes import WORKS, resident_mib

import gpugraph as tf

SMALL = ("mlp", "gru", "bilstm", "unique", "masked", "epoch")

_BLOCK = 0.05
"""The seconds that a session runs before the other one runs."""


def _started(name: str) -> tuple[Any, Any, Callable[[Random], Any]]:
    """Return a session of a new graph in which a work's variables have values, its fetches, and the
    function that draws feeds.
    """
    with tf.Graph().as_default() as graph:
        np.random.seed(0)
        fetches, draw = WORKS[name](tf)
        start = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(start)
    return session, fetches, draw


def hot(name: str, sets: int, warm: float, seconds: float) -> tuple[float, float, float]:
    """Return the milliseconds of the processor for a run of a set of shapes after many others, and
    in a fresh session, and the median of their ratios.
    """
    random = Random(1)
    used, fetches, draw = _started(name)
    for _ in range(sets):
        used.run(fetches, draw(random))
    fresh, fresh_fetches, fresh_draw = _started(name)
    _copy_variables(used, fresh)
    feeds, fresh_feeds = draw(Random(7)), fresh_draw(Random(7))
    runs = [lambda: used.run(fetches, feeds), lambda: fresh.run(fresh_fetches, fresh_feeds)]
    for run in 3 * runs:  # the first blocks request code, and the next ones use it
        _block(run, warm / 6)
        wait_for_kernels()
    times: list[list[float]] = [[], []]
    end = perf_counter() + seconds
    while perf_counter() < end:
        first = len(times[0]) % 2  # the sessions take turns to be the first
        for place in (first, 1 - first):
            times[place].append(_block(runs[place], _BLOCK))
    ratios = [ours / others for ours, others in zip(*times)]
    return median(times[0]), median(times[1]), median(ratios)


def _block(run: Callable[[], Any], seconds: float) -> float:
    """Return the milliseconds of the processor for a run, over as many runs as fit in this time."""
    start, end, runs = process_time(), perf_counter() + seconds, 0
    while perf_counter() < end:
        run()
        runs += 1
    return 1e3 * (process_time() - start) / runs


def _copy_variables(source: Any, target: Any) -> None:
    """Give the variables of a session the values of another one. The time of a run depends on them:
    after many steps of Adam some moments are subnormal numbers, which processors add slowly.
    """
    with source.graph.as_default():
        values = source.run(tf.global_variables())
    with target.graph.as_default():
        for variable, value in zip(tf.global_variables(), values):
            variable.load(value, target)


def chain() -> tuple[Any, Any]:
    """Return the fetch and feed of a chain of 1,000 scalar ops."""
    x = y = tf.placeholder(tf.float32, [])
    for _ in range(500):
        y = y * 1.0001 + 0.001
    return y, {x: 1.0}


def small_mlp() -> tuple[Any, Any]:
    """Return the fetch and feed of a training step of a small MLP."""
    x = tf.placeholder(tf.float32, [32, 64])
    loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.dense(x, 64, tf.nn.relu), 10)))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return [train, loss], {x: np.ones((32, 64))}


def small_cnn() -> tuple[Any, Any]:
    """Return the fetch and feed of a training step of a small CNN."""
    x = tf.placeholder(tf.float32, [8, 28, 28, 1])
    h = tf.layers.max_pooling2d(tf.layers.conv2d(x, 16, 3, activation=tf.nn.relu), 2, 2)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.flatten(h), 10)))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return [train, loss], {x: np.ones((8, 28, 28, 1))}


PROGRAMS = {program.__name__: program for program in (chain, small_mlp, small_cnn)}


def after_start(name: str, warm: float) -> tuple[float, float]:
    """Return the microseconds of a run after so many seconds of runs in this process, by the clock
    and by the processor.
    """
    fetches, feeds = PROGRAMS[name]()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    end = perf_counter() + warm
    while perf_counter() < end:
        session.run(fetches, feeds)
    wall, processor = [], []
    for _ in range(20):
        start = perf_counter(), process_time()
        for _ in range(10):
            session.run(fetches, feeds)
        wall.append(perf_counter() - start[0])
        processor.append(process_time() - start[1])
    return 1e5 * min(wall), 1e5 * min(processor)


def cold(processes: int, programs: Sequence[str], warm: float) -> None:
    """Print how the times of cold processes differ."""
    for name in programs:
        times = []
        for _ in range(processes):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, "once", "--programs", name]
                command += ["--warm", str(warm)]
                environment = {**os.environ, "XDG_CACHE_HOME": folder}
                done = subprocess.run(
                    command, env=environment, check=True, capture_output=True, text=True
                )
            times.append(json.loads(done.stdout.splitlines()[-1]))
        for clock, values in zip(("wall", "processor"), zip(*times)):
            middle = median(values)
            near = sum(0.8 * middle <= value <= 1.2 * middle for value in values)
            print(
                f"{name:10} {clock}: median {middle:.0f} us, from {min(values):.0f} to "
                f"{max(values):.0f}; {near} of {processes} within 20 %",
                flush=True,
            )


def memory(name: str, runs: int) -> None:
    """Print the growth of memory over runs of varying shapes, and the arena beside its bound."""
    session, fetches, draw = _started(name)
    random = Random(1)
    sets = [draw(random) for _ in range(600)]
    sizes = []
    for number in range(runs):
        session.run(fetches, sets[random.randrange(len(sets))])
        if number in (runs // 10, runs // 2, runs - 1):
            sizes.append(resident_mib())
    largest = max(sets, key=lambda feeds: sum(np.size(value) for value in feeds.values()))
    session.run(fetches, largest)
    records = session.explain(fetches, largest).arenas
    arenas = ", ".join(f"{r.num_bytes / max(r.bound, 1):.3f}" for r in records.values())
    grown = ", ".join(f"{size:.1f}" for size in sizes)
    print(f"{name:10} MiB after a tenth, a half, all of {runs} runs: {grown}; arena: {arenas}")


def main() -> None:
    """Print the figures of one mode."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("mode", choices=["hot", "cold", "memory", "once"])
    parser.add_argument("--works", nargs="+", default=None, choices=list(WORKS))
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--sets", nargs="+", type=int, default=[8, 100, 1000])
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--warm", type=float)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--runs", type=int, default=100_000)
    options = parser.parse_args()
    if options.mode == "once":
        print(json.dumps(after_start(options.programs[0], options.warm or 2.0)))
    elif options.mode == "cold":
        cold(options.processes, options.programs, options.warm or 2.0)
    elif options.mode == "memory":
        for name in options.works or SMALL:
            memory(name, options.runs)
    else:
        for name in options.works or WORKS:
            for sets in options.sets:
                used, fresh, ratio = hot(name, sets, options.warm or 10.0, options.seconds)
                print(
                    f"{name:12} after {sets:5}: {used:.3f} ms, fresh {fresh:.3f}; "
                    f"median of ratios {ratio:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
