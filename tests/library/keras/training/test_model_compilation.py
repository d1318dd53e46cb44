"""The arguments, names and errors of `compile`."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

keras = tf.keras


def model_of(*sizes):
    inputs = keras.Input((3,))
    outputs = [keras.layers.Dense(size, name=f"out{size}")(inputs) for size in sizes]
    return keras.Model(inputs, outputs)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"loss": ["mse"]}, "it should have one entry per model outputs"),
        ({"loss": {"z": "mse"}}, r"Unknown entries in loss dictionary: \['z'\]"),
        ({"loss": "mse", "loss_weights": [1.0]}, "it should have one entry per model output"),
        ({"loss": "mse", "metrics": [["mae"]]}, "When passing a list of lists as `metrics`"),
        ({"loss": "mse", "target_tensors": [1.0]}, "When passing a list as `target_tensors`"),
        ({"loss": None}, "The model cannot be compiled because it has no loss to optimize"),
        ({"loss": "mse", "fetches": []}, "Some keys in session_kwargs are not supported"),
        ({"loss": "nothing"}, "Unknown loss function: nothing"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        model_of(1, 2).compile("sgd", **arguments)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="Type of `metrics` argument not understood"):
        model_of(1).compile("sgd", "mse", metrics="mae")
    with pytest.raises(TypeError, match="Could not interpret loss_weights argument"):
        model_of(1).compile("sgd", "mse", loss_weights=3)
    with pytest.raises(NotImplementedError, match="train on one replica"):
        model_of(1).compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(RuntimeError, match="You must compile your model before training/testing"):
        model_of(1).fit(np.zeros((2, 3)), np.zeros((2, 1)))


def test_names_of_metrics():
    def largest(y_true, y_pred):
        return tf.reduce_max(y_pred)

    model = model_of(4)
    metrics = ["accuracy", "acc", "ce", largest, keras.metrics.Mean(name="m")]
    model.compile("sgd", "categorical_crossentropy", metrics=metrics[:4], weighted_metrics=["mse"])
    assert model.metrics_names == [
        "loss", "acc", "acc_1", "ce", "largest", "weighted_mean_squared_error",
    ]  # fmt: skip
    model = model_of(1, 2)
    model.compile("sgd", "mse", metrics=["mae"])
    assert model.metrics_names == [
        "loss", "out1_loss", "out2_loss", "out1_mean_absolute_error", "out2_mean_absolute_error",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "loss", "function"),
    [
        (1, "mse", "binary_accuracy"),
        (3, "binary_crossentropy", "binary_accuracy"),
        (3, "categorical_crossentropy", "categorical_accuracy"),
        (3, "sparse_categorical_crossentropy", "sparse_categorical_accuracy"),
    ],
)
def test_accuracy_is_of_the_output(size, loss, function):
    model = model_of(size)
    model.compile("sgd", loss, metrics=["accuracy"])
    assert model.metrics[0].fn.__name__ == function


def test_what_is_trained_is_what_compile_saw():
    """As a GAN needs it: the discriminator is trained alone, and frozen in the joined model."""
    x, y = np.ones((4, 3), np.float32), np.zeros((4, 1), np.float32)
    judge = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    judge.compile("sgd", "mse")
    judge.trainable = False
    noise = keras.Input((3,))
    joined = keras.Model(noise, judge(keras.layers.Dense(3)(noise)))
    joined.compile("sgd", "mse")
    before = judge.get_weights()[0]
    joined.train_on_batch(x, y)
    np.testing.assert_array_equal(judge.get_weights()[0], before)
    judge.train_on_batch(x, y + 5)
    assert not np.array_equal(judge.get_weights()[0], before)
