"""Batch normalization in the style of `tf.keras`."""

from __future__ import annotations

import numpy as np

import gpugraph as tf


def test_numbers_of_float64_are_normalized():
    images = np.random.RandomState(1).uniform(-1, 1, [3, 2, 2, 4])
    with tf.Graph().as_default(), tf.Session() as session:
        layer = tf.keras.layers.BatchNormalization(dtype="float64")
        outputs = layer(tf.constant(images), training=True)
        session.run(tf.global_variables_initializer())
        values = session.run(outputs)
    assert values.dtype == np.float64
    expected = (images - images.mean((0, 1, 2))) / np.sqrt(images.var((0, 1, 2)) + 1e-3)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
