"""LSTMs of images."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .conftest import K, run

L = tf.keras.layers
FILMS = np.random.RandomState(0).uniform(-1, 1, (2, 3, 5, 6, 2)).astype(np.float32)


def test_kernels_of_one_pixel_are_an_lstm_of_pixels():
    layer = L.ConvLSTM2D(3, 1, return_sequences=True, return_state=True)
    pixels = L.LSTM(3, return_sequences=True)
    layer(tf.keras.Input(FILMS.shape[1:]))
    pixels(tf.keras.Input((3, 2)))
    kernel, recurrent, bias = layer.get_weights()
    pixels.set_weights([kernel[0, 0], recurrent[0, 0], bias])
    rows = FILMS.transpose(0, 2, 3, 1, 4).reshape(-1, 3, 2)
    wanted = run(pixels, rows)[0].reshape(2, 5, 6, 3, 3).transpose(0, 3, 1, 2, 4)
    arrays = run(layer, FILMS)
    np.testing.assert_allclose(arrays[0], wanted, atol=1e-6)
    np.testing.assert_array_equal(arrays[1], arrays[0][:, -1])


def test_shapes_states_and_sizes():
    layer = L.ConvLSTM2D(2, (2, 3), strides=2, padding="same", stateful=True)
    x = tf.keras.Input(batch_shape=FILMS.shape)
    model = tf.keras.Model(x, layer(x))
    assert model.output_shape == (2, 3, 3, 2)
    once = K.function([x], model.outputs, updates=model.updates)
    first, second = once([FILMS])[0], once([FILMS])[0]
    assert not np.allclose(first, second)
    layer.reset_states()
    np.testing.assert_allclose(once([FILMS])[0], first, atol=1e-6)
    free = tf.keras.Input((None, None, None, 2))
    outputs = L.ConvLSTM2D(2, 3, dropout=0.5)(free)
    assert K.function([free], [outputs])([FILMS])[0].shape == (2, 3, 4, 2)
    first_channels = tf.keras.Input((3, 2, 5, 6))
    layer = L.ConvLSTM2D(4, 3, data_format="channels_first", dilation_rate=2)
    assert layer.compute_output_shape((None, 3, 2, 5, 6)).as_list() == [None, 4, 1, 2]
    assert layer(first_channels).shape.as_list() == [None, 4, 1, 2]


def test_bad_arguments():
    with pytest.raises(TypeError, match="Unrolling isn't possible"):
        L.ConvLSTM2D(2, 3, unroll=True)
    with pytest.raises(ValueError, match="expected ndim=5, found ndim=4"):
        L.ConvLSTM2D(2, 3)(tf.keras.Input((5, 6, 2)))
    with pytest.raises(ValueError, match="the number of rows and columns"):
        L.ConvLSTM2D(2, 3, stateful=True)(tf.keras.Input(batch_shape=(2, 3, None, 6, 2)))
    with pytest.raises(ValueError, match="not compatible with"):
        x = tf.keras.Input((3, 5, 6, 2))
        L.ConvLSTM2D(2, 3)(x, initial_state=[tf.keras.Input((3, 4, 5)) for _ in range(2)])
