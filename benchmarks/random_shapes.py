"""Random programs over random shapes: gpugraph beside TensorFlow's v1 API.

    python benchmarks/random_shapes.py [--programs 40] [--first 0] [--tensorflow PYTHON] [--dataset]

Program number n is a random network over sequences or images: up to five random layers, among them
loops, branches, sizes by values and random numbers; half of the programs train. Each run draws one
of 80 sets of feeds. Their sizes are random, and sometimes 1 or equal. With --dataset, an iterator
of tf.data returns the values instead, and "one set" is the same once more.

Printed for each program: the mean milliseconds of a run in the second half of the time, of one set
of shapes alone in a new session, and of TensorFlow; and TensorFlow's time divided by ours, by the
clock and by the processor. At the end: the quantiles of these ratios.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
from varying_shapes import _cell, _mean_set, halves

WIDTH = 24

Layer = Callable[[Any, Any, str], Any]
"""A function from the package, a value and a name of variables to the next value. Values have shape
[batch, length, WIDTH].
"""


def _weights(tf: Any, name: str, *shape: int) -> Any:
    values = np.random.RandomState(len(name)).randn(*shape) * 0.1
    return tf.get_variable(name, initializer=values.astype("f"))


def _dense(tf: Any, x: Any, name: str) -> Any:
    rows = tf.matmul(tf.reshape(x, [-1, WIDTH]), _weights(tf, name, WIDTH, WIDTH))
    return tf.nn.relu(tf.reshape(rows, tf.shape(x)))


def _norm(tf: Any, x: Any, name: str) -> Any:
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-3) * _weights(tf, name, WIDTH)


def _attention(tf: Any, x: Any, name: str) -> Any:
    scores = tf.matmul(x, x, transpose_b=True) * 0.1
    return tf.matmul(tf.nn.softmax(scores), x) + _weights(tf, name, WIDTH)


def _gru(tf: Any, x: Any, name: str) -> Any:
    with tf.variable_scope(name):
        return tf.nn.dynamic_rnn(_cell(tf, "GRU", WIDTH), x, dtype=tf.float32)[0]


def _lstm(tf: Any, x: Any, name: str) -> Any:
    lengths = tf.fill([tf.shape(x)[0]], tf.maximum(tf.shape(x)[1] // 2, 1))
    with tf.variable_scope(name):
        cell = _cell(tf, "LSTM", WIDTH)
        return tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)[0] + x


def _convolution(tf: Any, x: Any, name: str) -> Any:
    return tf.nn.relu(tf.nn.conv1d(x, _weights(tf, name, 3, WIDTH, WIDTH), 1, "SAME"))


def _pooled(tf: Any, x: Any, name: str) -> Any:
    return tf.nn.pool(x, [2], "MAX", "SAME") + tf.nn.pool(x, [3], "AVG", "SAME")


def _masked(tf: Any, x: Any, name: str) -> Any:
    rows = tf.reshape(x, [-1, WIDTH])
    kept = tf.boolean_mask(rows, rows[:, 0] > -0.3)
    centre = tf.reduce_sum(kept, 0) / (tf.cast(tf.shape(kept)[0], tf.float32) + 1.0)
    return x - centre


def _unique(tf: Any, x: Any, name: str) -> Any:
    ids = tf.cast(tf.reshape(x[:, :, 0], [-1]) * 8.0, tf.int32)
    values, places = tf.unique(ids)
    return x + tf.reshape(tf.gather(tf.cast(values, tf.float32), places) * 0.1, [
        tf.shape(x)[0], tf.shape(x)[1], 1])  # fmt: skip


def _branch(tf: Any, x: Any, name: str) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.tanh(x) * 0.5, lambda: tf.nn.softmax(x))


def _loop(tf: Any, x: Any, name: str) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.tanh(y) * 0.9

    return tf.while_loop(lambda i, _: i < tf.shape(x)[1] % 5, body, [0, x])[1]


def _grown(tf: Any, x: Any, name: str) -> Any:
    invariants = [tf.TensorShape([]), tf.TensorShape([None, None, WIDTH])]

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.concat([y, x * 0.5], 1)

    y = tf.while_loop(lambda i, _: i < 2, body, [0, x], invariants)[1]
    return tf.reshape(y, [tf.shape(x)[0], -1, WIDTH])[:, : tf.shape(x)[1]]


def _dropout(tf: Any, x: Any, name: str) -> Any:
    return x * tf.cast(tf.random_uniform(tf.shape(x)) > 0.1, tf.float32)


def _after_random(tf: Any, x: Any, name: str) -> Any:
    rows = tf.reshape(x, [-1, WIDTH])
    kept = tf.boolean_mask(rows, tf.random_uniform([tf.shape(rows)[0]]) > 0.2)
    return x + tf.reduce_sum(kept, 0) * 1e-3


def _reversed(tf: Any, x: Any, name: str) -> Any:
    lengths = tf.fill([tf.shape(x)[0]], tf.shape(x)[1])
    return tf.reverse_sequence(x, lengths, seq_axis=1) + x[:, ::-1]


def _resized(tf: Any, x: Any, name: str) -> Any:
    image = x[:, :, None, :]
    half = tf.maximum(tf.shape(x)[1] // 2, 1)
    small = tf.image.resize_bilinear(image, tf.stack([half, 1]))
    return tf.image.resize_nearest_neighbor(small, tf.stack([tf.shape(x)[1], 1]))[:, :, 0]


def _padded(tf: Any, x: Any, name: str) -> Any:
    longer = tf.pad(x, [[0, 0], [1, 1], [0, 0]])
    return longer[:, :-2] + 0.5 * longer[:, 2:]


def _top(tf: Any, x: Any, name: str) -> Any:
    values, _ = tf.nn.top_k(tf.transpose(x, [0, 2, 1]), 1)
    return x - tf.transpose(values, [0, 2, 1])


def _segments(tf: Any, x: Any, name: str) -> Any:
    rows = tf.reshape(x, [-1, WIDTH])
    ids = tf.range(tf.shape(rows)[0]) // 3
    sums = tf.segment_sum(rows, ids)
    return tf.reshape(tf.gather(sums, ids), tf.shape(x)) * 0.3


def _picked(tf: Any, x: Any, name: str) -> Any:
    order = tf.range(tf.shape(x)[1] - 1, -1, -1)
    return tf.gather(x, order, axis=1) + tf.one_hot(tf.argmax(x, -1), WIDTH)


def _running(tf: Any, x: Any, name: str) -> Any:
    return tf.cumsum(x, 1) / (tf.cast(tf.range(tf.shape(x)[1]), tf.float32) + 1.0)[:, None]


def _tiled(tf: Any, x: Any, name: str) -> Any:
    twice = tf.concat([x, tf.tile(x[:, :1], [1, tf.shape(x)[1], 1])], 2)
    return twice[:, :, :WIDTH] * 0.5 + twice[:, :, WIDTH:] * 0.5


LAYERS: list[Layer] = [
    *(_dense, _norm, _attention, _gru, _lstm, _convolution, _pooled, _masked, _unique, _branch),
    *(_loop, _grown, _dropout, _after_random, _reversed, _resized, _padded, _top, _segments),
    *(_picked, _running, _tiled),
]


def _elements(tf: Any, shapes: list[list[int]]) -> Any:
    """Return the elements of a dataset, which have these first two sizes in turn."""
    sizes, largest = tf.constant(shapes), np.max(shapes, 0)
    values = tf.constant(np.random.randn(*largest, WIDTH).astype("f"))
    numbers = tf.data.Dataset.range(len(shapes)).repeat()
    cut = numbers.map(lambda i: tf.slice(values, [0, 0, 0], tf.concat([sizes[i], [-1]], 0)))
    x = cut.prefetch(2).make_one_shot_iterator().get_next()
    x.set_shape([None, None, WIDTH])
    return x


def program(
    tf: Any, number: int, from_dataset: bool
) -> tuple[list[Any], Callable[[Random], Any], str]:
    """Build a random program. Return its fetches, a function that draws feeds, and its layers."""
    random = Random(number)
    layers = random.choices(LAYERS, k=random.randint(1, 5))
    largest = random.choice([(8, 20), (32, 60), (4, 100)])
    ones = random.choice([0.0, 0.05])

    def shape(random: Random) -> list[int]:
        sizes = [1 if random.random() < ones else random.randint(2, size) for size in largest]
        return [min(sizes)] * 2 if random.random() < 0.05 else sizes

    def draw(random: Random) -> Any:
        drawn = shape(random)
        return {} if from_dataset else {x: np.random.randn(*drawn, WIDTH).astype("f")}

    if from_dataset:
        x = _elements(tf, [shape(random) for _ in range(80)])
    else:
        x = tf.placeholder(tf.float32, [None, None, WIDTH])
    y = x
    for index, layer in enumerate(layers):
        y = layer(tf, y, f"v{'x' * index}")
    loss = tf.reduce_mean(tf.square(y))
    fetches = [loss, y[:, -1]]
    if random.random() < 0.5 and tf.trainable_variables():
        fetches.append(tf.train.GradientDescentOptimizer(0.001).minimize(loss))
    return fetches, draw, " ".join(layer.__name__[1:] for layer in layers)


def measure(library: str, number: int, seconds: float, from_dataset: bool) -> dict[str, Any]:
    """Run a program in this process, and return its numbers."""
    if library == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
    else:
        tf = importlib.import_module(library)
    np.random.seed(number)
    with tf.Graph().as_default() as graph:
        fetches, draw, layers = program(tf, number, from_dataset)
        start = tf.global_variables_initializer()
    random = Random(number)
    sets = [draw(random) for _ in range(80)]
    means = []
    for chosen in (sets, [_mean_set(sets)]):
        with tf.Session(graph=graph) as session:
            session.run(start)
            means.append(halves(partial(session.run, fetches), chosen, seconds, random))
    (mean, processor), (alone, _) = means
    return {"mean": mean, "processor": processor, "alone": alone, "layers": layers}


def in_process(
    python: str, library: str, number: int, seconds: float, from_dataset: bool
) -> dict[str, Any]:
    """Measure a program in a new process."""
    command = [python, "-W", "ignore", __file__, "--first", str(number)]
    command += ["--dataset"] if from_dataset else []
    command += ["--seconds", str(seconds), "--library", library]
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(output.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    """Print a line for each program and the distribution, or the numbers of one program as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--tensorflow", metavar="PYTHON", default="")
    parser.add_argument("--dataset", action="store_true")
    parser.add_argument("--library", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library:
        arguments = options.library, options.first, options.seconds, options.dataset
        print(json.dumps(measure(*arguments)))
        return
    own_ratios: list[float] = []
    ratios: dict[str, list[float]] = {"mean": [], "processor": []}
    for number in range(options.first, options.first + options.programs):
        arguments = number, options.seconds, options.dataset
        own = in_process(sys.executable, "gpugraph", *arguments)
        own_ratios.append(own["mean"] / own["alone"])
        line = f"{number:4} {own['mean']:8.3f} ms, one set {own['alone']:8.3f}"
        if options.tensorflow:
            other = in_process(options.tensorflow, "tensorflow", *arguments)
            for key, known in ratios.items():
                known.append(other[key] / own[key])
            by_time, by_processor = (known[-1] for known in ratios.values())
            line += f", TensorFlow {other['mean']:8.3f}: {by_time:5.2f} {by_processor:5.2f}"
        print(f"{line}  {own['layers']}", flush=True)
    titles = [("times one set", own_ratios)]
    titles += [(f"TensorFlow / ours, {key}", values) for key, values in ratios.items()]
    for title, values in titles:
        if values:
            quantiles = np.quantile(values, [0, 0.05, 0.1, 0.25, 0.5, 0.75, 1]).round(2).tolist()
            print(f"{title}: minimum, 5 %, 10 %, 25 %, 50 %, 75 %, maximum: {quantiles}")


if __name__ == "__main__":
    main()
