"""Keras models' weights in files by gpugraph and by tf-keras, each read by the other.

    python ci/against_tensorflow/keras_weights.py --tensorflow PYTHON [--only NAME]

The models are those of keras_training.py, and some that are loaded before they are built. Both
sides train each of them, save it as a checkpoint (`save_format="tf"`, with the optimizer's
variables), as an HDF5 file of weights and as one of the whole model, and train on. Then each side
loads the other's files: predictions and, where the optimizer's variables are in the file,
losses of the further training have to be those of the side that saved, to 1e-4. All that is in a
checkpoint has to be used, and the keys of both sides to be equal.
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
from keras_training import CASES as TRAINED, ROWS
from sides import add_options, library, python_of_tensorflow, run_side

LIMIT = 1e-4
SIDES = ("gpugraph", "tensorflow")
LATER_KEYS = ("keras_api/", "save_counter")
"""Prefixes of keys that later versions of Keras add; they hold the metrics' values."""


def blocks(tf: Any) -> tuple[Any, dict[str, Any]]:
    """Return a subclass with a list and a dict of layers, and a network in it."""
    layers = tf.keras.layers

    class Blocks(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.rows = [layers.Dense(4, activation="tanh"), layers.BatchNormalization()]
            self.named = {"last": layers.Dense(3)}
            self.inner = tf.keras.Sequential([layers.Dense(5), layers.Dense(4)])

        def call(self, inputs: Any) -> Any:
            values = inputs
            for layer in self.rows:
                values = layer(values)
            return self.named["last"](self.inner(values))

    model = Blocks()
    model.compile("adam", "mse")
    return model, {"x": ROWS, "y": ROWS[:, :3]}


def deferred(tf: Any) -> tuple[Any, dict[str, Any]]:
    """Return a sequence of layers without input shapes."""
    layers = tf.keras.layers
    rows = [layers.Dense(4, activation="tanh"), layers.Dropout(0.0), layers.Dense(2)]
    model = tf.keras.Sequential(rows)
    model.compile(tf.train.MomentumOptimizer(0.1, 0.9), "mse")
    return model, {"x": ROWS, "y": ROWS[:, :2]}


def recurrent(tf: Any) -> tuple[Any, dict[str, Any]]:
    """Recurrent layers, their cells in a row, and layers of each time step."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((6, 1))
    values = layers.Bidirectional(layers.GRU(3, return_sequences=True))(inputs)
    values = layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_sequences=True)(values)
    values = layers.TimeDistributed(layers.Dense(3))(values)
    values = layers.SimpleRNN(2)(layers.LSTM(3, return_sequences=True)(values))
    model = tf.keras.Model(inputs, layers.Dense(1)(values))
    model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.9, decay=0.01), "mse")
    return model, {"x": ROWS[..., None], "y": ROWS[:, :1]}


def images(tf: Any) -> tuple[Any, dict[str, Any]]:
    """Return convolutions of all kinds."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Reshape((6, 1, 1), input_shape=(6,)),
         layers.Conv2DTranspose(3, 3, strides=(1, 2), padding="same"),
         layers.SeparableConv2D(4, (3, 1), padding="same"), layers.DepthwiseConv2D((2, 1)),
         layers.PReLU(), layers.Flatten(), layers.Dense(2)]
    )  # fmt: skip
    model.compile("rmsprop", "mse")
    return model, {"x": ROWS, "y": ROWS[:, :2]}


LEFT_OUT = ("variational", "generator", "sequence", "weighted classes", "weighted times")
"""Models of keras_training.py that are saved as others are, or have no weights."""

CASES: dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]] = {
    **{name: case for name, case in TRAINED.items() if name not in LEFT_OUT},
    **{case.__name__: case for case in (blocks, deferred, recurrent, images)},
}
UNBUILT = ("blocks", "deferred", "subclass")
WITHOUT_CONFIG = ("blocks", "deferred", "subclass", "custom layer")
"""Models that are not saved as a whole: subclasses, an optimizer of tf.train."""


