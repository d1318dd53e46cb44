"""Random trainings under strategies: a random choice of each part of a user's program.

A training has a strategy, a number of replicas, an input, a network that creates its variables, an
optimizer, a change of the gradients, metrics, a form of loop, and an evaluation from a checkpoint
under another strategy.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from recorded_programs import Programs, Record

from life.strategies import call, central, mirrored, number, session
from life.strategy_loops import ramp
from life.strategy_methods import one
from life.strategy_trainings import after, constant, initialize

PROGRAMS: Programs = {}

STRATEGIES: dict[str, Callable[[Any, int], Any]] = {
    "mirrored": mirrored,
    "central": central,
    "one": lambda tf, count: one(tf),
    "default": lambda tf, count: tf.distribute.get_strategy(),
}
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "sgd": lambda tf, rate: tf.train.GradientDescentOptimizer(rate),
    "momentum": lambda tf, rate: tf.train.MomentumOptimizer(rate, 0.5),
    "nesterov": lambda tf, rate: tf.train.MomentumOptimizer(rate, 0.5, use_nesterov=True),
    "adam": lambda tf, rate: tf.train.AdamOptimizer(rate),
    "rms": lambda tf, rate: tf.train.RMSPropOptimizer(rate, momentum=0.3),
    "centered rms": lambda tf, rate: tf.train.RMSPropOptimizer(rate, centered=True),
    "adagrad": lambda tf, rate: tf.train.AdagradOptimizer(rate),
    "adadelta": lambda tf, rate: tf.train.AdadeltaOptimizer(rate),
    "ftrl": lambda tf, rate: tf.train.FtrlOptimizer(
        rate, l1_regularization_strength=0.01, l2_regularization_strength=0.02
    ),
    "keras sgd": lambda tf, rate: tf.keras.optimizers.SGD(rate, momentum=0.4),
    "keras adam": lambda tf, rate: tf.keras.optimizers.Adam(rate, amsgrad=True),
    "keras adamax": lambda tf, rate: tf.keras.optimizers.Adamax(rate),
    "keras nadam": lambda tf, rate: tf.keras.optimizers.Nadam(rate),
    "keras rms": lambda tf, rate: tf.keras.optimizers.RMSprop(rate, momentum=0.2),
}


class Training:
    """A random training. Both libraries make the same choices."""

    def __init__(self, tf: Any, record: Record, seed: int) -> None:
        choice = self.random = random.Random(seed)
        self.tf, self.record, self.folder = tf, record, str(record.folder)
        self.kind = choice.choice(["mirrored"] * 4 + ["central"] * 2 + ["one", "default"])
        self.count = choice.choice([1, 2, 2, 3, 4])
        self.batch = choice.choice([4, 6, 8, 12])
        self.model = choice.choice(["linear", "deep", "rows", "shared", "normalized", "branch"])
        self.optimizer = choice.choice(sorted(OPTIMIZERS))
        self.input = choice.choice(["dataset", "distributed", "function", "constant", "callable"])
        self.clip = choice.choice(["", "", "value", "norm", "scaled", "accumulated"])
        self.loss = choice.choice(["sum", "mean", "losses", "huber", "regularized"])
        self.rate = choice.choice(["number", "decayed", "variable"])
        self.metrics = choice.sample(["mean", "accuracy", "count", "first", "error"], 2)
        self.loop = choice.choice(["runs", "runs", "steps", "while"])
        self.reduction = choice.choice(["SUM", "MEAN"])
        self.average = choice.random() < 0.3 and not self.optimizer.startswith("keras")
        self.other = choice.choice(["mirrored", "central", "one"])
        self.other_count = choice.choice([1, 2, 3])
        if self.optimizer == "keras nadam":
            self.count = 1  # TensorFlow's replicas read the decay while another one changes it
        if self.optimizer.startswith("keras"):
            if self.kind == "default":
                self.kind = "one"  # TensorFlow's slots of variables by reference have no dtype
            if self.kind == "central":
                self.kind = "mirrored"  # TensorFlow can't save slots that it lists twice

    def run(self) -> None:
        """Train, save, and evaluate under another strategy."""
        tf = self.tf
        names = ("kind", "count", "batch", "model", "optimizer", "input", "clip", "loss", "rate",
                 "metrics", "loop", "reduction", "average", "other", "other_count")  # fmt: skip
        self.record("choices", {name: getattr(self, name) for name in names})
        path = os.path.join(self.folder, "model")
        strategy = STRATEGIES[self.kind](tf, self.count)
        with tf.Graph().as_default(), strategy.scope():
            self._train(strategy, path)
        other = STRATEGIES[self.other](tf, self.other_count)
        with tf.Graph().as_default(), other.scope():
            self._evaluate(other, path)

    # -- parts

    def _data(self) -> tuple[np.ndarray, np.ndarray]:
        x = np.cos(np.arange(24 * 3, dtype=np.float32) * 0.7).reshape(24, 3)
        return x, (np.arange(24) % 3).astype(np.int32)

    def _dataset(self, size: int) -> Any:
        return self.tf.data.Dataset.from_tensor_slices(self._data()).repeat().batch(size)

    def _inputs(self, strategy: Any) -> tuple[Any, Any]:
        """Return a function that reads the next input, and the operation that initializes it."""
        tf, count = self.tf, strategy.num_replicas_in_sync
        kind = self.input
        if kind == "dataset":
            iterator = strategy.make_dataset_iterator(self._dataset(self.batch))
        elif kind == "distributed":
            data = strategy.experimental_distribute_dataset(self._dataset(self.batch))
            iterator = tf.data.make_initializable_iterator(data)
            return iterator.get_next, iterator.initializer
        elif kind == "function":
            iterator = strategy.make_input_fn_iterator(
                lambda context: self._dataset(self.batch // count or 1)
            )
        elif kind == "callable" and self.kind in ("mirrored", "central"):
            x, y = self._data()
            iterator = strategy.make_input_fn_iterator(
                lambda context: lambda: (tf.constant(x[:2]), tf.constant(y[:2]))
            )
        else:
            x, y = self._data()
            given = tf.constant(x[: self.batch]), tf.constant(y[: self.batch])
            return lambda: given, tf.no_op()
        return iterator.get_next, iterator.initialize()

    def _logits(self, x: Any, is_training: bool = True) -> Any:
        tf, layers = self.tf, self.tf.layers
        if self.model == "linear":
            w = tf.get_variable("w", [3, 3], initializer=ramp(tf))
            b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
            return tf.matmul(x, w) + b
        if self.model == "rows":
            table = tf.get_variable("table", [5, 3], initializer=ramp(tf))
            ids = tf.cast(tf.floor(tf.abs(x) * 4.9), tf.int32)
            return tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1)
        hidden = layers.dense(x, 4, tf.tanh, kernel_initializer=ramp(tf), name="hidden")
        if self.model == "shared":
            hidden = layers.dense(hidden, 3, kernel_initializer=constant(tf, 0.2), name="twice")
            hidden = layers.dense(
                hidden, 3, kernel_initializer=constant(tf, 0.2), name="twice", reuse=True
            )
        if self.model == "normalized":
            hidden = layers.batch_normalization(hidden, momentum=0.5, training=is_training)
        if self.model == "branch":
            scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
            hidden = tf.cond(
                tf.reduce_sum(x) > 0, lambda: hidden * scale, lambda: tf.nn.relu(hidden) - scale
            )
        regularizer = None
        if self.loss == "regularized":
            regularizer = tf.keras.regularizers.l2(0.01)
        return layers.dense(
            hidden, 3, kernel_initializer=ramp(tf), kernel_regularizer=regularizer, name="logits"
        )

    def _loss(self, logits: Any, y: Any, strategy: Any) -> Any:
        tf, count = self.tf, strategy.num_replicas_in_sync
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        if self.loss == "sum":
            return tf.reduce_sum(losses) / self.batch
        if self.loss == "losses":
            return tf.losses.sparse_softmax_cross_entropy(y, logits) / count
        if self.loss == "huber":
            return tf.losses.huber_loss(tf.one_hot(y, 3), logits, reduction="weighted_mean") / count
        loss = tf.reduce_mean(losses) / count
        if self.loss == "regularized":
            extra = tf.losses.get_regularization_losses(tf.get_variable_scope().name)
            loss += tf.add_n(extra) / count if extra else 0.0
        return loss

    def _rate(self, step: Any) -> Any:
        tf = self.tf
        if self.rate == "decayed" and not self.optimizer.startswith("keras"):
            return tf.train.exponential_decay(0.1, step, 2, 0.5)
        if self.rate == "variable":
            return tf.Variable(0.05, trainable=False, name="rate")
        return 0.07

    def _metrics(self, logits: Any, y: Any) -> tuple[list[Any], list[Any]]:
        """Return the values of the metrics, and their updates."""
        tf, values, updates = self.tf, [], []
        found = tf.argmax(logits, 1, output_type=tf.int32)
        for name in self.metrics:
            if name == "mean":
                pair = tf.metrics.mean(logits)
            elif name == "accuracy":
                pair = tf.metrics.accuracy(y, found)
            elif name == "error":
                pair = tf.metrics.mean_squared_error(tf.one_hot(y, 3), logits)
            else:
                first = tf.VariableAggregation.ONLY_FIRST_REPLICA
                v = tf.get_variable(
                    f"seen_{name}", [], initializer=tf.zeros_initializer(), trainable=False,
                    synchronization=tf.VariableSynchronization.AUTO if name == "first"
                    else tf.VariableSynchronization.ON_READ,
                    aggregation=first if name == "first" else tf.VariableAggregation.SUM,
                )  # fmt: skip
                pair = None, v.assign_add(tf.reduce_sum(tf.cast(y, tf.float32)))
            if pair[0] is not None:
                values.append(pair[0])
            updates.append(pair[1])
        return values, updates

    def _apply(self, optimizer: Any, loss: Any, step: Any) -> Any:
        tf = self.tf
        if self.optimizer.startswith("keras"):
            variables = tf.trainable_variables(tf.get_variable_scope().name)
            variables = [v for v in variables if "/replica_" not in v.name]
            grads = tf.gradients(loss, variables)
            pairs = self._clipped([(g, v) for g, v in zip(grads, variables) if g is not None])
            return tf.group(optimizer.apply_gradients(pairs), step.assign_add(1))
        if not self.clip:
            return optimizer.minimize(loss, global_step=step)
        pairs = self._clipped(optimizer.compute_gradients(loss))
        return optimizer.apply_gradients(pairs, global_step=step)

    def _clipped(self, pairs: Any) -> Any:
        tf = self.tf
        pairs = [(grad, variable) for grad, variable in pairs if grad is not None]
        if self.clip == "value":
            return [(tf.clip_by_value(tf.convert_to_tensor(g), -0.1, 0.1), v) for g, v in pairs]
        if self.clip == "norm":
            grads, _ = tf.clip_by_global_norm([g for g, _ in pairs], 0.2)
            return [(grad, v) for grad, (_, v) in zip(grads, pairs)]
        if self.clip == "scaled":
            return [(tf.convert_to_tensor(g) * (1.0 + number(tf)), v) for g, v in pairs]
        return pairs

    # -- the training

    def _step(self, strategy: Any, batch: Any, optimizer: Any, step: Any) -> Any:
        """Build the step of one replica. Return its loss after the update."""
        tf = self.tf
        x, y = batch
        logits = self._logits(x)
        loss = self._loss(logits, y, strategy)
        values, updates = self._metrics(logits, y)
        del values
        changes = [*updates, *tf.get_collection(tf.GraphKeys.UPDATE_OPS, None)]
        with tf.control_dependencies([c for c in changes if c is not None]):
            train = self._apply(optimizer, loss, step)
        if self.average:
            with tf.control_dependencies([train]):
                kept = [v for v in tf.trainable_variables() if "/replica_" not in v.name][:1]
                train = self._average.apply(kept)
        return after(tf, train, loss)

    def _train(self, strategy: Any, path: str) -> None:
        tf = self.tf
        step = tf.train.get_or_create_global_step()
        optimizer = OPTIMIZERS[self.optimizer](tf, self._rate(step))
        self._average = tf.train.ExponentialMovingAverage(0.5, name="average")
        read, begin = self._inputs(strategy)

        def fn(batch: Any) -> Any:
            return self._step(strategy, batch, optimizer, step)

        if self.loop == "runs":
            losses = call(strategy, fn, (read(),))
            total = strategy.reduce(self.reduction, losses, axis=None)
            runs = 3
        elif self.loop == "steps" and self.kind == "mirrored" and self.input != "distributed":
            total, runs = self._steps_on_iterator(strategy, fn), 2
            begin = self._begin
        else:

            def body(turn: Any, last: Any) -> Any:
                losses = call(strategy, fn, (read(),))
                return turn + 1, strategy.reduce(self.reduction, losses, axis=None) + 0 * last

            _, total = tf.while_loop(
                lambda turn, _: turn < 2, body, [tf.constant(0), tf.constant(0.0)],
                parallel_iterations=1, back_prop=False,
            )  # fmt: skip
            runs = 2
        with session(tf) as running:
            running.run(begin)
            initialize(tf, running)
            self.record.near("losses", [exact(running.run(total)) for _ in range(runs)])
            variables = own(tf, [*tf.global_variables(), *tf.local_variables()])
            values = {v.name: exact(running.run(v)) for v in variables}
            self.record.near("variables", values)
            tf.train.Saver().save(running, path)
        shapes = tf.train.list_variables(path)
        saved = [[name, list(shape)] for name, shape in shapes if "/replica_" not in name]
        self.record("saved", saved)

    def _steps_on_iterator(self, strategy: Any, fn: Any) -> Any:
        tf = self.tf
        iterator = strategy.make_dataset_iterator(self._dataset(self.batch))
        self._begin = iterator.initialize()

        def train(context: Any, batch: Any) -> Any:
            def replica(batch: Any) -> Any:
                loss = fn(batch)
                context.set_last_step_output("loss", loss, tf.distribute.ReduceOp.SUM)
                return tf.group(loss)

            return strategy.group(call(strategy, replica, (batch,)))

        context = strategy.extended.experimental_run_steps_on_iterator(
            train, iterator, 2, {"loss": tf.constant(0.0)}
        )
        return after(tf, context.run_op, context.last_step_outputs["loss"])

    def _evaluate(self, strategy: Any, path: str) -> None:
        tf = self.tf
        x, y = self._data()
        tf.train.get_or_create_global_step()

        def fn() -> Any:
            logits = self._logits(tf.constant(x), is_training=False)
            values, updates = self._metrics(logits, tf.constant(y))
            return after(tf, tf.group(*updates), tf.reduce_mean(logits)), values

        mean, values = call(strategy, fn)
        total = strategy.reduce("MEAN", mean, axis=None)
        results = [strategy.experimental_local_results(value)[0] for value in values]
        kept = {name for name, _ in tf.train.list_variables(path)}
        saver = tf.train.Saver(
            [v for v in own(tf, tf.global_variables()) if v.name.partition(":")[0] in kept]
        )
        with session(tf) as running:
            initialize(tf, running)
            saver.restore(running, path)
            self.record.near("evaluated", exact(running.run(total)))
            self.record.near("metrics", [exact(running.run(value)) for value in results])


def exact(value: Any) -> Any:
    """Return numbers as lists."""
    return np.asarray(value, np.float64).tolist()


def own(tf: Any, variables: Any) -> list[Any]:
    """Return the variables without the copies that 2.x also collects."""
    return [v for v in variables if "/replica_" not in v.name]


def _training(seed: int) -> Callable[[Any, Record], None]:
    return lambda tf, record: Training(tf, record, seed).run()


for _seed in range(int(os.environ.get("RANDOM_TRAININGS", "36"))):
    PROGRAMS[f"random_training_{_seed}"] = _training(_seed)
