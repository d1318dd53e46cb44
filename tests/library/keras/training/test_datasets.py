"""Models that are trained, evaluated and used on datasets and iterators."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

XS = np.linspace(0, 1, 32, dtype=np.float32).reshape(32, 1)
YS = XS * 3 + 1


@pytest.fixture
def model():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    return model


def data():
    return tf.data.Dataset.from_tensor_slices((XS, YS)).batch(8)


def test_a_dataset_trains_as_its_arrays(model):
    start = model.get_weights()
    by_arrays = model.fit(XS, YS, batch_size=8, epochs=3, shuffle=False, verbose=0).history["loss"]
    model.set_weights(start)
    by_dataset = model.fit(data(), epochs=3, verbose=0).history["loss"]
    np.testing.assert_allclose(by_dataset, by_arrays, rtol=1e-6)


def test_epochs_of_some_steps_go_on(model):
    history = model.fit(data().repeat(), epochs=4, steps_per_epoch=3, verbose=0).history["loss"]
    assert len(history) == 4
    assert history[-1] < history[0]


def test_evaluation_validation_and_prediction(model):
    loss = model.evaluate(data(), verbose=0)
    assert loss == pytest.approx(model.evaluate(XS, YS, verbose=0), rel=1e-5)
    inputs = tf.data.Dataset.from_tensor_slices(XS).batch(8)
    np.testing.assert_allclose(model.predict(inputs), model.predict(XS), rtol=1e-6)
    history = model.fit(data(), epochs=2, validation_data=data(), verbose=0).history
    assert len(history["val_loss"]) == 2


def test_an_iterator_needs_steps(model):
    iterator = data().repeat().make_one_shot_iterator()
    assert len(model.fit(iterator, steps_per_epoch=4, epochs=2, verbose=0).history["loss"]) == 2
    with pytest.raises(ValueError, match="infinitely repeating"):
        model.fit(data().repeat(), verbose=0)


def test_a_dataset_of_unknown_size_is_counted(model):
    some = tf.data.Dataset.from_tensor_slices((XS, YS)).filter(lambda x, y: x[0] > 0.5).batch(8)
    assert len(model.fit(some, epochs=2, verbose=0).history["loss"]) == 2


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
def test_a_dataset_has_its_own_batch_size(method):
    dataset = tf.data.Dataset.from_tensor_slices((np.ones((4, 3)), np.ones((4, 1)))).batch(2)
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse")
        with pytest.raises(ValueError, match="`batch_size` argument must not be specified"):
            getattr(model, method)(dataset, batch_size=2)


class Affine(tf.keras.Model):
    """A subclass of Model whose inputs are known from the first batch only."""

    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)


def generated():
    while True:
        yield from ((XS[start : start + 8], YS[start : start + 8]) for start in range(0, 32, 8))


@pytest.mark.parametrize("make", [data, lambda: data().repeat(), generated])
def test_the_first_batch_builds_a_model_and_is_trained_on(make):
    with tf.Graph().as_default(), tf.Session().as_default():
        model = Affine()
        model.compile(tf.keras.optimizers.SGD(0.0), "mse")
        losses = model.fit(make(), steps_per_epoch=4, epochs=1, verbose=0).history["loss"]
        assert losses[0] == pytest.approx(model.evaluate(XS, YS, verbose=0), rel=1e-5)
        assert len(model.weights) == 2


@pytest.mark.parametrize("is_repeated", [False, True])
def test_the_first_batch_builds_a_model_for_predictions(is_repeated):
    with tf.Graph().as_default(), tf.Session().as_default():
        inputs = tf.data.Dataset.from_tensor_slices(XS).batch(8)
        model = Affine()
        predicted = model.predict(inputs.repeat() if is_repeated else inputs, steps=4)
        np.testing.assert_allclose(predicted, model.predict(XS), rtol=1e-6)
