"""Programs of one old Keras on gpugraph, in a separate process: `test_old_keras.py` runs this.

    python old_keras_programs.py VERSION

Prints a line for each program that fails, with its traceback, and exits with 1 if there is one.
"""

from __future__ import annotations

import csv
import importlib
import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import old_keras_models as models
import old_keras_patches
import scipy.sparse

import gpugraph

Program = Callable[[Any], None]

KEPT = json.loads(Path(__file__).with_name("old_keras_values.json").read_text("utf-8"))
RANDOM = np.random.RandomState(1)


def numbers(name: str) -> Program:
    def program(keras: Any) -> None:
        """Predictions, 20 losses and trained weights are those of TensorFlow's Keras."""
        for key, value in models.values(name, keras).items():
            np.testing.assert_allclose(value, KEPT[name][key], rtol=1e-4, atol=1e-6, err_msg=key)

    return program


def blobs(count: int = 96) -> tuple[Any, Any]:
    """Return images whose brightness tells their class."""
    classes = RANDOM.randint(0, 2, count)
    images = 0.3 * RANDOM.randn(count, 8, 8, 1) + classes[:, None, None, None]
    return images.astype(np.float32), classes


def classifier(keras: Any) -> Any:
    layers = keras.layers
    model = keras.models.Sequential(
        [
            layers.Conv2D(4, 3, input_shape=(8, 8, 1), name="first"),
            layers.BatchNormalization(momentum=0.8),
            layers.Activation("relu"),
            layers.MaxPooling2D(),
            layers.Dropout(0.1),
            layers.Flatten(),
            layers.Dense(2, activation="softmax", name="last"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def training(keras: Any) -> None:
    """fit, evaluate, predict, a generator; batch normalization and dropout at test time."""
    model, (x, y) = classifier(keras), blobs()
    history = model.fit(x, y, batch_size=8, epochs=8, validation_split=0.25, verbose=0).history
    assert history["loss"][-1] < 0.5 * history["loss"][0], history["loss"]
    assert history["val_loss"][-1] < history["val_loss"][0], history["val_loss"]
    loss, accuracy = model.evaluate(x, y, verbose=0)
    predicted = model.predict(x)
    right = np.argmax(predicted, 1) == y
    wanted = -np.log(predicted[np.arange(len(y)), y])
    assert abs(accuracy - right.mean()) < 1e-6 and accuracy > 0.9
    np.testing.assert_allclose(loss, wanted.mean(), rtol=1e-4)
    np.testing.assert_array_equal(predicted, model.predict(x))  # without dropout
    before = model.get_weights()
    batches = ((x[i : i + 8], y[i : i + 8]) for i in range(0, 48, 8))
    model.fit_generator(batches, steps_per_epoch=3, epochs=2, verbose=0)
    changes = [np.abs(a - b).max() for a, b in zip(before, model.get_weights())]
    assert min(changes) > 0, changes  # moving averages too


def masks(keras: Any) -> None:
    """Check that values after the end of a sequence change nothing."""
    model, [words, others], _ = models.begin("masked_lstm", keras)
    whole = model.predict([words, others])
    assert (words[:, -2:] == 0).any()
    longer = words.copy()
    longer[longer == 0] = 5
    assert np.abs(model.predict([longer, others]) - whole).max() > 1e-4
    layers = keras.layers
    inputs = layers.Input((None, 2))
    x = layers.Masking(-1.0)(inputs)
    last = keras.models.Model(inputs, layers.LSTM(3)(x))
    steps = RANDOM.randn(2, 4, 2)
    padded = np.concatenate([steps, np.full([2, 3, 2], -1.0)], 1)
    np.testing.assert_allclose(last.predict(padded), last.predict(steps), rtol=1e-5)


def files(keras: Any) -> None:
    """A model, its weights and its configuration, saved and loaded; training goes on."""
    folder = Path(tempfile.mkdtemp())
    model, (x, y) = classifier(keras), blobs(32)
    model.fit(x, y, epochs=2, verbose=0)
    predicted = model.predict(x)
    path = str(folder / "model.h5")
    model.save(path)
    loaded = keras.models.load_model(path)
    np.testing.assert_allclose(loaded.predict(x), predicted, rtol=1e-6)
    slots = zip(loaded.optimizer.get_weights(), model.optimizer.get_weights())
    assert all(np.array_equal(one, other) for one, other in slots)
    assert len(loaded.optimizer.get_weights()) > 8
    first = loaded.train_on_batch(x, y)[0]
    assert np.isfinite(first)
    model.save_weights(str(folder / "weights.h5"))
    copies = [
        keras.models.model_from_json(model.to_json()),
        type(model).from_config(model.get_config()),
    ]
    for copy in copies:
        assert np.abs(copy.predict(x) - predicted).max() > 1e-4
    copies[0].load_weights(str(folder / "weights.h5"))
    copies[1].set_weights(model.get_weights())
    named = classifier(keras)
    named.load_weights(str(folder / "weights.h5"), by_name=True)
    np.testing.assert_array_equal(named.get_weights()[0], model.get_weights()[0])
    for copy in copies:
        np.testing.assert_allclose(copy.predict(x), predicted, rtol=1e-6)


def callbacks(keras: Any) -> None:
    """Checkpoints, an early end, a schedule of the learning rate, history, a table."""
    folder = Path(tempfile.mkdtemp())
    model, (x, y) = classifier(keras), blobs()
    rates: list[float] = []
    ended: list[int] = []
    cb = keras.callbacks
    history = model.fit(
        x,
        y,
        batch_size=16,
        epochs=12,
        verbose=0,
        validation_data=(x, y),
        callbacks=[
            cb.ModelCheckpoint(str(folder / "best.h5"), save_best_only=True),
            cb.ModelCheckpoint(str(folder / "{epoch}.h5"), save_weights_only=True, period=2),
            cb.EarlyStopping("loss", min_delta=100.0, patience=4),
            cb.LearningRateScheduler(lambda epoch: 0.01 * 0.5**epoch),
            cb.CSVLogger(str(folder / "log.csv")),
            cb.TerminateOnNaN(),
            cb.LambdaCallback(
                on_epoch_end=lambda epoch, logs: rates.append(
                    float(keras.backend.get_value(model.optimizer.lr))
                ),
                on_train_end=lambda logs: ended.append(len(rates)),
            ),
        ],
    ).history
    epochs = len(history["loss"])
    assert epochs == 5 and ended == [5], history  # nothing is better by 100
    np.testing.assert_allclose(rates, [0.01 * 0.5**epoch for epoch in range(epochs)], rtol=1e-5)
    best = keras.models.load_model(str(folder / "best.h5"))
    loss = best.evaluate(x, y, verbose=0)[0]
    np.testing.assert_allclose(loss, min(history["val_loss"]), rtol=1e-4)
    assert sorted(path.name for path in folder.glob("?.h5")) == ["2.h5", "4.h5"]
    with open(folder / "log.csv", encoding="utf-8") as file:
        table = [float(row["loss"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(table, history["loss"], rtol=1e-6)
    plateau = cb.ReduceLROnPlateau("loss", factor=0.1, patience=1, min_delta=100.0)
    model.fit(x, y, epochs=3, verbose=0, callbacks=[plateau])
    assert keras.backend.get_value(model.optimizer.lr) < rates[-1]


def many_layers(keras: Any) -> None:
    """Other layers train: convolutions of all kinds, a state that stays, shared and own layers."""
    layers, models_ = keras.layers, keras.models
    x = inputs = layers.Input((8, 8, 3))
    x = layers.SeparableConv2D(4, 3)(x)
    x = layers.Conv2DTranspose(3, 3)(x)
    x = layers.UpSampling2D()(layers.ZeroPadding2D()(x))
    x = layers.GlobalMaxPooling2D()(layers.AveragePooling2D()(x))
    x = layers.Lambda(lambda t: keras.backend.l2_normalize(t, -1))(x)
    improves(models_.Model(inputs, x), RANDOM.randn(4, 8, 8, 3), RANDOM.randn(4, 3))
    x = inputs = layers.Input((3, 6, 6, 1))
    x = layers.Flatten()(layers.ConvLSTM2D(2, 3)(x))
    improves(models_.Model(inputs, x), RANDOM.randn(2, 3, 6, 6, 1), RANDOM.randn(2, 32))
    shared, left, right = layers.Dense(3), layers.Input((4,)), layers.Input((4,))
    x = layers.dot([shared(left), shared(right)], 1)
    improves(models_.Model([left, right], x), list(RANDOM.randn(2, 5, 4)), RANDOM.randn(5, 1))
    keeps = models_.Sequential([layers.LSTM(2, stateful=True, batch_input_shape=(1, 3, 2))])
    steps = RANDOM.randn(1, 3, 2)
    first, second = keeps.predict(steps), keeps.predict(steps)
    keeps.reset_states()
    assert np.abs(first - second).max() > 1e-5
    np.testing.assert_allclose(keeps.predict(steps), first, rtol=1e-6)


def improves(model: Any, x: Any, y: Any) -> None:
    """Train the model for some steps, after which it is better."""
    model.compile("sgd", "mse")
    losses = [float(model.train_on_batch(x, y)) for _ in range(5)]
    assert losses[-1] < losses[0], losses


def backend(keras: Any) -> None:
    """The backend: functions, sparse inputs, tensors as inputs, labels of a sequence."""
    K = keras.backend
    x, phase = K.placeholder((None, 2)), K.learning_phase()
    v = K.variable(2.0)
    f = K.function([x, phase], [K.in_train_phase(x * 0.0, x) * v], updates=[K.update_add(v, 1.0)])
    assert f([np.ones([1, 2]), 0])[0].tolist() == [[2, 2]] and K.get_value(v) == 3
    assert f([np.ones([1, 2]), 1])[0].tolist() == [[0, 0]] and K.get_value(v) == 4
    inputs = keras.layers.Input((20,), sparse=True)
    model = keras.models.Model(inputs, keras.layers.Dense(2)(inputs))
    matrix = scipy.sparse.random(4, 20, 0.3, format="csr", random_state=0)
    wanted = matrix @ model.get_weights()[0]
    np.testing.assert_allclose(model.predict(matrix), wanted, rtol=1e-4, atol=1e-6)
    inputs = keras.layers.Input((3,))
    model = keras.models.Model(inputs, keras.layers.Dense(2)(inputs))
    array = np.ones([4, 3], np.float32)
    if keras.__version__ > "2.2":  # feeds tensors to inputs
        value = model.predict(K.constant(array), steps=1)
        np.testing.assert_allclose(value, model.predict(array), rtol=1e-6)
    even = K.constant(np.full([1, 5, 4], 0.25))
    cost = K.ctc_batch_cost(K.constant([[1, 2]]), even, K.constant([[5]]), K.constant([[2]]))
    # All 4**5 paths are equally likely; 35 of them give 1, 2 between blanks and repetitions.
    np.testing.assert_allclose(K.eval(cost), [[5 * np.log(4) - np.log(35)]], rtol=1e-4)
    K.clear_session()
    assert keras.layers.Dense(2).name == "dense_1"


PROGRAMS: dict[str, Program] = {
    **{name: numbers(name) for name in models.MODELS},
    **{
        program.__name__: program
        for program in (training, masks, files, callbacks, many_layers, backend)
    },
}


def main(version: str) -> int:
    """Runs all programs; 1 if one fails."""
    old_keras_patches.apply()
    failures = 0
    with gpugraph.as_tensorflow():
        keras = importlib.import_module("keras")
        assert keras.__version__ == version, keras.__version__
        for name, program in PROGRAMS.items():
            keras.backend.clear_session()
            gpugraph.set_random_seed(1)
            np.random.seed(1)
            try:
                program(keras)
            except Exception:
                failures += 1
                print(f"-- {name} of Keras {version} failed:\n{traceback.format_exc()}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
