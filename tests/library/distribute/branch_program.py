"""A task of a cluster that trains models with branches and loops, and prints their losses.

Arguments: TF_CONFIG, the number of random models. Started by test_branches_of_workers.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import gpugraph as tf

IMAGES = np.random.default_rng(0).uniform(-1, 1, (16, 4, 4, 2)).astype(np.float32)
LABELS = IMAGES.mean((1, 2, 3))[:, None]
SEEDED = tf.keras.initializers.RandomNormal(stddev=0.3, seed=1)


def dense(units: int) -> Any:
    """Return a layer whose initial values are the same everywhere."""
    return tf.keras.layers.Dense(units, kernel_initializer=SEEDED)


def mixed() -> list[Any]:
    """Return layers with branches and loops between others with weights: fused batch normalization,
    dropout, LSTM.
    """
    layers = tf.keras.layers
    return [
        layers.Conv2D(3, 2, kernel_initializer=SEEDED),
        layers.BatchNormalization(momentum=0.9),
        layers.Reshape((9, 3)),
        layers.LSTM(3, kernel_initializer=SEEDED, recurrent_initializer=SEEDED),
        layers.Dropout(0.4, seed=3),
        dense(1),
    ]


def fitted(strategy: Any, layers: list[Any]) -> list[float]:
    """Return the losses of two epochs, and the sums of the weights."""
    tf.set_random_seed(1)
    with strategy.scope():
        inputs = tf.keras.Input((4, 4, 2))
        outputs = inputs
        for layer in layers:
            outputs = layer(outputs)
        model = tf.keras.Model(inputs, outputs)
        model.compile(tf.keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    history = model.fit(IMAGES, LABELS, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    losses = [*history["loss"], *history["mae" if "mae" in history else "mean_absolute_error"]]
    losses += model.evaluate(IMAGES, LABELS, batch_size=8, verbose=0)
    return [float(x) for x in [*losses, *(abs(w).sum() for w in model.get_weights())]]


def branch(x: Any) -> Any:
    """Return a loss with a branch, a loop, and a variable before, within and after them."""
    w = tf.get_variable("w", [32, 3], initializer=SEEDED)
    u = tf.get_variable("u", [3, 1], initializer=SEEDED)
    is_one = tf.placeholder_with_default(True, [])
    h = tf.matmul(tf.reshape(x, [-1, 32]), w)
    h = tf.cond(is_one, lambda: tf.tanh(h) * u[0], lambda: h)
    h = tf.while_loop(lambda n, _: n < 3, lambda n, v: (n + 1, tf.sin(v) + h), (0, h))[1]
    h = tf.cond(tf.reduce_sum(h) > 0, lambda: h * 2, lambda: -h)
    return tf.reduce_sum(tf.square(tf.matmul(h, u))) / 8


def joined(x: Any) -> Any:
    """Return a loss in which a sum over all replicas is between a branch and its gradient."""
    w = tf.get_variable("w", [32, 3], initializer=SEEDED)
    h = tf.matmul(tf.reshape(x, [-1, 32]), w)
    h = tf.cond(tf.placeholder_with_default(True, []), lambda: tf.sin(h * h), lambda: h)
    context = tf.distribute.get_replica_context()
    mean = context.all_reduce("SUM", tf.reduce_sum(h, 0)) / 8
    spread = context.all_reduce("SUM", tf.reduce_sum(tf.square(h - mean), 0)) / 8
    return tf.reduce_sum(tf.square((h - mean) * tf.rsqrt(spread + 0.1) - 1.0)) / 8


def drawn(seed: int) -> Callable[[Any], Any]:
    """Return a function that returns a loss of random branches, loops, products with variables, and
    sums over the replicas, which depend on each other.
    """

    def loss_of(x: Any) -> Any:
        random = Random(seed)
        context = tf.distribute.get_replica_context()
        values = [tf.reshape(x, [-1, 32])[:, :3]]
        for number in range(random.randint(4, 9)):
            kind = random.choice(("product", "cond", "cond", "loop", "sum", "mix", "drop"))
            x, y = random.choice(values), values[-1]
            if kind == "product":
                w = tf.get_variable(f"w{number}", [3, 3], initializer=SEEDED)
                z = tf.tanh(tf.matmul(x, w) + y)
            elif kind == "cond":
                w = tf.get_variable(f"w{number}", [3], initializer=SEEDED)
                is_one = random.choice((tf.placeholder_with_default(True, []), y[0, 0] > 0))
                z = tf.cond(is_one, lambda x=x, w=w: x * w + x, lambda y=y, w=w: tf.sin(y) + w)
            elif kind == "loop":
                z = tf.while_loop(
                    lambda n, _: n < 3, lambda n, v, x=x: (n + 1, tf.sin(v) + 0.1 * x), (0, y)
                )[1]
            elif kind == "sum":
                total = context.all_reduce("SUM", tf.reduce_sum(x, 0)) / 8
                z = y * tf.tanh(total)
            elif kind == "mix":
                z = tf.sin(x) + 0.5 * y
            else:
                z = tf.cond(
                    tf.placeholder_with_default(number % 3 > 0, []),
                    lambda y=y, number=number: tf.nn.dropout(y, 0.7, seed=number),
                    lambda x=x: x,
                )
            values.append(z)
        w = tf.get_variable("w", [3, 1], initializer=SEEDED)
        total = tf.add_n(random.sample(values, 2)) + values[-1]
        return tf.reduce_sum(tf.square(tf.matmul(total, w) - 1.0)) / 8

    return loss_of


def own(strategy: Any, target: str, loss_of: Callable[[Any], Any]) -> list[float]:
    """Return the losses of some steps of a training loop."""
    with tf.Graph().as_default(), strategy.scope():
        optimizer = tf.train.MomentumOptimizer(0.02, 0.9)
        dataset = tf.data.Dataset.from_tensor_slices(IMAGES).repeat().batch(8)
        iterator = strategy.make_dataset_iterator(dataset)

        def fn(x: Any) -> Any:
            loss = loss_of(x)
            with tf.control_dependencies([optimizer.minimize(loss)]):
                return tf.identity(loss)

        losses = strategy.experimental_run_v2(fn, (iterator.get_next(),))
        total = strategy.reduce("SUM", losses, axis=None)
        with tf.Session(target, config=configured(strategy)) as session:
            session.run([tf.global_variables_initializer(), iterator.initialize()])
            return [float(session.run(total)) for _ in range(4)]


def restored(strategy: Any, target: str) -> list[float]:
    """Return a sum over the replicas before it is saved, and after it is restored twice."""
    with tf.Graph().as_default(), strategy.scope(), tempfile.TemporaryDirectory() as folder:
        total, count = (
            tf.get_variable(
                name,
                initializer=tf.constant(0, dtype),
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
            for name, dtype in (("total", tf.float32), ("count", tf.int64))
        )
        added = strategy.experimental_run_v2(lambda: tf.group(total.assign_add(2.5), total.op))
        assigned = count.assign(7)
        reads = [total.read_value(), count.read_value()]
        saver = tf.train.Saver()
        with tf.Session(target, config=configured(strategy)) as session:
            session.run(tf.global_variables_initializer())
            session.run([strategy.group(added), assigned])
            values = session.run(reads)
            path = saver.save(session, f"{folder}/model")
            for _ in range(2):
                saver.restore(session, path)
                values += session.run(reads)
        return [float(value) for value in values]


def configured(strategy: Any) -> Any:
    """Return the configuration of a session."""
    return strategy.update_config_proto(tf.ConfigProto(device_count={"CPU": 2}))


def results(strategy: Any, target: str, seeds: int) -> dict[str, list[float]]:
    """Return the losses of all models, by name. `seeds` of them are random."""
    found = {f"seed {seed}": own(strategy, target, drawn(seed)) for seed in range(seeds)}
    found |= {loss_of.__name__: own(strategy, target, loss_of) for loss_of in (branch, joined)}
    found["restored"] = restored(strategy, target)
    tf.keras.backend.clear_session()
    tf.keras.backend.set_session(tf.Session(target, config=configured(strategy)))
    found["fitted"] = fitted(strategy, mixed())
    tf.keras.backend.clear_session()
    return found


def main() -> None:
    """Start the server of this task; print the losses as JSON."""
    os.environ["TF_CONFIG"] = sys.argv[1]
    server = tf.contrib.distribute.run_standard_tensorflow_server()
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    print(json.dumps(results(strategy, server.target, int(sys.argv[2]))), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
