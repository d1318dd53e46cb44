"""Models of tf.keras in the scope of a strategy: callbacks, schedules, layers of users, files."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

from life.strategies import call, mirrored, number, rounded, session
from life.strategy_models import CLASSES, X, Y
from life.strategy_trainings import after, by_name, constant

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def in_scope(count: int = 2) -> Callable[[Any], Any]:
    """Return a decorator of a program of `(tf, record, strategy)` that runs in a scope, with a
    session for tf.keras.
    """

    def decorate(work: Any) -> Any:
        def run(tf: Any, record: Record) -> None:
            strategy = mirrored(tf, count)
            with session(tf) as running:
                tf.keras.backend.set_session(running)
                with strategy.scope():
                    work(tf, record, strategy)

        run.__name__ = work.__name__
        return program(run)

    return decorate


def dense(tf: Any, units: int, activation: Any = None, value: float = 0.1, **settings: Any) -> Any:
    """Return a dense layer of equal weights."""
    return tf.keras.layers.Dense(
        units, activation, kernel_initializer=constant(tf, value), **settings
    )


def regression(tf: Any, optimizer: Any = "sgd", **settings: Any) -> Any:
    """Return a compiled model of X and Y."""
    model = tf.keras.Sequential([dense(tf, 3, "tanh", 0.2, input_shape=(4,)), dense(tf, 1)])
    model.compile(optimizer, "mse", **settings)
    return model


def fit(model: Any, x: Any = X, y: Any = Y, **settings: Any) -> Any:
    """Train without shuffling; return the history."""
    settings = {"batch_size": 8, "epochs": 2, "shuffle": False, "verbose": 0, **settings}
    return model.fit(x, y, **settings).history


def numbers(history: Any) -> Any:
    """Return a history under the names of 2.x."""
    return {name.replace("accuracy", "acc"): rounded(values) for name, values in history.items()}


@in_scope()
def rates_set_by_a_callback(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    model = regression(tf, k.optimizers.SGD(0.5, momentum=0.5))
    seen: list[Any] = []
    callbacks = [
        k.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1)),
        k.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: seen.append([epoch, rounded(logs["loss"])])
        ),
    ]
    record("history", numbers(fit(model, epochs=3, callbacks=callbacks)))
    record("seen", seen)
    record("rate", rounded(k.backend.get_value(model.optimizer.lr)))


@in_scope()
def training_that_stops_early(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    model = regression(tf, k.optimizers.SGD(0.3), metrics=["mae"])
    stop = k.callbacks.EarlyStopping("val_loss", patience=1, restore_best_weights=True)
    history = fit(model, epochs=9, callbacks=[stop], validation_data=(X[:8] * 3, Y[:8]))
    record("epochs", len(history["loss"]))
    record("history", numbers(history))
    record("weights", [rounded(item) for item in model.get_weights()])


@in_scope()
def plateaus_and_logs(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    path = os.path.join(str(record.folder), "log.csv")
    model = regression(tf, k.optimizers.SGD(0.4))
    callbacks = [
        k.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=0.5),
        k.callbacks.CSVLogger(path),
        k.callbacks.TerminateOnNaN(),
    ]
    fit(model, epochs=4, callbacks=callbacks)
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    record("rates", [rounded(float(row["lr"])) for row in rows])
    record("losses", [rounded(float(row["loss"])) for row in rows])


@in_scope()
def best_models_kept(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    path = os.path.join(str(record.folder), "best.h5")
    model = regression(tf, k.optimizers.SGD(0.2))
    keep = k.callbacks.ModelCheckpoint(path, "loss", save_best_only=True, save_weights_only=True)
    record("history", numbers(fit(model, epochs=3, callbacks=[keep])))
    other = regression(tf)
    other.load_weights(path)
    record("loaded", rounded(other.evaluate(X, Y, batch_size=4, verbose=0)))


@in_scope()
def weights_of_examples(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    model = k.Sequential([dense(tf, 3, "softmax", input_shape=(4,))])
    model.compile(k.optimizers.Adam(0.1), "sparse_categorical_crossentropy")
    weights = np.linspace(0.5, 2, 16).astype(np.float32)
    record("by example", numbers(fit(model, X, CLASSES, sample_weight=weights)))
    record("evaluated", rounded(model.evaluate(X, CLASSES, 8, 0, sample_weight=weights)))


@in_scope()
def two_inputs_and_outputs(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    a, b = k.Input((4,), name="a"), k.Input((4,), name="b")
    hidden = dense(tf, 3, "relu", 0.3)(k.layers.concatenate([a, b]))
    outputs = [dense(tf, 1, name="one")(hidden), dense(tf, 3, "softmax", name="two")(hidden)]
    model = k.Model([a, b], outputs)
    model.compile(
        "rmsprop",
        {"one": "mse", "two": "sparse_categorical_crossentropy"},
        loss_weights={"one": 1.0, "two": 0.3},
    )
    history = fit(model, {"a": X, "b": -X}, {"one": Y, "two": CLASSES}, batch_size=4)
    record("history", numbers(history))
    record("predicted", [rounded(item[:3]) for item in model.predict([X, -X], batch_size=8)])


@in_scope()
def layers_of_users(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras

    class Shifted(k.layers.Layer):  # type: ignore[misc]
        def build(self, shape: Any) -> None:
            self.w = self.add_weight("w", (int(shape[-1]), 3), initializer=constant(tf, 0.3),
                                     regularizer=k.regularizers.l1(0.01))  # fmt: skip
            self.scale = self.add_weight("scale", (), initializer="ones")

        def call(self, x: Any) -> Any:
            y = tf.matmul(x, self.w)
            return y + self.scale * tf.reduce_mean(y, 1, keepdims=True)

    model = k.Sequential([Shifted(input_shape=(4,)), dense(tf, 1, kernel_regularizer="l2")])
    model.compile("sgd", "mse")
    record("history", numbers(fit(model)))
    record("weights", [rounded(item) for item in model.get_weights()])


@in_scope()
def normalized_convolutions(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    images = np.cos(np.arange(16 * 36, dtype=np.float32)).reshape(16, 6, 6, 1)
    model = k.Sequential([
        k.layers.Conv2D(2, 3, kernel_initializer=constant(tf), input_shape=(6, 6, 1)),
        k.layers.BatchNormalization(momentum=0.5),
        k.layers.Activation("relu"),
        k.layers.GlobalAveragePooling2D(),
        k.layers.Dropout(0.0),
        dense(tf, 3, "softmax"),
    ])  # fmt: skip
    model.compile("adam", "sparse_categorical_crossentropy")
    record("history", numbers(fit(model, images, CLASSES, batch_size=8)))
    record("evaluated", rounded(model.evaluate(images, CLASSES, 8, 0)))
    record("weights", [rounded(item) for item in model.get_weights()])


@in_scope()
def schedules_of_optimizers(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    rate = k.optimizers.schedules.ExponentialDecay(0.3, 2, 0.5, staircase=True)
    model = regression(tf, k.optimizers.SGD(rate, 0.9, nesterov=True))
    record("history", numbers(fit(model, epochs=3)))
    record("steps", int(k.backend.get_value(model.optimizer.iterations)))


@in_scope(4)
def validated_on_four(tf: Any, record: Record, strategy: Any) -> None:
    model = regression(tf, "adamax", metrics=["mae"])
    record("history", numbers(fit(model, validation_data=(X[:8], Y[:8]), batch_size=4, epochs=3)))
    record("predicted", rounded(model.predict(X, batch_size=4)))


@in_scope()
def datasets_with_validation(tf: Any, record: Record, strategy: Any) -> None:
    model = regression(tf, "adagrad", metrics=["mse"])
    data = tf.data.Dataset.from_tensor_slices((X[:16], Y[:16])).batch(8).repeat()
    test = tf.data.Dataset.from_tensor_slices((X[8:16], Y[8:16])).batch(4).repeat()
    history = model.fit(data, epochs=3, steps_per_epoch=2, initial_epoch=1, verbose=0,
                        validation_data=test, validation_steps=2)  # fmt: skip
    record("history", numbers(history.history))
    record("evaluated", rounded(model.evaluate(test, steps=2, verbose=0)))
    record("predicted", rounded(model.predict(test, steps=1)))


@in_scope()
def metrics_and_losses_of_users(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras

    class Largest(k.metrics.Metric):  # type: ignore[misc]
        def __init__(self, name: str = "largest", dtype: Any = None) -> None:
            super().__init__(name=name, dtype=dtype)
            self.total = self.add_weight("total", initializer="zeros")

        def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            return self.total.assign_add(tf.reduce_sum(tf.abs(y_true - y_pred)))

        def result(self) -> Any:
            return self.total + 0.0

    model = k.Sequential([dense(tf, 1, input_shape=(4,))])
    model.compile("sgd", lambda y, p: k.backend.mean(k.backend.pow(y - p, 4)), [Largest()])
    record("history", numbers(fit(model, X[:16], Y[:16])))


@in_scope()
def frozen_layers(tf: Any, record: Record, strategy: Any) -> None:
    model = regression(tf)
    model.layers[0].trainable = False
    model.compile(tf.keras.optimizers.Adam(0.1), "mae")
    before = [rounded(item) for item in model.get_weights()]
    record("history", numbers(fit(model)))
    record("same", [a == rounded(b) for a, b in zip(before, model.get_weights())])
    record("names", len(model.trainable_weights))


@in_scope()
def whole_models_in_files(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    path = os.path.join(str(record.folder), "model.h5")
    model = regression(tf, k.optimizers.Adam(0.05))
    record("history", numbers(fit(model)))
    model.save(path)
    again = k.models.load_model(path)
    record("again", numbers(fit(again)))


@in_scope()
def masked_recurrence(tf: Any, record: Record, strategy: Any) -> None:
    k = tf.keras
    ids = (np.arange(80).reshape(16, 5) % 4).astype(np.int32)
    model = k.Sequential([
        k.layers.Embedding(4, 3, embeddings_initializer=constant(tf, 0.2), mask_zero=True,
                           input_length=5),
        k.layers.LSTM(2, kernel_initializer=constant(tf), recurrent_initializer=constant(tf)),
        dense(tf, 1, "sigmoid"),
    ])  # fmt: skip
    model.compile("adam", "binary_crossentropy")
    record("history", numbers(fit(model, ids, CLASSES % 2)))
    record("weights", [rounded(item) for item in model.get_weights()])


@in_scope()
def models_in_loops_of_users(tf: Any, record: Record, strategy: Any) -> None:
    model = tf.keras.Sequential([dense(tf, 3, "relu", 0.3, input_shape=(4,)), dense(tf, 1)])
    optimizer = tf.train.AdamOptimizer(0.1)

    def fn() -> Any:
        x = tf.constant(X[:4]) * (number(tf) + 1.0)
        loss = tf.reduce_mean((model(x) - tf.constant(Y[:4])) ** 2) / 2
        return after(tf, optimizer.minimize(loss, var_list=model.trainable_variables), loss)

    total = strategy.reduce("SUM", call(strategy, fn), axis=None)
    running = tf.keras.backend.get_session()
    running.run(tf.global_variables_initializer())
    record("losses", [rounded(running.run(total)) for _ in range(3)])
    record("weights", [rounded(item) for item in model.get_weights()])
    record("count", len(by_name(tf, running)))
