"""Data that does not fit a model: the errors, and that the model stays usable."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

import gpugraph as tf

keras = tf.keras
RANDOM = np.random.RandomState(0)
X = RANDOM.rand(12, 3).astype(np.float32)
Y = RANDOM.rand(12, 1).astype(np.float32)
ONES = np.ones(12)


def linear(size=1, loss="mse", **arguments):
    inputs = keras.Input((3,), name="x")
    model = keras.Model(inputs, keras.layers.Dense(size, name="y")(inputs), name="linear")
    model.compile("sgd", loss, **arguments)
    return model


def two(**arguments):
    """Return a model of two inputs and two outputs, of different sizes."""
    inputs = [keras.Input((3,), name="a"), keras.Input((2,), name="b")]
    sizes = {"o1": 1, "o2": 2}
    outputs = [
        keras.layers.Dense(size, name=name)(tensor)
        for (name, size), tensor in zip(sizes.items(), inputs)
    ]
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse", **arguments)
    return model


TWO_X, TWO_Y = [X, X[:, :2]], [Y, np.tile(Y, 2)]


@pytest.mark.parametrize("method", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
@pytest.mark.parametrize(
    ("x", "y", "text"),
    [
        (
            X[:, :2],
            Y,
            "Error when checking input: expected x to have shape (3,) but got array with ",
        ),
        (
            X[None],
            Y,
            "Error when checking input: expected x to have 2 dimensions, but got array wi",
        ),
        (
            3.0,
            Y,
            "Error when checking input: expected x to have 2 dimensions, but got array with s",
        ),
        ([[1, 2, 3], [1, 2]], Y[:2], "Error when checking input: expected x to be an array, but g"),
        (
            [X, X],
            Y,
            "Error when checking model input: the list of Numpy arrays that you are passing",
        ),
        ({"z": X}, Y, "No data provided for \"x\". Need data for each key in: ['x']"),
        (None, Y, "No data provided for \"x\". Need data for each key in: ['x']"),
        (
            X,
            Y[:5],
            "Input arrays should have the same number of samples as target arrays. Found 12 ",
        ),
        (X, Y[None], "Error when checking target: expected y to have 2 dimensions, but got array "),
        (
            X,
            [Y, Y],
            "Error when checking model target: the list of Numpy arrays that you are passin",
        ),
        (X, np.tile(Y, 2), "A target array with shape (12, 2) was passed for an output of shape ("),
        (X, None, "No target data for output y"),
    ],
)
def test_inputs_and_targets(method, x, y, text):
    model = linear()
    with pytest.raises(ValueError) as raised:
        getattr(model, method)(x, y)
    assert str(raised.value).startswith(text)
    assert np.isfinite(model.train_on_batch(X, Y))


@pytest.mark.parametrize(
    ("x", "y", "text"),
    [
        ([X], TWO_Y, "Expected to see 2 array(s), for inputs ['a', 'b'], but instead got the foll"),
        (X, TWO_Y, "Expected to see 2 array(s), for inputs ['a', 'b'], but instead got the follow"),
        ([X, X], TWO_Y, "expected b to have shape (2,) but got array with shape (3,)"),
        ({"a": X}, TWO_Y, "No data provided for \"b\". Need data for each key in: ['a', 'b']"),
        ([X, None], TWO_Y, 'No data provided for "b"'),
        ([X, X[:5, :2]], TWO_Y, "All input arrays (x) should have the same number of samples. Got"),
        (TWO_X, [Y], "Expected to see 2 array(s), for targets ['o1', 'o2'], but instead got"),
        (TWO_X, {"o1": Y}, 'No data provided for "o2"'),
        (
            TWO_X,
            [Y, Y],
            "A target array with shape (12, 1) was passed for an output of shape (None",
        ),
        (TWO_X, [Y, TWO_Y[1][:5]], "All target arrays (y) should have the same number of samples"),
    ],
)
def test_several_inputs_and_targets(x, y, text):
    model = two()
    with pytest.raises(ValueError) as raised:
        model.fit(x, y, verbose=0)
    assert text in str(raised.value)
    assert np.isfinite(model.fit(TWO_X, TWO_Y, verbose=0).history["loss"][0])


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"sample_weight": np.ones((12, 2))}, ValueError, "Found a sample_weight array with shape"),
        ({"sample_weight": 3.0}, ValueError, "Found a sample_weight array with shape ()"),
        (
            {"sample_weight": np.ones(5)},
            ValueError,
            "Sample_weight arrays should have the same num",
        ),
        ({"sample_weight": {"z": ONES}}, ValueError, "Unknown entries in sample_weight dictionary"),
        ({"class_weight": {7: 1}}, ValueError, "`class_weight` must contain all classes in the da"),
        ({"class_weight": [1, 2]}, TypeError, "Expected `class_weight` to be a dict of classes"),
        ({"batch_size": 0}, ValueError, "`batch_size` is a number of examples above 0, got 0"),
        ({"batch_size": 2.5}, ValueError, "`batch_size` is a number of examples above 0, got 2.5"),
        ({"validation_split": 1.5}, ValueError, "`validation_split` is a part of the examples"),
        ({"callbacks": [3]}, TypeError, "Callbacks are objects of `keras.callbacks`, got 3"),
        ({"callbacks": keras.callbacks.History()}, TypeError, "`callbacks` is a list of callbacks"),
        (
            {"validation_data": X},
            ValueError,
            "When passing a `validation_data` argument, it must c",
        ),
        (
            {"validation_data": (X, Y[:3])},
            ValueError,
            "Input arrays should have the same number of",
        ),
        (
            {"validation_data": (X[:, 1:], Y)},
            ValueError,
            "Error when checking input: expected x to",
        ),
    ],
)
def test_other_arguments(arguments, kind, text):
    model = linear()
    with pytest.raises(kind) as raised:
        model.fit(X, Y, verbose=0, **arguments)
    assert str(raised.value).startswith(text)
    model.fit(X, Y, verbose=0)


@pytest.mark.parametrize(
    ("weights", "kind", "text"),
    [
        (
            [ONES],
            ValueError,
            "Provided `sample_weight` was a list of 1 elements, but the model has",
        ),
        (
            ONES,
            TypeError,
            "The model has multiple outputs, so `sample_weight` should be either a l",
        ),
        ({"o9": ONES}, ValueError, "Unknown entries in sample_weight dictionary: ['o9']. Only exp"),
        ([ONES, np.ones((12, 2))], ValueError, "Found a sample_weight array with shape (12, 2)"),
        ([ONES, np.ones(5)], ValueError, "All sample_weight should have the same number of sampl"),
    ],
)
def test_weights_of_several_outputs(weights, kind, text):
    with pytest.raises(kind) as raised:
        two().fit(TWO_X, TWO_Y, sample_weight=weights, verbose=0)
    assert str(raised.value).startswith(text)


def test_classes_are_no_distributions():
    model = linear(4, "categorical_crossentropy")
    with pytest.raises(ValueError, match="expects targets to be binary matrices"):
        model.fit(X, np.zeros(12), verbose=0)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(X, np.zeros(12), verbose=0)
    with pytest.raises(ValueError, match=r"expected y to have shape \(1,\)"):
        model.fit(X, np.zeros((12, 4)), verbose=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"label value of 7 which is outside"):
        model.fit(X, np.full(12, 7), verbose=0)
    model.fit(X, np.zeros(12), verbose=0)


@pytest.mark.parametrize("method", ["fit", "evaluate"])
def test_no_examples(method):
    with pytest.raises(ValueError, match=r"^Empty training data\. .*arrays have no examples"):
        getattr(linear(), method)(X[:0], Y[:0], verbose=0)


def test_weights_of_other_shapes_name_the_layer_and_the_weight():
    model = two()
    outer = keras.Sequential([model.get_layer("o1"), keras.layers.Dense(2, name="last")])
    outer.build((None, 3))
    before = outer.get_weights()
    wrong = [*before[:2], np.zeros((3, 2)), before[3]]
    message = (
        r"^Layer weight shape \(1, 2\) not compatible with provided weight shape \(3, 2\) "
        r'\(weight 0 of Dense layer "last", variable last/kernel:0\)'
    )
    with pytest.raises(ValueError, match=message):
        outer.set_weights(wrong)
    with pytest.raises(ValueError, match=message):
        outer.get_layer("last").set_weights(wrong[2:])
    with pytest.raises(
        ValueError, match=r'on layer "last" with a  weight list of length 1, but th'
    ):
        outer.get_layer("last").set_weights(before[3:])
    for value, kept in zip(outer.get_weights(), before):
        np.testing.assert_array_equal(value, kept)


def test_weights_of_a_file_of_other_shapes(tmp_path):
    pytest.importorskip("h5py")
    linear(2).save_weights(tmp_path / "w.h5")
    model = linear()
    before = model.get_weights()
    for by_name, text in (
        (False, r"\(3, 1\).*\(3, 2\).*y"),
        (True, r'named "y"\), weight y\S*/ker'),
    ):
        with pytest.raises(ValueError, match=text):
            model.load_weights(tmp_path / "w.h5", by_name=by_name)
    np.testing.assert_array_equal(model.get_weights()[0], before[0])


def test_a_loss_of_nan_goes_on_with_one_warning(capsys):
    model = linear(metrics=["mae"])
    start = model.get_weights()
    history = model.fit(X, Y * np.nan, epochs=3, verbose=0)
    assert np.isnan(history.history["loss"]).tolist() == [True] * 3
    warnings = capsys.readouterr().err
    assert warnings.count("The loss of linear is nan in epoch 1, and so are the variables") == 1
    model.set_weights(start)
    assert np.isfinite(model.fit(X, Y, verbose=0).history["loss"][0])
    assert "nan" not in capsys.readouterr().err


def test_terminate_on_nan_ends_at_the_batch(capsys):
    targets = Y.copy()
    targets[5] = np.nan
    calls = []
    record = keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: calls.append(batch))
    end = keras.callbacks.TerminateOnNaN()
    history = linear().fit(
        X, targets, batch_size=2, epochs=3, shuffle=False, verbose=0, callbacks=[record, end]
    )
    assert calls == [0, 1, 2] and history.epoch == [0]
    assert "Batch 2: Invalid loss, terminating training" in capsys.readouterr().out


# -- generators and workers


class Refusal(Exception):
    """An error whose pickle can't be read: its constructor takes more than its arguments."""

    def __init__(self, record, reason):
        super().__init__(f"{record}: {reason}")
        self.record, self.lock = record, threading.Lock()


