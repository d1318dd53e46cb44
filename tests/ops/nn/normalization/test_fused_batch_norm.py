"""Batch normalization of no images."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_an_empty_batch_are_zero(data_format, training):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.zeros([0, 3, 3, 3])
        scale, offset = tf.ones([3]), tf.ones([3])
        given = {} if training else {"mean": tf.zeros([3]), "variance": tf.ones([3])}
        y, _, _ = tf.nn.fused_batch_norm(
            x, scale, offset, is_training=training, data_format=data_format, **given
        )
        dx, dscale, doffset = session.run(tf.gradients(y, [x, scale, offset]))
    assert dx.shape == (0, 3, 3, 3)
    np.testing.assert_array_equal(dscale, np.zeros(3))
    np.testing.assert_array_equal(doffset, np.zeros(3))
