"""The loss curves of all optimizers, by gpugraph and by TensorFlow.

    python ci/against_tensorflow/optimizers.py --tensorflow PYTHON [--steps 50]

A small network with two embeddings, one of which is read as a whole too, so that its gradient is
dense; the other's is IndexedSlices, in which rows repeat. Both sides begin with equal weights and
see equal batches. For each optimizer it prints the largest relative difference of the losses, and
whether graph and slots have TensorFlow's names. It fails where a difference is above 1e-5.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

ROWS, WIDTH, BATCH, HIDDEN = 30, 6, 16, 8
LIMIT = 1e-5

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "GradientDescent": lambda train: train.GradientDescentOptimizer(0.1),
    "GradientDescent, rate decays": lambda train: train.GradientDescentOptimizer(
        train.exponential_decay(0.2, train.get_or_create_global_step(), 10, 0.8)
    ),
    "Momentum": lambda train: train.MomentumOptimizer(0.05, 0.9),
    "Momentum, Nesterov": lambda train: train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    "Adam": lambda train: train.AdamOptimizer(0.01),
    "Adagrad": lambda train: train.AdagradOptimizer(0.1),
    "AdagradDA": lambda train: train.AdagradDAOptimizer(
        0.1,
        train.get_or_create_global_step(),
        l1_regularization_strength=1e-4,
        l2_regularization_strength=1e-3,
    ),
    "Adadelta": lambda train: train.AdadeltaOptimizer(1.0, epsilon=1e-6),
    "RMSProp": lambda train: train.RMSPropOptimizer(0.01),
    "RMSProp, momentum": lambda train: train.RMSPropOptimizer(0.01, momentum=0.5),
    "RMSProp, centered": lambda train: train.RMSPropOptimizer(0.01, momentum=0.5, centered=True),
    "Ftrl": lambda train: train.FtrlOptimizer(0.1),
    "Ftrl, l1 and l2": lambda train: train.FtrlOptimizer(
        0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.01
    ),
    "Ftrl, power -0.7": lambda train: train.FtrlOptimizer(0.1, learning_rate_power=-0.7),
    "Ftrl, shrinkage": lambda train: train.FtrlOptimizer(
        0.1, l1_regularization_strength=0.001, l2_shrinkage_regularization_strength=0.01
    ),
    "ProximalGradientDescent": lambda train: train.ProximalGradientDescentOptimizer(
        0.1, l1_regularization_strength=0.001, l2_regularization_strength=0.001
    ),
    "ProximalAdagrad": lambda train: train.ProximalAdagradOptimizer(
        0.1, l1_regularization_strength=0.001, l2_regularization_strength=0.001
    ),
}


def data() -> dict[str, np.ndarray]:
    """Equal for both sides: the first weights, and the batches."""
    random = np.random.default_rng(5)
    return {
        "sparse": random.normal(0, 0.5, (ROWS, WIDTH)).astype(np.float32),
        "dense": random.normal(0, 0.5, (ROWS, WIDTH)).astype(np.float32),
        "w": random.normal(0, 0.5, (2 * WIDTH, HIDDEN)).astype(np.float32),
        "b": np.zeros(HIDDEN, np.float32),
        "out": random.normal(0, 0.5, (HIDDEN, 1)).astype(np.float32),
        "ids": random.integers(0, ROWS, (1000, BATCH)).astype(np.int32),
        "wanted": random.normal(size=(ROWS,)).astype(np.float32),
    }


def train(tf: Any, make: Callable[[Any], Any], steps: int) -> dict[str, Any]:
    """Return the losses of `steps` steps, and the names of the optimizer's variables."""
    value = data()
    with tf.Graph().as_default() as graph:
        names = ("sparse", "dense", "w", "b", "out")
        sparse, dense, w, b, out = (tf.Variable(value[name], name=name) for name in names)
        ids = tf.placeholder(tf.int32, [None])
        rows = [tf.nn.embedding_lookup(table, ids) for table in (sparse, dense)]
        hidden = tf.tanh(tf.matmul(tf.concat(rows, 1), w) + b)
        errors = tf.matmul(hidden, out)[:, 0] - tf.gather(tf.constant(value["wanted"]), ids)
        loss = tf.reduce_mean(tf.square(errors)) + 0.001 * tf.reduce_sum(tf.square(dense))
        optimizer = make(tf.train)
        before = {op.name for op in graph.get_operations()}
        grads = optimizer.compute_gradients(loss)
        kinds = [isinstance(grad, tf.IndexedSlices) for grad, _ in grads]
        middle = {op.name for op in graph.get_operations()}
        step = optimizer.apply_gradients(grads, tf.train.get_or_create_global_step())
        output = [op for op in graph.get_operations() if op.name not in middle | before]
        losses = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for batch in value["ids"][:steps]:
                losses.append(float(session.run([loss, step], {ids: batch})[0]))
        slots = sorted(variable.name for variable in optimizer.variables())
    return {
        "losses": losses,
        "kinds": kinds,
        "slots": slots,
        "ops": sorted([op.name, op.type] for op in output if "/update" in op.name),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    if options.side:
        side, folder = options.side
        tf = library(side)
        result = {name: train(tf, make, options.steps) for name, make in OPTIMIZERS.items()}
        Path(folder, f"{side}.json").write_text(json.dumps(result), "utf-8")
        return 0
    python = python_of_tensorflow(options.tensorflow)
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for side, program in (("gpugraph", sys.executable), ("tensorflow", python)):
            run_side(program, __file__, side, Path(folder), "--steps", str(options.steps))
            results.append(json.loads(Path(folder, f"{side}.json").read_text("utf-8")))
    return report(*results)


def report(ours: dict[str, Any], theirs: dict[str, Any]) -> int:
    """Prints the table; 1 where a curve is too far from TensorFlow's."""
    worst = 0.0
    print(f"{'optimizer':30} {'first':>9} {'last':>9} {'difference':>11}  names")
    for name in OPTIMIZERS:
        mine, other = ours[name], theirs[name]
        one, two = np.array(mine["losses"]), np.array(other["losses"])
        difference = float(np.max(np.abs(one - two) / np.abs(two)))
        worst = max(worst, difference)
        names = [f"{key} differ" for key in ("kinds", "slots", "ops") if mine[key] != other[key]]
        print(
            f"{name:30} {one[0]:9.6f} {one[-1]:9.6f} {difference:11.2e}  "
            f"{', '.join(names) or 'equal'}"
        )
        for key in ("slots", "ops"):
            for whose, these, those in (("ours", mine, other), ("theirs", other, mine)):
                extra = [item for item in these[key] if item not in those[key]]
                if extra:
                    print(f"    only {whose}: {extra[:6]}")
    print(f"largest difference: {worst:.2e}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
