"""leaky_relu with any slope."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

FEATURES = np.array([-3.0, -0.5, 0.0, 0.5, 2.0, np.inf, -np.inf])


@pytest.mark.parametrize("alpha", [2.0, 1.0, 0.2, 0.0, -1.5])
@pytest.mark.parametrize("fused", [True, False])
def test_leaky_relu_with_any_slope(alpha, fused):
    features = FEATURES[:5] if alpha == 0 else FEATURES
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(features)
        y = tf.nn.leaky_relu(x + 0.0 if fused else x, alpha)
        values, slopes = session.run([y, tf.gradients(y, x)[0]])
    np.testing.assert_array_equal(values, np.where(features > 0, features, alpha * features))
    np.testing.assert_array_equal(slopes, np.where(features > 0, 1, alpha))


def test_leaky_relu_of_nan_is_nan():
    with tf.Graph().as_default(), tf.Session() as session:
        assert np.isnan(session.run(tf.nn.leaky_relu([np.nan], 3.0))).all()


def test_the_slope_of_leaky_relu_may_be_a_tensor():
    with tf.Graph().as_default(), tf.Session() as session:
        slope = tf.placeholder(tf.float32, [2])
        result = tf.nn.leaky_relu([[-1.0, -1.0], [2.0, 2.0]], alpha=slope, name="leaky")
        found = session.run(result, {slope: [0.5, 0.25]})
        np.testing.assert_allclose(found, [[-0.5, -0.25], [2.0, 2.0]])
