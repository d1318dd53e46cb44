"""Layers in both directions."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .conftest import K, run

L = tf.keras.layers
INPUTS = np.random.RandomState(0).uniform(-1, 1, (2, 4, 3)).astype(np.float32)

MERGES = {
    "concat": lambda a, b: np.concatenate([a, b], -1),
    "sum": lambda a, b: a + b,
    "ave": lambda a, b: (a + b) / 2,
    "mul": lambda a, b: a * b,
}


def test_merged_step_by_step():
    layer = L.Bidirectional(L.LSTM(2, return_sequences=True), merge_mode=None)
    forward, backward = run(layer, INPUTS)
    mirrored = L.LSTM(2, return_sequences=True, weights=layer.backward_layer.get_weights())
    wanted = K.get_session().run(mirrored(tf.constant(INPUTS[:, ::-1].copy())))
    np.testing.assert_allclose(backward, wanted[:, ::-1], atol=1e-6)
    for mode, merge in MERGES.items():
        other = L.Bidirectional(
            L.LSTM(2, return_sequences=True), merge_mode=mode, weights=layer.get_weights()
        )
        np.testing.assert_allclose(run(other, INPUTS)[0], merge(forward, backward), atol=1e-6)


def test_names_states_and_masks():
    layer = L.Bidirectional(L.GRU(2, return_sequences=True, return_state=True), name="both")
    x = tf.keras.Input((4, 3))
    outputs = layer(L.Masking()(x))
    assert [len(outputs), layer.weights[0].name, layer.weights[3].name] == [
        3,
        "both/forward_gru/kernel:0",
        "both/backward_gru/kernel:0",
    ]
    assert outputs[0]._keras_mask is not None
    value = INPUTS.copy()
    value[0, 2:] = 0
    array, forward, backward = K.function([x], outputs)([value])
    assert not array[0, 2:].any()
    np.testing.assert_array_equal(array[0, 1, :2], forward[0])
    np.testing.assert_array_equal(array[0, 0, 2:], backward[0])


def test_states_that_are_passed_and_kept():
    layer = L.Bidirectional(L.GRU(2, stateful=True))
    x = tf.keras.Input(batch_shape=(2, 4, 3))
    model = tf.keras.Model(x, layer(x))
    once = K.function([x], model.outputs, updates=model.updates)
    first, second = once([INPUTS])[0], once([INPUTS])[0]
    assert not np.allclose(first, second)
    layer.reset_states()
    np.testing.assert_allclose(once([INPUTS])[0], first, atol=1e-6)
    layer.reset_states([np.ones((2, 2)), np.zeros((2, 2))])
    ones = once([INPUTS])[0]
    np.testing.assert_allclose(ones[:, 2:], first[:, 2:], atol=1e-6)
    plain = L.Bidirectional(L.GRU(2), weights=layer.get_weights())
    states = [tf.ones([2, 2]), tf.zeros([2, 2])]
    passed = K.get_session().run(plain(tf.constant(INPUTS), initial_state=states))
    np.testing.assert_allclose(passed, ones, atol=1e-6)
    inputs = [tf.keras.Input((2,)), tf.keras.Input((2,))]
    nested = tf.keras.Model([x, *inputs], plain(x, initial_state=inputs))
    values = [INPUTS, np.ones((2, 2)), np.zeros((2, 2))]
    np.testing.assert_allclose(
        K.function(nested.inputs, nested.outputs)(values)[0], ones, atol=1e-6
    )
    with pytest.raises(ValueError, match="containing the states of the underlying RNNs"):
        plain(x, initial_state=states[:1])
    with pytest.raises(ValueError, match="to be list or tuple"):
        layer.reset_states(3)


def test_a_layer_for_the_other_direction():
    other = L.SimpleRNN(2, go_backwards=True, name="other")
    layer = L.Bidirectional(L.LSTM(2), backward_layer=other)
    assert run(layer, INPUTS)[0].shape == (2, 4)
    assert layer.get_config()["backward_layer"]["config"]["name"] == "other"
    with pytest.raises(ValueError, match="should have different `go_backwards`"):
        L.Bidirectional(L.LSTM(2), backward_layer=L.LSTM(2))
    with pytest.raises(ValueError, match="same value for attribute return_sequences"):
        L.Bidirectional(
            L.LSTM(2), backward_layer=L.LSTM(2, go_backwards=True, return_sequences=True)
        )
    with pytest.raises(ValueError, match="Invalid merge mode"):
        L.Bidirectional(L.LSTM(2), merge_mode="max")
    with pytest.raises(ValueError, match="needs `go_backwards`"):
        L.Bidirectional(L.Dense(2))
    with pytest.raises(ValueError, match="with a `Layer` instance"):
        L.Bidirectional(3)