def broken_key():
    raise KeyError("broken record")


def refusal():
    raise Refusal(3, "torn")


def local_class():
    raise type("Local", (Exception,), {})("of a function")


def interrupted():
    raise KeyboardInterrupt


def killed():
    os._exit(3)


FAULTS = {
    "key": (broken_key, KeyError, "broken record"),
    "refusal": (refusal, Refusal, "3: torn"),
    "shape": (lambda: (X[:4, :2], Y[:4]), ValueError, "Error when checking input: expected x to"),
    "count": (lambda: (X[:4], Y[:3]), ValueError, "Input arrays should have the same number of sa"),
    "parts": (lambda: (1, 2, 3, 4), ValueError, "Output of generator should be a tuple of 1 or 2"),
    "none": (lambda: None, ValueError, "Output of generator should be a tuple of 1 or 2 or 3 elem"),
    "alone": (lambda: X[:4], ValueError, "No target data for output y"),
}


class Batches(keras.utils.Sequence):
    """Three batches, the second of which is the result of a function."""

    def __init__(self, fault=None):
        self.fault = fault

    def __len__(self):
        return 3

    def __getitem__(self, index):
        if index == 1 and self.fault is not None:
            return self.fault()
        return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]


def generator(fault=None):
    batches = Batches(fault)
    for index in range(len(batches)):
        yield batches[index]


