"""Training by `Model.fit` beside a hand-written loop of `session.run`, and beside tf-keras.

    python benchmarks/keras.py [--tensorflow PYTHON] [--rounds N]

Four models see the same batches in the same order: a small MLP, a wider one, a CNN, and an MLP of
two outputs. The loop by hand runs the same optimizer, loss and accuracy, with a `feed_dict`. Each
way trains one epoch in turn, several rounds; of each the fastest counts. Times are microseconds
per batch. Native code is compiled before.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BATCH = 32
ROOT = Path(__file__).resolve().parents[1]
MODELS = {"small MLP": 400, "wide MLP": 100, "CNN": 40, "two outputs": 300}
"""The models, with their batches in an epoch."""


def library(side: str) -> Any:
    """gpugraph, or TensorFlow 1's API of TensorFlow with tf-keras."""
    if side == "gpugraph":
        return importlib.import_module("gpugraph")
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_USE_LEGACY_KERAS="1")
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    return tf


def build(tf: Any, name: str) -> tuple[Any, Any, list[Any]]:
    """Return the model, its inputs and its targets."""
    np, layers = importlib.import_module("numpy"), tf.keras.layers
    random = np.random.RandomState(0)
    count = MODELS[name] * BATCH
    classes = random.randint(0, 10, (count, 1)).astype("float32")
    if name == "CNN":
        x = random.rand(count, 14, 14, 1).astype("float32")
        inputs = tf.keras.Input((14, 14, 1))
        hidden = layers.Conv2D(8, 3, activation="relu")(inputs)
        hidden = layers.Flatten()(layers.MaxPooling2D()(hidden))
    else:
        width = 512 if name == "wide MLP" else 64
        x = random.rand(count, 64).astype("float32")
        inputs = tf.keras.Input((64,))
        hidden = layers.Dense(width, activation="relu")(inputs)
    outputs = [layers.Dense(10, activation="softmax")(hidden)]
    targets = [classes]
    if name == "two outputs":
        outputs.append(layers.Dense(10, activation="softmax")(hidden))
        targets.append(9 - classes)
    return tf.keras.Model(inputs, outputs), x, targets


def by_fit(tf: Any, name: str) -> Callable[[], None]:
    """Return one epoch by `fit`."""
    model, x, targets = build(tf, name)
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])

    def epoch() -> None:
        model.fit(x, targets, batch_size=BATCH, shuffle=False, verbose=0)

    return epoch


def by_hand(tf: Any, name: str) -> Callable[[], None]:
    """One epoch by `session.run`, with the mean loss and accuracies."""
    model, x, targets = build(tf, name)
    fed = [tf.placeholder(tf.float32, [None, 1]) for _ in targets]
    losses, accuracies = [], []
    for target, output in zip(fed, model.outputs):
        examples = tf.keras.losses.sparse_categorical_crossentropy(target, output)
        losses.append(tf.reduce_mean(examples))
        hits = tf.equal(tf.cast(tf.argmax(output, -1), tf.float32), target[:, 0])
        accuracies.append(tf.reduce_mean(tf.cast(hits, tf.float32)))
    loss = tf.add_n(losses)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=model.trainable_weights)
    session = tf.keras.backend.get_session()
    inputs = model.inputs[0]

    def epoch() -> None:
        totals = [0.0] * (1 + len(accuracies))
        for start in range(0, len(x), BATCH):
            rows = slice(start, start + BATCH)
            feed = {inputs: x[rows], **{t: y[rows] for t, y in zip(fed, targets)}}
            values = session.run([train, loss, *accuracies], feed)
            for number, value in enumerate(values[1:]):
                totals[number] += float(value)

    return epoch


def measure(side: str, rounds: int) -> dict[str, dict[str, float]]:
    """Return microseconds per batch of each model, by way."""
    tf = library(side)
    table: dict[str, dict[str, float]] = {}
    for name, batches in MODELS.items():
        ways = {"fit": by_fit(tf, name)}
        if side == "gpugraph":
            ways["by hand"] = by_hand(tf, name)
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds + 2):
            for way, epoch in ways.items():
                start = time.perf_counter()
                epoch()
                times[way].append(1e6 * (time.perf_counter() - start) / batches)
        table[name] = {way: min(values[2:]) for way, values in times.items()}
    return table


def main() -> None:
    """Measure each side in a separate process and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorflow", default=os.environ.get("TENSORFLOW_PYTHON"))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measure(options.side, options.rounds)))
        return
    sides = {"gpugraph": sys.executable}
    if options.tensorflow:
        sides["tensorflow"] = options.tensorflow
    tables = {}
    for side, python in sides.items():
        command = [python, __file__, "--side", side, "--rounds", str(options.rounds)]
        environment = {"GPUGRAPH_NATIVE": "wait", **os.environ, "PYTHONPATH": str(ROOT)}
        answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        tables[side] = json.loads(answer.stdout.splitlines()[-1])
    print(f"{'us per batch':14}{'fit':>9}{'by hand':>9}{'ratio':>7}{'tf-keras':>10}{'faster':>8}")
    for name, row in tables["gpugraph"].items():
        line = f"{name:14}{row['fit']:9.0f}{row['by hand']:9.0f}{row['fit'] / row['by hand']:7.2f}"
        if "tensorflow" in tables:
            other = tables["tensorflow"][name]["fit"]
            line += f"{other:10.0f}{other / row['fit']:7.1f}x"
        print(line)


if __name__ == "__main__":
    main()
