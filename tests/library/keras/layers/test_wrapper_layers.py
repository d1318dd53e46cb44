"""A layer for all steps of sequences."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .recurrent.conftest import K, graph as graph, run

L = tf.keras.layers
INPUTS = np.random.RandomState(0).uniform(-1, 1, (2, 4, 3)).astype(np.float32)


class Shifted(L.Layer):
    """A layer of the program: its first calls decide nothing, it adds 1."""

    def call(self, inputs):
        return inputs + 1.0

    def compute_output_shape(self, input_shape):
        return input_shape


def test_a_layer_for_each_step():
    layer = L.TimeDistributed(L.Dense(2), name="steps")
    array = run(layer, INPUTS)[0]
    kernel, bias = layer.get_weights()
    np.testing.assert_allclose(array, INPUTS @ kernel + bias, atol=1e-6)
    assert [weight.name for weight in layer.weights] == ["steps/kernel:0", "steps/bias:0"]
    images = np.zeros((2, 3, 5, 5, 1), np.float32)
    assert run(L.TimeDistributed(L.Conv2D(4, 3)), images)[0].shape == (2, 3, 3, 3, 4)


def test_sizes_that_are_not_known():
    x = tf.keras.Input((None, 3))
    outputs = L.TimeDistributed(L.Dense(2))(x)
    assert outputs.shape.as_list() == [None, None, 2]
    assert K.function([x], [outputs])([INPUTS])[0].shape == (2, 4, 2)


def test_a_layer_of_the_program_goes_by_step():
    with tf.keras.utils.custom_object_scope({"Shifted": Shifted}):
        layer = L.TimeDistributed(Shifted())
        np.testing.assert_allclose(run(layer, INPUTS)[0], INPUTS + 1, rtol=1e-6)


def test_masks():
    x = tf.keras.Input((4, 3))
    outputs = L.TimeDistributed(L.Dense(2))(L.Masking()(x))
    value = INPUTS.copy()
    value[0, 2:] = 0
    mask = K.function([x], [outputs._keras_mask])([value])[0]
    assert mask.tolist() == [[True, True, False, False], [True] * 4]
    words = tf.keras.Input((2, 4, 3))
    inner = L.TimeDistributed(L.Masking())(words)
    assert inner._keras_mask.shape.as_list() == [None, 2, 4]
    rows = L.TimeDistributed(L.LSTM(2))(inner)
    assert rows._keras_mask.shape.as_list() == [None, 2]
    assert K.function([words], [rows])([value[None]])[0].shape == (1, 2, 2)


def test_bad_arguments():
    with pytest.raises(ValueError, match="with a `Layer` instance"):
        L.TimeDistributed(tf.nn.relu)
    with pytest.raises(ValueError, match="at least 3 dimensions"):
        L.TimeDistributed(L.Dense(2))(tf.keras.Input((3,)))
    with pytest.raises(ValueError, match="expected shape"):
        layer = L.TimeDistributed(L.Dense(2))
        layer(tf.keras.Input((4, 3)))
        layer(tf.keras.Input((4, 2)))