def further(model: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a model's predictions, and its losses in two more epochs."""
    size = arguments.get("batch_size")
    predicted = model.predict(arguments["x"], batch_size=size)
    parts = predicted if isinstance(predicted, list) else [predicted]
    values = [value for part in parts for value in np.ravel(part).tolist()]
    history = model.fit(**{**arguments, "epochs": 2, "shuffle": False, "verbose": 0}).history
    return {"predict": values, "losses": np.ravel(history["loss"]).tolist()}


def save(tf: Any, name: str, folder: Path) -> dict[str, Any]:
    """Train a model, save it in all forms, and train on."""
    tf.keras.backend.clear_session()
    model, arguments = CASES[name](tf)
    model.fit(**{**arguments, "epochs": 2, "shuffle": False, "verbose": 0})
    stateful = getattr(model, "stateful", False)
    if stateful:
        model.reset_states()
    path = folder / name.replace(" ", "_")
    model.save_weights(f"{path}_checkpoint")
    model.save_weights(f"{path}_weights.h5")
    if name not in WITHOUT_CONFIG:
        model.save(f"{path}_model.h5")
    keys = [key for key, _ in tf.train.list_variables(f"{path}_checkpoint")]
    return {"keys": keys, **further(model, arguments)}


def load(tf: Any, name: str, folder: Path) -> dict[str, Any]:
    """Load a model in all forms, and return the result of `further` for each."""
    path = folder / name.replace(" ", "_")
    results = {}
    for form in ("checkpoint", "weights", "model"):
        tf.keras.backend.clear_session()
        if form == "model" and name in WITHOUT_CONFIG:
            continue
        model, arguments = CASES[name](tf)
        if form == "checkpoint":
            status = model.load_weights(f"{path}_checkpoint")
            results[form] = further(model, arguments)
            status.assert_existing_objects_matched()
        elif form == "weights":
            if name in UNBUILT:
                model.predict(arguments["x"])
            model.load_weights(f"{path}_weights.h5")
            results[form] = {"predict": further(model, arguments)["predict"]}
        else:
            model = tf.keras.models.load_model(f"{path}_model.h5")
            results[form] = further(model, arguments)
    return results


def run(side: str, folder: str, only: str | None, loads: bool) -> None:
    """One side: it saves all models, or loads those of the other side."""
    tf = library(side)
    np.random.seed(0)
    home = Path(folder) / (SIDES[side == SIDES[0]] if loads else side)
    home.mkdir(exist_ok=True)
    chosen = [name for name in CASES if only in (None, name)]
    results = {name: (load if loads else save)(tf, name, home) for name in chosen}
    (Path(folder) / f"{side}_{'load' if loads else 'save'}.json").write_text(json.dumps(results))


def differences(saved: dict[str, Any], loaded: dict[str, Any]) -> list[str]:
    """Return the differences between a side that loaded a model and the one that saved it."""
    faults = []
    for form, values in loaded.items():
        for key, value in values.items():
            pair = np.array(value), np.array(saved[key])
            largest = float((np.abs(pair[0] - pair[1]) / np.maximum(1.0, np.abs(pair[1]))).max())
            if not largest <= LIMIT:
                faults.append(f"{form}, {key}: {largest:.1e}")
    return faults


def keys_of(saved: dict[str, Any]) -> set[str]:
    return {key for key in saved["keys"] if not key.startswith(LATER_KEYS)}


def main() -> None:
    """Run both sides, twice, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        run(*options.side, options.only, options.load)
        return
    chosen = ["--only", options.only] if options.only else []
    pythons = dict(zip(SIDES, (sys.executable, python_of_tensorflow(options.tensorflow))))
    with tempfile.TemporaryDirectory() as folder:
        for phase in ([], ["--load"]):
            for side, python in pythons.items():
                run_side(python, __file__, side, Path(folder), *chosen, *phase)
        records = {path.stem: json.loads(path.read_text()) for path in Path(folder).glob("*.json")}
    is_wrong = False
    for name in records["gpugraph_save"]:
        ours, theirs = records["gpugraph_save"][name], records["tensorflow_save"][name]
        faults = [f"key of one side: {key}" for key in sorted(keys_of(ours) ^ keys_of(theirs))]
        for reader, saved in zip(SIDES, (theirs, ours)):
            loaded = records[f"{reader}_load"][name]
            faults += [f"read by {reader}: {fault}" for fault in differences(saved, loaded)]
        print(f"{name:20}", *(faults or ["equal"]), sep="\n    " if faults else " ")
        is_wrong |= bool(faults)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
