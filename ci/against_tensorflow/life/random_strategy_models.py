"""Random models of tf.keras under strategies, and random misuse of strategies."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from recorded_programs import Programs, Record

from life.random_strategies import STRATEGIES
from life.strategies import call, mirrored, number, rounded, session
from life.strategy_keras import numbers
from life.strategy_loops import ramp
from life.strategy_trainings import constant

PROGRAMS: Programs = {}
ROWS = 24
X = np.sin(np.arange(ROWS * 8, dtype=np.float32) * 0.3).reshape(ROWS, 8)
Y = X[:, :1] * 0.5 - X[:, 1:2]
CLASSES = (np.arange(ROWS) % 3).astype(np.int32)


class Model:
    """A random model and its training. Both libraries make the same choices."""

    def __init__(self, tf: Any, record: Record, seed: int) -> None:
        choice = self.random = random.Random(1000 + seed)
        self.tf, self.record, self.folder = tf, record, str(record.folder)
        self.kind = choice.choice(["mirrored"] * 5 + ["one"])
        self.count = choice.choice([1, 2, 2, 3, 4])
        self.form = choice.choice(["sequential", "functional", "branches"])
        self.layers = choice.choice(["dense", "conv", "normalized", "rows", "recurrent", "dropped"])
        self.task = choice.choice(["regression", "classes"])
        self.optimizer = choice.choice(["SGD", "Adam", "RMSprop", "Adagrad", "Nadam", "Adamax"])
        self.metrics = choice.sample(["mae", "mse", "acc", "own"], choice.choice([0, 1, 2]))
        self.batch = choice.choice([6, 12] if self.count == 3 else [4, 8, 12])
        self.data = choice.choice(["arrays"] * 4 + ["dataset"])
        self.epochs = choice.choice([1, 2])
        self.validates = choice.random() < 0.5
        self.weights = choice.choice(["", "", "samples"])
        self.regularizer = choice.choice([None, None, 0.01])
        self.saves = choice.choice(["h5", "checkpoint", "model"])

    def run(self) -> None:
        """Train, evaluate, predict, save, and go on under another number of replicas."""
        names = ("kind", "count", "form", "layers", "task", "optimizer", "metrics", "batch",
                 "data", "epochs", "validates", "weights", "regularizer", "saves")  # fmt: skip
        self.record("choices", {name: getattr(self, name) for name in names})
        with session(self.tf) as running:
            self.tf.keras.backend.set_session(running)
            with STRATEGIES[self.kind](self.tf, self.count).scope():
                model = self._compiled()
            self._train(model)
        with self.tf.Graph().as_default(), session(self.tf) as running:
            self.tf.keras.backend.set_session(running)
            with mirrored(self.tf, 1 + self.count % 3).scope():
                self._continue()

    # -- the model

    def _dense(self, units: int, activation: Any = None, **settings: Any) -> Any:
        k, regularizer = self.tf.keras, None
        if self.regularizer:
            regularizer = k.regularizers.l2(self.regularizer)
        return k.layers.Dense(
            units, activation, kernel_initializer=ramp(self.tf), kernel_regularizer=regularizer,
            **settings,
        )  # fmt: skip

    def _hidden(self) -> list[Any]:
        k = self.tf.keras.layers
        if self.layers == "conv":
            return [k.Reshape((4, 2, 1)),
                    k.Conv2D(3, 2, activation="relu", kernel_initializer=constant(self.tf, 0.2)),
                    k.GlobalAveragePooling2D()]  # fmt: skip
        if self.layers == "normalized":
            return [self._dense(5), k.BatchNormalization(momentum=0.6), k.Activation("tanh")]
        if self.layers == "rows":
            rows = k.Lambda(lambda x: self.tf.cast(self.tf.abs(x) * 6.9, self.tf.int32))
            return [rows, k.Embedding(7, 3, embeddings_initializer=ramp(self.tf)), k.Flatten()]
        if self.layers == "recurrent":
            return [k.Reshape((4, 2)),
                    k.LSTM(3, kernel_initializer=constant(self.tf, 0.2),
                           recurrent_initializer=constant(self.tf, 0.1))]  # fmt: skip
        if self.layers == "dropped":
            return [self._dense(4, "tanh"), k.Dropout(0.0), k.LayerNormalization()]
        return [self._dense(4, "tanh"), self._dense(3, "sigmoid")]

    def _compiled(self) -> Any:
        k = self.tf.keras
        last = self._dense(3, "softmax") if self.task == "classes" else self._dense(1)
        layers = [*self._hidden(), last]
        if self.form == "sequential":
            model = k.Sequential([k.layers.InputLayer((8,)), *layers])
        else:
            inputs = k.layers.Input((8,))
            out = inputs
            for layer in layers[:-1]:
                out = layer(out)
            if self.form == "branches":
                out = k.layers.Concatenate()([out, self._dense(2, "tanh")(inputs)])
            model = k.Model(inputs, last(out))
        loss = "sparse_categorical_crossentropy" if self.task == "classes" else "mse"
        own = lambda y, p: k.backend.mean(k.backend.abs(p[:, :1]))  # noqa: E731
        own.__name__ = "own"
        metrics = [own if name == "own" else name for name in self.metrics]
        if self.task == "classes":
            metrics = ["acc" if name in ("mae", "mse") else name for name in metrics]
            metrics = list(dict.fromkeys(metrics))
        model.compile(getattr(k.optimizers, self.optimizer)(0.05), loss, metrics=metrics)
        return model

    # -- the training

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return X, CLASSES if self.task == "classes" else Y

    def _given(self) -> tuple[Any, dict[str, Any]]:
        x, y = self._arrays()
        if self.data == "arrays":
            settings: dict[str, Any] = {"y": y, "batch_size": self.batch}
            if self.weights:
                settings["sample_weight"] = np.linspace(0.5, 1.5, ROWS)
            return x, settings
        dataset = self.tf.data.Dataset.from_tensor_slices((x, y)).repeat(self.epochs)
        dataset = dataset.batch(self.batch, drop_remainder=True)
        return dataset, {"steps_per_epoch": ROWS // self.batch}

    def _fit(self, model: Any) -> Any:
        data, settings = self._given()
        if self.validates:
            x, y = self._arrays()
            settings["validation_data"] = (x[::-1], y[::-1])
            if self.data == "dataset":
                held = self.tf.data.Dataset.from_tensor_slices((x[::-1], y[::-1]))
                settings["validation_data"] = held.batch(self.batch, drop_remainder=True)
                settings["validation_steps"] = 2
        if self.data == "arrays":
            settings["shuffle"] = False
        history = model.fit(data, epochs=self.epochs, verbose=0, **settings).history
        return numbers(history)

    def _train(self, model: Any) -> None:
        x, y = self._arrays()
        self.record("history", self._fit(model))
        evaluated = model.evaluate(x, y, batch_size=self.batch, verbose=0)
        self.record("evaluated", rounded(evaluated))
        self.record("predicted", rounded(model.predict(x, batch_size=self.batch)))
        self.record("weights", [rounded(value) for value in model.get_weights()])
        weights = [w.name for w in model.weights if "/replica_" not in w.name]
        self.record("names", weights)
        path = os.path.join(self.folder, "kept")
        if self.saves == "model" and self.layers != "rows":
            model.save(f"{path}.h5")
        else:
            model.save_weights(f"{path}.h5" if self.saves != "checkpoint" else path)

    def _continue(self) -> None:
        model = self._compiled()
        path = os.path.join(self.folder, "kept")
        x, _ = self._arrays()
        model.load_weights(f"{path}.h5" if self.saves != "checkpoint" else path)
        self.record("loaded", rounded(model.predict(x[:12], batch_size=12)))
        self.record("history of the loaded", self._fit(model))


# -- misuse


class Misuse:
    """A sequence of random calls, many of which are errors."""

    def __init__(self, tf: Any, record: Record, seed: int) -> None:
        self.random, self.tf, self.record = random.Random(2000 + seed), tf, record
        self.count = self.random.choice([1, 2, 3])
        self.strategy = mirrored(tf, self.count)
        with self.strategy.scope():
            none, summed = tf.VariableAggregation.NONE, tf.VariableAggregation.SUM
            first = tf.VariableAggregation.ONLY_FIRST_REPLICA
            on_read = tf.VariableSynchronization.ON_READ
            self.variables = {
                "plain": tf.Variable(1.0),
                "summed": tf.Variable(1.0, aggregation=summed, trainable=False),
                "mean": tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN),
                "first": tf.Variable(1.0, aggregation=first),
                "read": tf.Variable(
                    1.0, aggregation=summed, synchronization=on_read, trainable=False
                ),
                "read none": tf.Variable(
                    1.0, aggregation=none, synchronization=on_read, trainable=False
                ),
            }
        self.outside = tf.Variable(1.0, use_resource=True)

    def run(self) -> None:
        """Record the values or errors of some calls."""
        for turn in range(8):
            name, action = self._action()
            place = self.random.choice(["replica", "replica", "scope", "outside"])
            if name.startswith(("merge", "train")) and place != "replica":
                place = "replica"  # the versions differ in their words
            if "read" in name or name == "condition":
                place = "replica"  # 2.x enters the scope of the variable
            if name.startswith("update"):
                place = "scope"  # 2.x allows updates in replicas, which 1.15 refuses
            key = f"{turn} {place} {name}"
            self.record.error(key, lambda p=place, a=action, k=key: self._at(p, a, k))

    def _at(self, place: str, action: Callable[[], Any], key: str) -> Any:
        tf, strategy = self.tf, self.strategy
        if place == "outside":
            value = action()
        else:
            with strategy.scope():
                value = call(strategy, action) if place == "replica" else action()
        fetched = list(strategy.experimental_local_results(value))
        if "assign" in key or "train" in key:  # an operation in one version
            fetched = [getattr(item, "op", item) for item in fetched]
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            results = [r for r in running.run(fetched) if r is not None]
            kept = [running.run(list(v.values)) for v in self.variables.values()]
        return rounded(results), rounded(kept)

    def _action(self) -> tuple[str, Callable[[], Any]]:
        tf, choice, strategy = self.tf, self.random, self.strategy
        name = choice.choice(sorted(self.variables))
        v = self.variables[name]
        method = choice.choice(["assign", "assign_add", "assign_sub"])
        operation = choice.choice(["SUM", "MEAN"])
        differs = choice.random() < 0.5
        context = tf.distribute.get_replica_context

        def value() -> Any:
            mine = number(tf) if context() is not None and differs else tf.constant(2.0)
            return mine + 1.0

        def merged(action: Callable[..., Any]) -> Any:
            return context().merge_call(action, args=(value(),))

        actions: dict[str, Callable[[], Any]] = {
            f"{method} {name}": lambda: getattr(v, method)(value()),
            f"read {name}": lambda: v.read_value() + 0.0,
            f"arithmetic of {name}": lambda: v * 2.0 + value(),
            f"reduce {operation}": lambda: strategy.reduce(operation, value(), axis=None),
            f"reduce {operation} of {name}": lambda: strategy.reduce(operation, v, axis=None),
            f"all_reduce {operation}": lambda: context().all_reduce(operation, value()),
            "merge a sum": lambda: merged(
                lambda s, x: s.reduce(tf.distribute.ReduceOp.SUM, x, axis=None)
            ),
            f"merge {method} {name}": lambda: merged(
                lambda s, x: s.extended.update(
                    v, lambda part, y: getattr(part, method)(y), args=(tf.constant(3.0),)
                )
            ),
            f"update {name}": lambda: strategy.extended.update(
                v, lambda part: part.assign_add(1.0)
            ),
            "read from outside": lambda: self.outside * value(),
            "nested call": lambda: call(strategy, value),
            "read the number": lambda: context().replica_id_in_sync_group,
            "unknown reduction": lambda: strategy.reduce("MAX", value(), axis=None),
            "reduce by an axis": lambda: strategy.reduce(
                operation, tf.constant([1.0, 2.0]), axis=0
            ),
            "broadcast": lambda: strategy.extended.broadcast_to(tf.constant(4.0), None),
            f"is {name} ready": lambda: tf.cast(v.is_initialized(), tf.float32),
            f"train {name}": lambda: tf.train.GradientDescentOptimizer(0.5).minimize(
                (v - value()) ** 2, var_list=[v]
            ),
            "condition": lambda: tf.cond(value() > 1.5, lambda: v + 1.0, lambda: v - 1.0),
        }
        chosen = choice.choice(sorted(actions))
        return chosen, actions[chosen]


def _model(seed: int) -> Callable[[Any, Record], None]:
    return lambda tf, record: Model(tf, record, seed).run()


def _misuse(seed: int) -> Callable[[Any, Record], None]:
    return lambda tf, record: Misuse(tf, record, seed).run()


for _seed in range(int(os.environ.get("RANDOM_MODELS", "0"))):
    PROGRAMS[f"random_model_{_seed}"] = _model(_seed)
for _seed in range(int(os.environ.get("RANDOM_MISUSES", "20"))):
    PROGRAMS[f"random_misuse_{_seed}"] = _misuse(_seed)
