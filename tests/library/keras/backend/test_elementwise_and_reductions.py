"""Elementwise functions and reductions of Keras's backend beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras.backend

X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)
Y = X[::-1].copy()
BITS = X > 0.4


def value(tensor):
    return tf.Session().run(tensor)


ONE = {
    **{name: getattr(np, name) for name in ("abs", "cos", "exp", "sign", "sin", "square", "tanh")},
    "round": np.round,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sqrt": lambda x: np.sqrt(x),
    "log": lambda x: np.log(x),
}


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_tensor(name):
    array = np.abs(X) if name in ("sqrt", "log") else X
    np.testing.assert_allclose(value(getattr(K, name)(array)), ONE[name](array), rtol=1e-5)


@pytest.mark.parametrize(
    "name",
    ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum"],
)
def test_functions_of_two_tensors(name):
    np.testing.assert_array_equal(value(getattr(K, name)(X, Y)), getattr(np, name)(X, Y))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std"])
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
def test_reductions(name, axis):
    for keepdims in (False, True):
        reduced = getattr(K, name)(X, axis=None if axis is None else axis, keepdims=keepdims)
        expected = getattr(np, name)(X, axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(value(reduced), expected, rtol=1e-5, atol=1e-6)
    assert getattr(K, name).__name__ == name


def test_reductions_of_bools():
    np.testing.assert_array_equal(value(K.any(X, axis=1)), X.any(1))
    np.testing.assert_array_equal(value(K.all(BITS, axis=-1)), BITS.all(-1))
    np.testing.assert_allclose(value(K.mean(BITS, axis=1)), BITS.mean(1), rtol=1e-6)
    np.testing.assert_allclose(value(K.var(BITS)), BITS.var(), rtol=1e-6)


def test_places_and_running_sums():
    np.testing.assert_array_equal(value(K.argmax(X)), X.argmax(-1))
    np.testing.assert_array_equal(value(K.argmin(X, axis=1)), X.argmin(1))
    np.testing.assert_allclose(value(K.cumsum(X)), X.cumsum(0), rtol=1e-6)
    np.testing.assert_allclose(value(K.cumprod(X, axis=1)), X.cumprod(1), rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("most", [None, 0.7, 6])
@pytest.mark.parametrize("threshold", [0, 0.2])
def test_relu(alpha, most, threshold):
    expected = np.where(threshold < X, X, 0)
    expected = expected if most is None else np.minimum(expected, most)
    expected = expected + np.where(threshold < X, 0, alpha * (X - threshold))
    np.testing.assert_allclose(value(K.relu(X, alpha, most, threshold)), expected, atol=1e-6)


def test_the_rest():
    np.testing.assert_allclose(value(K.elu(X, 0.4)), np.where(X > 0, X, 0.4 * np.expm1(X)), 1e-5)
    np.testing.assert_allclose(value(K.clip(X, -0.5, 0.5)), X.clip(-0.5, 0.5))
    np.testing.assert_allclose(value(K.clip(X, 0.5, -0.5)), np.full_like(X, 0.5))
    np.testing.assert_allclose(value(K.clip(X, None, 0.5)), np.minimum(X, 0.5))
    np.testing.assert_allclose(value(K.pow(X, 2)), X**2, rtol=1e-6)
    assert value(K.cast(X, "int32")).dtype == np.int32
    whole = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    np.testing.assert_allclose(value(K.softmax(X, axis=1)), whole, rtol=1e-5)
    lengths = np.sqrt((X**2).sum(2, keepdims=True))
    np.testing.assert_allclose(value(K.l2_normalize(X, axis=2)), X / lengths, rtol=1e-5)