def no_worker():
    deadline = time.monotonic() + 20
    while any("keras_input" in thread.name for thread in threading.enumerate()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


WORKERS = [
    pytest.param({"workers": 0}, id="no worker"),
    pytest.param({"workers": 2}, id="threads"),
    pytest.param({"workers": 2, "use_multiprocessing": True}, id="processes"),
]


@pytest.mark.parametrize("data", [Batches, generator])
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_of_a_worker_arrives_and_nothing_hangs(fault, workers, data):
    function, kind, text = FAULTS[fault]
    model = linear()
    with pytest.raises(kind) as raised:
        model.fit(data(function), steps_per_epoch=3, shuffle=False, verbose=0, **workers)
    assert type(raised.value) is kind and text in str(raised.value)
    if kind is Refusal:
        assert raised.value.record == 3
    assert no_worker()
    assert len(model.fit(Batches(), verbose=0, **workers).epoch) == 1


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (local_class, "Local: of a function"),
        (killed, "A worker process ended before its batch was"),
    ],
)
def test_what_a_process_cannot_send_is_told(function, text):
    model = linear()
    for data in (Batches(function), generator(function)):
        with pytest.raises(RuntimeError, match=text):
            model.fit(
                data, steps_per_epoch=3, shuffle=False, verbose=0, workers=2,
                use_multiprocessing=True,
            )  # fmt: skip
    assert no_worker() and len(model.fit(Batches(), verbose=0).epoch) == 1


