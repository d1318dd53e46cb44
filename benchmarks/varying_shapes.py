"""Shapes that vary from run to run: gpugraph beside TensorFlow's v1 API.

    python benchmarks/varying_shapes.py [--works WORK ...] [--seconds 20] [--tensorflow PYTHON]
                                        [--torch PYTHON]

Each work trains a small network. The sizes that vary are drawn at random for each run from 600 sets
of feeds, of equal shapes for all packages; each has a process. Printed are the mean milliseconds of
a run in the second half of the time, and of the processor's time; the same in a new session for one
set of shapes of the mean size alone, with as many sets of values; the median of the first runs of
sets of shapes; and the growth of the process's memory. --tensorflow is a Python with TensorFlow 2
(`TF_USE_LEGACY_KERAS=1` is set). --torch is a Python with PyTorch, which runs the works of
varying_torch.py eagerly, and compiled with `dynamic=True`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

import numpy as np
import varying_torch

Work = tuple[list[Any], Callable[[Random], dict[Any, Any]]]
"""The fetches of a run, and a function that draws its feeds."""


def _weights(tf: Any, name: str, *shape: int, scale: float = 0.05) -> Any:
    values = np.random.RandomState(prod(shape)).randn(*shape) * scale
    return tf.get_variable(name, initializer=values.astype(np.float32))


def _uniform(*shape: int) -> Any:
    return np.random.rand(*shape).astype(np.float32)


def _cell(tf: Any, kind: str, units: int) -> Any:
    if hasattr(tf.nn.rnn_cell, f"{kind}Cell"):
        return getattr(tf.nn.rnn_cell, f"{kind}Cell")(units)
    cells = importlib.import_module("tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl")
    return getattr(cells, f"{kind}Cell")(units)


def mlp(tf: Any) -> Work:
    """Six layers of 256 by Adam; batches of 16 to 115."""
    x, y = tf.placeholder(tf.float32, [None, 256]), tf.placeholder(tf.int32, [None])
    h = x
    for i in range(6):
        bias = tf.get_variable(f"b{i}", initializer=np.zeros(256, "f"))
        h = tf.nn.relu(tf.matmul(h, _weights(tf, f"w{i}", 256, 256, scale=0.06)) + bias)
    logits = tf.matmul(h, _weights(tf, "out", 256, 10))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-4).minimize(loss)

    def feeds(random: Random) -> dict[Any, Any]:
        rows = random.randint(16, 115)
        return {x: _uniform(rows, 256), y: np.random.randint(0, 10, rows)}

    return [train, loss], feeds


def gru(tf: Any) -> Work:
    """A GRU of 64 by dynamic_rnn over 32 sequences of 10 to 59."""
    x = tf.placeholder(tf.float32, [None, None, 64])
    _, state = tf.nn.dynamic_rnn(_cell(tf, "GRU", 64), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(state))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return [train, loss], lambda random: {x: _uniform(32, random.randint(10, 59), 64)}


def bilstm(tf: Any) -> Work:
    """A bidirectional LSTM of 32 with lengths, over 16 sequences of 10 to 50."""
    x, lengths = tf.placeholder(tf.float32, [None, None, 32]), tf.placeholder(tf.int32, [None])
    cells = _cell(tf, "LSTM", 32), _cell(tf, "LSTM", 32)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(
        *cells, x, sequence_length=lengths, dtype=tf.float32
    )
    loss = tf.reduce_mean(tf.square(tf.concat(outputs, 2)))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

    def feeds(random: Random) -> dict[Any, Any]:
        steps = random.randint(10, 50)
        return {x: _uniform(16, steps, 32), lengths: np.random.randint(1, steps + 1, 16)}

    return [train, loss], feeds


def images(tf: Any) -> Work:
    """A fully convolutional network with resizing, over two images of 48 to 160 on a side."""
    x = tf.placeholder(tf.float32, [None, None, None, 3])
    h, channels = x, 3
    for i, filters in enumerate([16, 32, 32]):
        kernel = _weights(tf, f"k{i}", 3, 3, channels, filters, scale=0.1)
        h, channels = tf.nn.relu(tf.nn.conv2d(h, kernel, [1, 1, 1, 1], "SAME")), filters
        if i < 2:
            h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.image.resize_bilinear(h, tf.shape(x)[1:3])
    result = tf.nn.conv2d(h, _weights(tf, "out", 1, 1, channels, 1), [1, 1, 1, 1], "SAME")
    loss = tf.reduce_mean(tf.square(result - x[..., :1]))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

    def feeds(random: Random) -> dict[Any, Any]:
        return {x: _uniform(2, random.randint(48, 160), random.randint(48, 160), 3)}

    return [train, loss], feeds


def transformer(tf: Any) -> Work:
    """Two transformer blocks of 128 with a mask, over 8 sequences of 8 to 128."""
    width, heads = 128, 4
    x, mask = tf.placeholder(tf.int32, [None, None]), tf.placeholder(tf.float32, [None, None])
    h = tf.nn.embedding_lookup(_weights(tf, "embedding", 1000, width), x)
    batch, length = tf.shape(x)[0], tf.shape(x)[1]

    def dense(name: str, value: Any, size: int, out: int) -> Any:
        rows = tf.matmul(tf.reshape(value, [-1, size]), _weights(tf, name, size, out))
        return tf.reshape(rows, [batch, length, out])

    def normal(name: str, value: Any) -> Any:
        mean, variance = tf.nn.moments(value, [-1], keep_dims=True)
        gain, shift = _weights(tf, f"{name}g", width), _weights(tf, f"{name}s", width)
        return (value - mean) * tf.rsqrt(variance + 1e-6) * gain + shift

    for i in range(2):
        parts = [dense(f"{i}{name}", h, width, width) for name in "qkv"]
        parts = [tf.reshape(part, [batch, length, heads, width // heads]) for part in parts]
        q, k, v = [tf.transpose(part, [0, 2, 1, 3]) for part in parts]
        scores = tf.matmul(q, k, transpose_b=True) / np.float32(np.sqrt(width // heads))
        seen = tf.matmul(tf.nn.softmax(scores + (1.0 - mask)[:, None, None, :] * -1e9), v)
        seen = tf.reshape(tf.transpose(seen, [0, 2, 1, 3]), [batch, length, width])
        h = normal(f"{i}a", h + dense(f"{i}o", seen, width, width))
        wide = tf.nn.relu(dense(f"{i}f", h, width, 4 * width))
        h = normal(f"{i}b", h + dense(f"{i}l", wide, 4 * width, width))
    loss = tf.reduce_mean(tf.square(h) * mask[..., None])
    train = tf.train.AdamOptimizer(1e-4).minimize(loss)

    def feeds(random: Random) -> dict[Any, Any]:
        shape = 8, random.randint(8, 128)
        return {x: np.random.randint(0, 1000, shape), mask: np.ones(shape, np.float32)}

    return [train, loss], feeds


def text_cnn(tf: Any) -> Work:
    """Convolutions over 32 texts of 10 to 100 words."""
    x, y = tf.placeholder(tf.int32, [None, None]), tf.placeholder(tf.float32, [None])
    words = tf.nn.embedding_lookup(_weights(tf, "embedding", 5000, 64), x)
    kernels = [_weights(tf, f"k{size}", size, 64, 64) for size in (3, 4, 5)]
    features = [tf.nn.relu(tf.nn.conv1d(words, kernel, 1, "SAME")) for kernel in kernels]
    parts = [tf.reduce_max(feature, 1) for feature in features]
    logits = tf.matmul(tf.concat(parts, 1), _weights(tf, "out", 192, 1))[:, 0]
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)

    def feeds(random: Random) -> dict[Any, Any]:
        return {x: np.random.randint(0, 5000, (32, random.randint(10, 100))), y: np.ones(32, "f")}

    return [train, loss], feeds


def unique(tf: Any) -> Work:
    """Unique, where and boolean_mask over 500 to 1,500 rows: sizes that only the run knows."""
    x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None, 32])
    ids, positions = tf.unique(x)
    rows = tf.gather(tf.gather(_weights(tf, "embedding", 2000, 32), ids), positions)
    mask = tf.reduce_sum(y, 1) > 16.0
    kept = tf.boolean_mask(rows * y, mask)
    count = tf.reduce_sum(tf.cast(tf.where(mask), tf.float32))
    loss = tf.reduce_mean(tf.square(kept)) + 1e-9 * count
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

    def feeds(random: Random) -> dict[Any, Any]:
        rows = random.randint(500, 1500)
        return {x: np.random.randint(0, 2000, rows), y: _uniform(rows, 32)}

    return [train, loss], feeds


def masked(tf: Any) -> Work:
    """boolean_mask in a training step over 300 to 900 rows."""
    x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.float32, [None])
    h = tf.nn.relu(tf.matmul(x, _weights(tf, "first", 64, 64)))
    scores = tf.matmul(h, _weights(tf, "out", 64, 1))[:, 0]
    errors = tf.boolean_mask(tf.square(scores - y), y > 0.5)
    loss = tf.reduce_mean(errors)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

    def feeds(random: Random) -> dict[Any, Any]:
        rows = random.randint(300, 900)
        return {x: _uniform(rows, 64), y: _uniform(rows)}

    return [train, loss], feeds


def epoch(tf: Any) -> Work:
    """Epochs of ten batches of 64 by a small CNN, of which the last has 1 to 63 images."""
    x, y = tf.placeholder(tf.float32, [None, 16, 16, 3]), tf.placeholder(tf.int32, [None])
    kernel = _weights(tf, "kernel", 3, 3, 3, 16, scale=0.1)
    h = tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"))
    h = tf.reshape(tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [-1, 1024])
    logits = tf.matmul(h, _weights(tf, "out", 1024, 10))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)

    def feeds(random: Random) -> dict[Any, Any]:
        rows = 64 if random.random() < 0.9 else random.randint(1, 63)
        return {x: _uniform(rows, 16, 16, 3), y: np.random.randint(0, 10, rows)}

    return [train, loss], feeds


WORKS = {
    work.__name__: work
    for work in (mlp, gru, bilstm, images, transformer, text_cnn, unique, masked, epoch)
}


def resident_mib() -> float:
    """Return the memory of this process in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / (1 << 20)


