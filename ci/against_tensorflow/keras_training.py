"""Models of Keras fit by gpugraph and by tf-keras, with equal losses, metrics and variables.

    python ci/against_tensorflow/keras_training.py --tensorflow PYTHON [--only NAME]

Both sides begin with equal variables and see equal data without shuffling, for three epochs. For
each model it prints the largest difference of the histories, of the results of `evaluate` and
`predict`, and of the variables. It fails where one is above 1e-4 and where names of metrics differ.

A mask that reaches a loss is left out: TensorFlow 1.15 divides by all elements, as gpugraph does,
while later versions divide by the unmasked ones.
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

LIMIT = 1e-4
RANDOM = np.random.RandomState(0)
ROWS = RANDOM.rand(20, 6).astype(np.float32)
CLASSES = RANDOM.randint(0, 3, 20)
ONE_HOT = np.eye(3, dtype=np.float32)[CLASSES]
IMAGES = RANDOM.rand(12, 8, 8, 1).astype(np.float32)
TIMES = RANDOM.rand(12, 5, 4).astype(np.float32)
TIMES[::2, 3:] = 0.0

Case = Callable[[Any], tuple[Any, dict[str, Any]]]
"""A function of TensorFlow: the compiled model, and the arguments of `fit`."""


def dense_network(tf: Any) -> tuple[Any, dict[str, Any]]:
    keras = tf.keras
    model = keras.Sequential(
        [keras.layers.Dense(8, activation="relu", input_shape=(6,)),
         keras.layers.Dense(3, activation="softmax")]
    )  # fmt: skip
    metrics = ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(k=2)]
    model.compile("adam", "sparse_categorical_crossentropy", metrics=metrics)
    return model, {"x": ROWS, "y": CLASSES, "validation_split": 0.25}


def convolutions(tf: Any) -> tuple[Any, dict[str, Any]]:
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 1)), layers.MaxPooling2D(),
         layers.BatchNormalization(), layers.Flatten(), layers.Dense(3, activation="softmax")]
    )  # fmt: skip
    optimizer = tf.keras.optimizers.RMSprop(0.01, momentum=0.5)
    model.compile(optimizer, "categorical_crossentropy", metrics=["acc"])
    return model, {"x": IMAGES, "y": ONE_HOT[:12]}


def shared_towers(tf: Any) -> tuple[Any, dict[str, Any]]:
    layers = tf.keras.layers
    one, other = (tf.keras.Input((6,), name=name) for name in ("one", "other"))
    tower = layers.Dense(4, activation="tanh", kernel_regularizer=tf.keras.regularizers.l2(0.1))
    joined = layers.concatenate([tower(one), tower(other)])
    model = tf.keras.Model([one, other], layers.Dense(1, activation="sigmoid")(joined))
    metrics = ["acc", tf.keras.metrics.AUC(), tf.keras.metrics.Precision(), "mae"]
    model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.9), "binary_crossentropy", metrics)
    x = {"one": ROWS, "other": ROWS[::-1]}
    return model, {"x": x, "y": CLASSES > 0, "batch_size": 7}


def several_outputs(tf: Any) -> tuple[Any, dict[str, Any]]:
    layers = tf.keras.layers
    inputs = tf.keras.Input((6,))
    hidden = layers.Dense(5, activation="relu")(inputs)
    number = layers.Dense(1, name="number")(hidden)
    kind = layers.Dense(3, activation="softmax", name="kind")(hidden)
    model = tf.keras.Model(inputs, [number, kind])
    model.compile(
        "adagrad",
        {"number": "mse", "kind": tf.keras.losses.CategoricalCrossentropy(label_smoothing=0.1)},
        loss_weights={"number": 0.3},
        metrics={"number": ["mae"], "kind": ["accuracy"]},
        weighted_metrics={"kind": ["ce"]},
    )
    weights = {"number": np.linspace(0, 1, 20), "kind": np.linspace(2, 1, 20)}
    y = {"number": ROWS[:, 0], "kind": ONE_HOT}
    return model, {"x": ROWS, "y": y, "sample_weight": weights, "batch_size": 8}


def variational(tf: Any) -> tuple[Any, dict[str, Any]]:
    layers = tf.keras.layers
    inputs = tf.keras.Input((6,))
    mean, spread = layers.Dense(2)(inputs), layers.Dense(2)(inputs)
    noise = 0.3
    code = layers.Lambda(lambda t: t[0] + tf.exp(t[1] / 2) * noise)([mean, spread])
    outputs = layers.Dense(6, activation="sigmoid")(code)
    model = tf.keras.Model(inputs, outputs)
    distance = tf.reduce_mean(tf.reduce_sum(tf.square(inputs - outputs), -1))
    excess = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + spread - mean**2 - tf.exp(spread), -1))
    model.add_loss(distance + excess)
    model.compile(tf.keras.optimizers.Adam(0.01))
    return model, {"x": ROWS, "y": None}


def nested(tf: Any) -> tuple[Any, dict[str, Any]]:
    layers = tf.keras.layers
    inside = tf.keras.Input((4,))
    inner = tf.keras.Model(inside, layers.Dense(3, activation="relu")(inside))
    inputs = tf.keras.Input((6,))
    outputs = layers.Dense(1)(inner(layers.Dense(4)(inputs)))
    model = tf.keras.Model(inputs, outputs)
    model.compile("nadam", "logcosh", metrics=["mse", "cosine_similarity"])
    return model, {"x": ROWS, "y": ROWS[:, :1], "validation_data": (ROWS[:9], ROWS[:9, :1])}


def weighted_classes(tf: Any) -> tuple[Any, dict[str, Any]]:
    model, arguments = dense_network(tf)
    arguments.pop("validation_split")
    return model, {**arguments, "class_weight": {0: 1.0, 1: 5.0, 2: 0.5}}


def weighted_times(tf: Any) -> tuple[Any, dict[str, Any]]:
    layers = tf.keras.layers
    inputs = tf.keras.Input((5, 4))
    outputs = layers.Lambda(lambda t: tf.reduce_sum(t, -1, keepdims=True))(
        layers.Activation("tanh")(inputs)
    )
    model = tf.keras.Model(inputs, layers.Dense(2)(outputs))
    model.compile(
        "sgd", "mse", sample_weight_mode="temporal", metrics=["mae"], weighted_metrics=["mse"]
    )
    weights = np.linspace(0, 2, 60).reshape(12, 5)
    return model, {"x": TIMES, "y": TIMES[..., :2], "sample_weight": weights}


def custom_layer(tf: Any) -> tuple[Any, dict[str, Any]]:
    class Scale(tf.keras.layers.Layer):
        def build(self, input_shape: Any) -> None:
            size = int(input_shape[-1])
            self.scale = self.add_weight("scale", [size], initializer="ones")
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            self.add_loss(0.1 * tf.reduce_sum(tf.square(self.scale)), inputs=inputs)
            self.add_metric(tf.reduce_mean(self.scale), name="scale", aggregation="mean")
            return inputs * self.scale

    model = tf.keras.Sequential([Scale(input_shape=(6,)), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adamax(0.05), tf.keras.losses.Huber(), metrics=["mape"])
    return model, {"x": ROWS, "y": ROWS.sum(1)}


def subclass(tf: Any) -> tuple[Any, dict[str, Any]]:
    class Twice(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = tf.keras.layers.Dense(3)

        def call(self, inputs: Any) -> Any:
            return tf.nn.softmax(self.dense(inputs))

    model = Twice()
    model.compile(tf.train.AdamOptimizer(0.01), "categorical_crossentropy", metrics=["acc"])
    model.predict(ROWS)
    return model, {"x": ROWS, "y": ONE_HOT}


def generator(tf: Any) -> tuple[Any, dict[str, Any]]:
    model, _ = dense_network(tf)

    def batches() -> Any:
        while True:
            for start in range(0, 20, 5):
                yield ROWS[start : start + 5], CLASSES[start : start + 5]

    return model, {"x": batches(), "steps_per_epoch": 3}


def sequence(tf: Any) -> tuple[Any, dict[str, Any]]:
    class Batches(tf.keras.utils.Sequence):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> Any:
            rows = slice(5 * index, 5 * index + 5)
            return ROWS[rows], CLASSES[rows], np.linspace(0, 1, 5)

    model, _ = dense_network(tf)
    return model, {"x": Batches(), "workers": 2, "validation_data": Batches()}


def bidirectional(tf: Any) -> tuple[Any, dict[str, Any]]:
    layers = tf.keras.layers
    inputs = tf.keras.Input((5, 4))
    outputs = layers.Bidirectional(layers.LSTM(3))(layers.Masking()(inputs))
    model = tf.keras.Model(inputs, layers.Dense(3, activation="softmax")(outputs))
    model.compile("adam", "categorical_crossentropy", metrics=["acc"])
    return model, {"x": TIMES, "y": ONE_HOT[:12]}


def stateful(tf: Any) -> tuple[Any, dict[str, Any]]:
    layers = tf.keras.layers
    inputs = tf.keras.Input(batch_shape=(4, 5, 4))
    model = tf.keras.Model(inputs, layers.Dense(1)(layers.GRU(3, stateful=True)(inputs)))
    model.compile("sgd", "mse")
    return model, {"x": TIMES, "y": TIMES[:, 0, :1], "batch_size": 4}


CASES: dict[str, Case] = {
    case.__name__.replace("_", " "): case
    for case in (
        dense_network, convolutions, shared_towers, several_outputs, variational, nested,
        weighted_classes, weighted_times, custom_layer, subclass, generator, sequence,
        bidirectional, stateful,
    )
}  # fmt: skip


def fit(tf: Any, case: Case) -> dict[str, Any]:
    """Return the results of a model that both sides compare."""
    tf.keras.backend.clear_session()
    model, arguments = case(tf)
    random = np.random.RandomState(7)
    trained = {id(weight) for weight in model.trainable_weights}
    values = [
        random.uniform(-0.5, 0.5, value.shape) if id(weight) in trained else value
        for weight, value in zip(model.weights, model.get_weights())
    ]
    model.set_weights(values)
    options = {"epochs": 3, "shuffle": False, "verbose": 0, **arguments}
    history = model.fit(**options).history
    result = {f"history {name}": np.ravel(column).tolist() for name, column in history.items()}
    result["names"] = list(model.metrics_names)
    x, y = options["x"], options.get("y")
    if not hasattr(x, "__next__") and not hasattr(x, "on_epoch_end"):
        size = options.get("batch_size")
        result["evaluate"] = np.ravel(model.evaluate(x, y, batch_size=size, verbose=0)).tolist()
        predicted = model.predict(x, batch_size=size)
        parts = predicted if isinstance(predicted, list) else [predicted]
        result["predict"] = [value for part in parts for value in np.ravel(part).tolist()]
    for number, value in enumerate(model.get_weights()):
        result[f"weight {number}"] = np.ravel(value).tolist()
    return result


def report(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[float, list[str]]:
    """Return the largest difference of two sides, and which names differ."""
    faults = []
    if ours.pop("names") != theirs.pop("names") or ours.keys() != theirs.keys():
        faults.append(f"names: {sorted(ours)} and {sorted(theirs)}")
    largest = 0.0
    for key in ours.keys() & theirs.keys():
        pair = np.array(ours[key]), np.array(theirs[key])
        if pair[0].shape != pair[1].shape:
            faults.append(f"{key}: {pair[0].shape} and {pair[1].shape}")
            continue
        difference = np.abs(pair[0] - pair[1]) / np.maximum(1.0, np.abs(pair[1]))
        largest = max(largest, float(difference.max(initial=0.0)))
        if not difference.max(initial=0.0) <= LIMIT:
            faults.append(f"{key}: {pair[0].ravel()[:4]} and {pair[1].ravel()[:4]}")
    return largest, faults


def run(side: str, folder: str, only: str | None) -> None:
    """One side of all models."""
    tf = library(side)
    results: dict[str, Any] = {}
    for name, case in CASES.items():
        if only in (None, name):
            results[name] = fit(tf, case)
    (Path(folder) / f"{side}.json").write_text(json.dumps(results))


def main() -> None:
    """Run both sides and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--only", choices=list(CASES))
    options = parser.parse_args()
    if options.side:
        run(*options.side, options.only)
        return
    chosen = ["--only", options.only] if options.only else []
    with tempfile.TemporaryDirectory() as folder:
        for side, python in (
            ("gpugraph", sys.executable),
            ("tensorflow", python_of_tensorflow(options.tensorflow)),
        ):
            run_side(python, __file__, side, Path(folder), *chosen)
        ours, theirs = (
            json.loads((Path(folder) / f"{side}.json").read_text())
            for side in ("gpugraph", "tensorflow")
        )
    is_wrong = False
    for name in theirs:
        largest, faults = report(ours[name], theirs[name])
        print(f"{name:20} {largest:.1e}", *faults, sep="\n    " if faults else " ")
        is_wrong |= bool(faults)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
