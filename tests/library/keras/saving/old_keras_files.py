"""Files between one old Keras and tf.keras, in one process: `test_old_keras_files.py` runs this.

    python old_keras_files.py VERSION

One of them trains each model and saves it, as a whole and as weights, and the other loads it. The
loaded model has to predict the same, and to train with the same losses if the optimizer exists
there. Prints the failures, and exits with status 1 if there are any.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import old_keras_patches

import gpugraph

RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.rand(8, 8, 8, 2).astype(np.float32)
STEPS = RANDOM.rand(8, 5, 3).astype(np.float32)
WORDS = RANDOM.randint(1, 9, (8, 6))
CLASSES = np.eye(3, dtype=np.float32)[RANDOM.randint(0, 3, 8)]
FOUND = CLASSES.argmax(1)[:, None]

Model = Callable[[Any], tuple[Any, Any, Any]]
"""A function of a Keras: the compiled model, inputs and targets."""


def images(keras: Any) -> tuple[Any, Any, Any]:
    """Layers in a row, with convolutions, a transposed one and batch normalization; by RMSprop."""
    layers = keras.layers
    model = keras.models.Sequential(
        [
            layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 2), use_bias=False),
            layers.BatchNormalization(),
            layers.Conv2DTranspose(3, 3, strides=2, padding="same"),
            layers.MaxPooling2D(),
            layers.SeparableConv2D(4, 3),
            layers.PReLU(shared_axes=[1, 2]),
            layers.Flatten(),
            layers.Dropout(0.0),
            layers.Dense(3, activation="softmax", kernel_regularizer=keras.regularizers.l2(0.01)),
        ]
    )
    model.compile(keras.optimizers.RMSprop(0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model, IMAGES, CLASSES


def words(keras: Any) -> tuple[Any, Any, Any]:
    """Masks and LSTMs beside numbers; by Adam."""
    layers = keras.layers
    tokens, numbers = layers.Input((6,), dtype="int32"), layers.Input((3,), name="numbers")
    x = layers.Embedding(9, 4, mask_zero=True)(tokens)
    x = layers.LSTM(4, return_sequences=True, recurrent_activation="hard_sigmoid")(x)
    x = layers.LSTM(3, recurrent_activation="sigmoid", go_backwards=True)(x)
    x = layers.concatenate([x, layers.Dense(2, activation="relu")(numbers)])
    x = layers.add([layers.Dense(3)(x), numbers])
    model = keras.models.Model([tokens, numbers], layers.Dense(1, activation="sigmoid")(x))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model, [WORDS, STEPS[:, 0]], FOUND / 2


def directions(keras: Any) -> tuple[Any, Any, Any]:
    """Return both directions, layers of each step, a row of cells; by Nesterov's momentum."""
    layers = keras.layers
    x = inputs = layers.Input((5, 3))
    gates = {"recurrent_activation": "hard_sigmoid", "reset_after": False}
    x = layers.Bidirectional(layers.GRU(3, return_sequences=True, **gates))(x)
    x = layers.TimeDistributed(layers.Dense(4, activation="elu"))(x)
    lstm = layers.LSTM(3, recurrent_activation="sigmoid", return_sequences=True)
    x = layers.Bidirectional(lstm, merge_mode="sum")(x)
    model = keras.models.Model(inputs, layers.Dense(1)(layers.SimpleRNN(3)(x)))
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True), "mse")
    return model, STEPS, FOUND


def nested(keras: Any) -> tuple[Any, Any, Any]:
    """Return a model in a model, one for each step, and a shared layer; by Adagrad."""
    layers, models = keras.layers, keras.models
    inner_input = layers.Input((3,))
    inner = models.Model(inner_input, layers.Dense(4, activation="tanh")(inner_input))
    row = models.Sequential([layers.Dense(3, input_shape=(4,)), layers.BatchNormalization()])
    inputs, shared = layers.Input((5, 3)), layers.Dense(2)
    x = layers.TimeDistributed(inner)(inputs)
    x = row(layers.GlobalMaxPooling1D()(x))
    x = layers.concatenate([shared(x), shared(layers.Activation("relu")(x))])
    model = models.Model(inputs, [layers.Dense(1, name="one")(x), layers.Dense(3, name="two")(x)])
    model.compile(keras.optimizers.Adagrad(0.02), "mse", loss_weights=[1.0, 0.5])
    return model, STEPS, [FOUND, CLASSES]


def volumes(keras: Any) -> tuple[Any, Any, Any]:
    """Convolutions of one, two and three dimensions, in cells too; by Adamax."""
    layers = keras.layers
    x = inputs = layers.Input((8, 8, 2))
    x = layers.Reshape((8, 8, 2, 1))(layers.ZeroPadding2D(0)(x))
    x = layers.ConvLSTM2D(2, (3, 1), return_sequences=True)(x)
    x = layers.Conv3D(2, (3, 3, 1))(x)
    x = layers.Reshape((6, -1))(x)
    x = layers.LocallyConnected1D(2, 3)(layers.Conv1D(3, 3, padding="causal")(x))
    x = layers.Dense(3)(layers.Flatten()(layers.Permute((2, 1))(x)))
    model = keras.models.Model(inputs, x)
    model.compile(keras.optimizers.Adamax(0.02), "mae")
    return model, IMAGES, CLASSES