def test_ctrl_c_in_a_worker_ends_it():
    model = linear()
    with pytest.raises(KeyboardInterrupt):
        model.fit(Batches(interrupted), shuffle=False, verbose=0, workers=2)
    assert no_worker() and len(model.fit(Batches(), verbose=0).epoch) == 1


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(("steps", "epochs"), [(2, 2), (3, 1), (4, 1)])
def test_a_generator_that_ends_early_ends_the_training_with_a_warning(
    workers, steps, epochs, capsys
):
    model = linear()
    history = model.fit_generator(
        generator(), steps_per_epoch=steps, epochs=5, verbose=0, **workers
    )
    assert len(history.epoch) == epochs and np.isfinite(history.history["loss"]).all()
    warning = capsys.readouterr().err
    assert "Your dataset iterator ran out of data; interrupting training." in warning
    assert f"`steps_per_epoch * epochs` batches (in this case, {5 * steps} batches)" in warning
    assert no_worker() and len(model.fit(Batches(), verbose=0).epoch) == 1


def test_validation_evaluation_and_prediction_that_end_early(capsys):
    model = linear()
    history = model.fit(X, Y, epochs=4, verbose=0, validation_data=generator(), validation_steps=4)
    assert len(history.epoch) == 1 and "val_loss" in history.history
    assert "`validation_steps * epochs`" in capsys.readouterr().err
    loss = model.evaluate_generator(generator(), steps=7)
    assert loss == pytest.approx(model.evaluate(X, Y, batch_size=4, verbose=0), rel=1e-5)
    assert "`steps * epochs` batches (in this case, 7 batches)" in capsys.readouterr().err
    assert model.predict_generator(generator(), steps=5).shape == (12, 1)
    assert "it yielded 3 of the 5 of this epoch" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["fit_generator", "evaluate_generator", "predict_generator"])
def test_a_generator_without_batches(method):
    model = linear()
    with pytest.raises(ValueError, match=r"^Empty training data\. .*ended before its first batch"):
        getattr(model, method)(iter([]), 2)
    assert no_worker()


def test_a_generator_of_inputs_alone_trains_on_added_losses():
    inputs = keras.Input((3,))
    outputs = keras.layers.Dense(2)(inputs)
    model = keras.Model(inputs, outputs)
    model.add_loss(tf.reduce_mean(tf.square(outputs)))
    model.compile("sgd")
    losses = model.fit(iter([X, (X,)] * 3), steps_per_epoch=3, epochs=2, verbose=0).history["loss"]
    assert losses[1] < losses[0]
