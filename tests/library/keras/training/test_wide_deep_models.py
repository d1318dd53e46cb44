"""LinearModel and WideDeepModel: values, an optimizer for each part, configurations."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

experimental, layers = tf.keras.experimental, tf.keras.layers
ROWS = np.random.RandomState(0).rand(12, 4).astype(np.float32)
OTHERS = np.random.RandomState(1).rand(12, 2).astype(np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_a_linear_model_of_two_inputs():
    model = experimental.LinearModel(units=3, activation="tanh", bias_initializer="ones")
    value = model.predict([ROWS, OTHERS])
    first, second, bias = model.get_weights()
    np.testing.assert_allclose(value, np.tanh(ROWS @ first + OTHERS @ second + bias), rtol=1e-5)
    with pytest.raises(ValueError, match="Expected 2 inputs, but got 1 inputs"):
        model(tf.constant(ROWS))
    config = model.get_config()
    assert experimental.LinearModel.from_config(config).get_config() == config


def wide_and_deep():
    deep = tf.keras.Sequential([layers.Dense(3, activation="relu"), layers.Dense(1)])
    return experimental.WideDeepModel(experimental.LinearModel(), deep, activation="sigmoid")


def test_both_see_their_inputs():
    model = wide_and_deep()
    value = model.predict([ROWS, OTHERS])
    wide, deep = model.linear_model.predict(ROWS), model.dnn_model.predict(OTHERS)
    np.testing.assert_allclose(value, 1 / (1 + np.exp(-(wide + deep) / 2)), rtol=1e-5)


def test_each_has_its_optimizer():
    model = wide_and_deep()
    still = tf.keras.optimizers.SGD(0.0)
    model.compile([tf.keras.optimizers.SGD(0.5), still], "mse")
    model.predict(ROWS)
    before = model.get_weights()
    model.fit(ROWS, OTHERS[:, :1], epochs=2, verbose=0)
    changed = [(new != old).any() for new, old in zip(model.get_weights(), before)]
    assert changed == [True] * 2 + [False] * 4
    with pytest.raises(ValueError, match="an optimizer for each of its 2 models"):
        model.compile([still], "mse")


def test_a_configuration_comes_back():
    model = wide_and_deep()
    again = experimental.WideDeepModel.from_config(model.get_config())
    assert again.get_config() == model.get_config()


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("CosineDecay", tf.train.cosine_decay),
        ("CosineDecayRestarts", tf.train.cosine_decay_restarts),
        ("LinearCosineDecay", tf.train.linear_cosine_decay),
    ],
)
def test_schedules(name, function):
    schedule = getattr(experimental, name)(0.1, 10)
    optimizer = tf.keras.optimizers.SGD(schedule)
    again = tf.keras.optimizers.deserialize(tf.keras.optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()
    with tf.Session() as session:
        for step in (0, 3, 12):
            rate, expected = session.run([schedule(step), function(0.1, step, 10)])
            assert rate == expected