def rows(keras: Any) -> tuple[Any, Any, Any]:
    """Dense layers; by Adadelta."""
    layers = keras.layers
    model = keras.models.Sequential()
    model.add(
        layers.Dense(5, input_dim=3, kernel_initializer="he_normal", kernel_constraint="max_norm")
    )
    model.add(layers.LeakyReLU(0.2))
    model.add(
        layers.Dense(1, activation="linear", bias_initializer=keras.initializers.Constant(0.1))
    )
    model.compile(keras.optimizers.Adadelta(0.5), "mean_squared_error", metrics=["mae"])
    return model, STEPS[:, 0], FOUND


def momentum(keras: Any) -> tuple[Any, Any, Any]:
    """Layers in a row; by Nadam."""
    layers = keras.layers
    model = keras.models.Sequential(
        [layers.Dense(4, activation="tanh", input_shape=(3,)), layers.Dense(1)]
    )
    model.compile(keras.optimizers.Nadam(0.01), "mse")
    return model, STEPS[:, 0], FOUND


MODELS = (images, words, directions, nested, volumes, rows, momentum)


def losses(model: Any, x: Any, y: Any) -> list[float]:
    """Return the losses of three more steps."""
    return [float(np.ravel(model.train_on_batch(x, y))[0]) for _ in range(3)]


def predicted(model: Any, x: Any) -> list[Any]:
    result = model.predict(x)
    return result if isinstance(result, list) else [result]


def assert_near(values: list[Any], expected: list[Any], what: str) -> None:
    for value, other in zip(values, expected):
        np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-5, err_msg=what)


def pass_on(writer: Any, reader: Any, make: Model, folder: Path) -> None:
    """Save a model by one Keras and load it by the other."""
    whole, weights = str(folder / "model.h5"), str(folder / "weights.h5")
    writer.backend.clear_session()
    model, x, y = make(writer)
    losses(model, x, y)
    model.save(whole)
    model.save_weights(weights)
    expected, further = predicted(model, x), losses(model, x, y)
    reader.backend.clear_session()
    if reader is gpugraph.keras:
        loaded = reader.models.load_model(whole)
        assert_near(predicted(loaded, x), expected, "the whole model")
        if make is not momentum or writer.__version__ > "2.3":  # before, a part is not in the file
            assert_near(losses(loaded, x, y), further, "losses of further steps")
    for path in (weights, whole):
        other = make(reader)[0]
        other.load_weights(path)
        assert_near(predicted(other, x), expected, f"weights of {path}")


def gates(old: Any, ours: Any, folder: Path) -> None:
    """Weights of a CuDNNLSTM and of a CuDNNGRU in old Keras's plain layers, and back."""
    reset_after = {"reset_after": True}
    for kind, plain, options in (("CuDNNLSTM", "LSTM", {}), ("CuDNNGRU", "GRU", reset_after)):
        options = {"recurrent_activation": "sigmoid", **options}
        for is_written_here in (True, False):
            values = []
            for keras in (ours, old) if is_written_here else (old, ours):
                keras.backend.clear_session()
                layers, path = keras.layers, str(folder / "gates.h5")
                inputs = layers.Input((5, 3))
                layer = (
                    getattr(layers, kind)(3)
                    if keras is ours
                    else getattr(layers, plain)(3, **options)
                )
                model = keras.models.Model(inputs, layer(inputs))
                if values:
                    model.load_weights(path)
                else:
                    model.set_weights([RANDOM.randn(*value.shape) for value in model.get_weights()])
                    model.save_weights(path)
                values.append(predicted(model, STEPS))
            assert_near(values[1], values[0], f"{kind}, written by tf.keras: {is_written_here}")


def main(version: str) -> int:
    """Passes on all models in both directions; 1 if one fails."""
    old_keras_patches.apply()
    failures = 0
    with gpugraph.as_tensorflow(), tempfile.TemporaryDirectory() as folder:
        old, ours = importlib.import_module("keras"), gpugraph.keras
        assert old.__version__ == version, old.__version__
        passes = [
            (f"{make.__name__} {'to' if writer is ours else 'from'}", writer, reader, make)
            for make in MODELS
            for writer, reader in ((old, ours), (ours, old))
        ]
        programs = {name: partial(pass_on, *others) for name, *others in passes}
        for name, program in {**programs, "gates of": partial(gates, old, ours)}.items():
            gpugraph.set_random_seed(1)
            np.random.seed(1)
            try:
                program(Path(folder))
            except Exception:
                failures += 1
                print(f"-- {name} Keras {version} failed:\n{traceback.format_exc()}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
