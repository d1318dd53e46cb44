"""Calls of layers: Python control flow over tensors, inputs that are no tensors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

layers, Input, Model = tf.keras.layers, tf.keras.Input, tf.keras.Model


def branch(x):
    if tf.reduce_sum(x) > 0:
        return x * 2
    return x


def loop(x):
    while tf.reduce_sum(x) < 100:
        x = x * 2
    return x


def rows(x):
    return tf.add_n([row * 2 for row in x])


def numbers(x):
    for _ in range(tf.shape(x)[0]):
        x = x + 1
    return x


def negation(x):
    return x if not tf.reduce_any(x > 0) else x * 2


class Own(layers.Layer):
    """It calls a function of tensors."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, inputs):
        return self.function(inputs)


class OwnModel(Model):
    """A model that calls a layer of the program."""

    def __init__(self, function):
        super().__init__()
        self.inside = Own(function)

    def call(self, inputs):
        return self.inside(inputs)


@pytest.mark.parametrize("function", [branch, loop, rows, numbers, negation])
def test_python_control_flow_over_tensors_is_refused(function):
    """TensorFlow 1.15 converts it by AutoGraph, and has this error where it cannot."""
    words = "You are attempting to use Python control flow in a layer that was not declared to be"
    for call in (
        lambda: Own(function)(Input([3])),
        lambda: Own(function)(tf.zeros([2, 3])),
        lambda: OwnModel(function).predict(np.ones([2, 3])),
    ):
        with pytest.raises(TypeError) as raised:
            call()
        text = str(raised.value)
        assert text.startswith(words) and text.count(words) == 1
        assert "AutoGraph" in text and "tf.while_loop" in text and 'Own layer "own' in text


@pytest.mark.parametrize("function", [branch, loop, rows, negation])
def test_outside_of_layers_it_is_refused_in_tensorflows_words(function):
    words = r"(using a `tf.Tensor` as a Python `bool`|iterating over `tf.Tensor`) is not allowed in"
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=f"^{words}"):
        function(tf.zeros([2, 3]))


def test_other_errors_of_a_call_stay():
    def wrong(x):
        raise TypeError("of the program")

    with pytest.raises(TypeError, match=r"^of the program"):
        Own(wrong)(tf.zeros([2]))


def test_a_layer_takes_any_object():
    class Pair:
        first, second = 1.0, 2.0

    layer = Own(lambda pair: tf.constant(pair.first + pair.second))
    with tf.Session() as session:
        assert session.run(layer(Pair())) == 3.0
    assert Own(lambda text: text.upper())("text") == "TEXT" and layer.built
    with pytest.raises(TypeError, match=r"Inputs to a layer should be tensors. Got: <object"):
        layers.Dense(2)(object())


def test_numbers_become_tensors():
    assert Own(lambda x: x)(3).dtype == tf.int32
    assert Own(lambda x: x[0])([np.float32(1.0), 2.0]).dtype == tf.float32


def test_a_dict_of_inputs_goes_to_the_layer():
    inputs = {"a": Input([3], name="a"), "b": Input([3], name="b")}
    model = Model(inputs, layers.Dense(2)(Own(lambda x: x["a"] + 2 * x["b"])(inputs)))
    model.compile("sgd", "mse")
    data = {"b": np.ones([4, 3]), "a": np.zeros([4, 3])}
    model.fit(data, np.ones([4, 2]), verbose=0, validation_data=(data, np.ones([4, 2])))
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(model.predict(data), 2 * np.ones([4, 3]) @ kernel + bias, 1e-5, 1e-6)


def test_a_model_has_the_shape_of_outputs_for_a_dict():
    inputs = {"b": Input([3]), "a": Input([2])}
    model = Model(inputs, layers.Concatenate()([inputs["a"], inputs["b"]]))
    shapes = {"a": tf.TensorShape([7, 2]), "b": (7, 3)}
    assert model.compute_output_shape(shapes).as_list() == [7, 5]
