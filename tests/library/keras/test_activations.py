"""Activations by name, with their arguments, against formulas."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

A, K = tf.keras.activations, tf.keras.backend
X = np.array([[-3.0, -1.0, 0.0, 0.5, 1.0, 7.0]], np.float32)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x: A.relu(x), np.maximum(X, 0)),
        (lambda x: A.relu(x, alpha=0.5), np.where(X > 0, X, 0.5 * X)),
        (lambda x: A.relu(x, max_value=2.0), np.clip(X, 0, 2)),
        (lambda x: A.relu(x, threshold=0.75), np.where(X > 0.75, X, 0)),
        (lambda x: A.relu(x, alpha=0.5, threshold=0.75), np.where(X > 0.75, X, 0.5 * (X - 0.75))),
        (lambda x: A.elu(x, 2.0), np.where(X > 0, X, 2 * np.expm1(X))),
        (lambda x: A.softmax(x), np.exp(X) / np.exp(X).sum()),
        (lambda x: A.exponential(x), np.exp(X)),
        (lambda x: A.hard_sigmoid(x), np.clip(0.2 * X + 0.5, 0, 1)),
        (lambda x: A.linear(x), X),
    ],
)
def test_values(function, expected):
    with tf.Graph().as_default():
        np.testing.assert_allclose(K.eval(function(tf.constant(X))), expected, rtol=1e-5)


def test_names():
    for name in ("relu", "tanh", "softplus", "selu", "linear", "exponential"):
        assert A.serialize(A.get(name)) == name
    assert A.get(None) is A.linear and A.get(tf.abs) is tf.abs
    with pytest.raises(ValueError, match=r"Unknown activation function: wave. Pass it as custom"):
        A.get("wave")
    with pytest.raises(TypeError, match="Could not interpret activation function identifier: 3"):
        A.get(3)
    with tf.keras.utils.custom_object_scope({"wave": tf.sin}):
        assert A.get("wave") is tf.sin
    with tf.Graph().as_default(), pytest.raises(ValueError, match="softmax to a tensor that is 1D"):
        A.softmax(tf.zeros([3]))
