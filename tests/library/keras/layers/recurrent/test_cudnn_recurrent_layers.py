"""Results of the cuDNN layers, against plain layers with converted weights."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .conftest import K, run

L = tf.keras.layers
INPUTS = np.random.RandomState(0).uniform(-1, 1, (2, 4, 3)).astype(np.float32)


def plain(array, gates):
    """Return a kernel whose elements cuDNN reads as [units, size], as a plain one."""
    parts = np.split(array, gates, axis=1)
    return np.hstack([part.reshape(part.shape[::-1]).T for part in parts])


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_as_the_plain_layer(name):
    gates = 3 if name == "GRU" else 4
    options = {"return_sequences": True, "return_state": True, "go_backwards": True}
    layer = getattr(L, f"CuDNN{name}")(2, **options)
    further = {"reset_after": True} if name == "GRU" else {}
    other = getattr(L, name)(2, recurrent_activation="sigmoid", **further, **options)
    for one in (layer, other):
        one(tf.keras.Input((4, 3)))
    random = np.random.RandomState(1)
    kernel, recurrent, bias = (random.uniform(-1, 1, w.shape.as_list()) for w in layer.weights)
    assert bias.shape == (4 * gates,)
    layer.set_weights([kernel, recurrent, bias])
    halves = bias.reshape(2, -1)
    bias = halves if name == "GRU" else halves.sum(0)
    other.set_weights([plain(kernel, gates), plain(recurrent, gates), bias])
    for one, wanted in zip(run(layer, INPUTS), run(other, INPUTS), strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-6)


def test_names_configuration_and_masks():
    layer = L.CuDNNLSTM(2, kernel_regularizer="l2")
    layer(tf.keras.Input((4, 3)))
    assert layer.weights[0].name == "cu_dnnlstm/kernel:0"
    assert K.get_value(layer.cell.bias)[10:12].tolist() == [1, 1]
    assert {"units", "unit_forget_bias", "stateful"} <= layer.get_config().keys()
    assert not {"unroll", "activation", "cell"} & layer.get_config().keys()
    with pytest.raises(ValueError, match="Masking is not supported for CuDNN RNNs"):
        L.CuDNNGRU(2)(L.Masking()(tf.keras.Input((4, 3))))