Start = Callable[[], Callable[[Any], Any]]
"""A function that starts a new training and returns the function that runs a step with feeds."""


def _of_sessions(library: str, name: str) -> tuple[Start, Callable[[Random], Any]]:
    """Return a function that starts a session of a work, and the function that draws feeds."""
    if library == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
    else:
        tf = importlib.import_module(library)
    np.random.seed(0)
    fetches, draw = WORKS[name](tf)

    def start() -> Callable[[Any], Any]:
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        return lambda feeds: session.run(fetches, feeds)

    return start, draw


def _of_torch(name: str, compiles: bool) -> tuple[Start, Callable[[Random], Any]]:
    np.random.seed(0)
    _, draw = varying_torch.started(name, compiles)
    return lambda: varying_torch.started(name, compiles)[0], draw


def measure(library: str, name: str, seconds: float) -> dict[str, float]:
    """Run one work in this process; return its numbers."""
    if library in ("torch", "compile"):
        start, draw = _of_torch(name, library == "compile")
    else:
        start, draw = _of_sessions(library, name)
    run, random = start(), Random(1)
    sets, held_out = _held_out([draw(random) for _ in range(600)], random)
    before = resident_mib()
    times, processor = halves(run, sets, seconds, random)
    growth = resident_mib() - before
    new = [timed(lambda feeds=feeds: run(feeds), 0)[0] for feeds in held_out]
    mean = _mean_set(sets)
    same = [{key: np.random.permutation(value) for key, value in mean.items()} for _ in sets]
    alone, alone_processor = halves(start(), same, seconds / 5, random)
    return {
        "milliseconds": times,
        "processor": processor,
        "one set of shapes": alone,
        "its processor": alone_processor,
        "new set of shapes": 1e3 * sorted(new)[len(new) // 2],
        "MiB more": growth,
    }


def halves(
    run: Callable[[Any], Any], sets: list[Any], seconds: float, random: Random
) -> tuple[float, float]:
    """Return the mean milliseconds of a run, and of all threads, in the second half of the time."""
    timed(lambda: run(sets[random.randrange(len(sets))]), seconds / 2)
    before = process_time()
    times = timed(lambda: run(sets[random.randrange(len(sets))]), seconds / 2)
    return 1e3 * sum(times) / len(times), 1e3 * (process_time() - before) / len(times)


def _mean_set(sets: list[Any]) -> Any:
    """Return the set of feeds whose number of elements is closest to the mean of all sets."""
    sizes = [sum(value.size for value in feeds.values()) for feeds in sets]
    mean = sum(sizes) / len(sizes)
    return sets[min(range(len(sets)), key=lambda index: abs(sizes[index] - mean))]


def _held_out(sets: list[Any], random: Random) -> tuple[list[Any], list[Any]]:
    """Return sets of feeds, and one set of each of up to 40 other shapes."""
    by_shapes: dict[Any, list[Any]] = {}
    for feeds in sets:
        by_shapes.setdefault(tuple(value.shape for value in feeds.values()), []).append(feeds)
    shapes = sorted(by_shapes)
    chosen = random.sample(shapes, min(40, len(shapes) // 4))
    others = [feeds for key in shapes if key not in chosen for feeds in by_shapes[key]]
    return others, [by_shapes[key][0] for key in chosen]


def timed(run: Callable[[], Any], seconds: float) -> list[float]:
    """Return the times of runs, as many as fit into this time, and at least one."""
    times: list[float] = []
    end = perf_counter() + seconds
    while not times or perf_counter() < end:
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return times


def in_process(python: str, library: str, name: str, seconds: float) -> dict[str, float]:
    """Measure one work in a new process."""
    command = [python, __file__, "--works", name, "--seconds", str(seconds), "--library", library]
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(output.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    """Print a table, or the numbers of one work as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--works", nargs="+", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--tensorflow", metavar="PYTHON", default="")
    parser.add_argument("--torch", metavar="PYTHON", default="")
    parser.add_argument("--library", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library:
        print(json.dumps(measure(options.library, options.works[0], options.seconds)))
        return
    for name in options.works:
        own = in_process(sys.executable, "gpugraph", name, options.seconds)
        parts = [f"{key} {value:.2f}" for key, value in own.items()]
        parts.append(f"{own['milliseconds'] / own['one set of shapes']:.2f} times one set")
        peers = [(options.tensorflow, "tensorflow")]
        peers += [(options.torch, "torch"), (options.torch, "compile")]
        for python, library in peers:
            if python:
                try:
                    other = in_process(python, library, name, options.seconds)
                except subprocess.CalledProcessError as error:  # not all works can be compiled
                    parts.append(f"{library} fails: {error.stderr.strip().splitlines()[-1]}")
                    continue
                ratios = [other[key] / own[key] for key in ("milliseconds", "processor")]
                parts.append(
                    f"{library} {other['milliseconds']:.2f}: {ratios[0]:.2f} times our time, "
                    f"{ratios[1]:.2f} times our processor time"
                )
        print(f"{name:12}", ", ".join(parts), flush=True)


if __name__ == "__main__":
    main()
