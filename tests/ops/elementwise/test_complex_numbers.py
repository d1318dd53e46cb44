"""Functions of complex numbers that TensorFlow has for real and complex ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

X = np.array([[3 + 4j, 1j], [2 - 1j, 0.5]])
Y = np.array([[1 + 1j, 2.0], [-1j, 4.0]])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def test_squared_difference() -> None:
    x, y = tf.constant(X), tf.constant(Y)
    squares = tf.squared_difference(x, y)
    grads = tf.gradients(squares, [x, y], grad_ys=tf.ones_like(squares))
    value, x_grad, y_grad = run([squares, *grads])
    np.testing.assert_allclose(value, np.abs(X - Y) ** 2)
    np.testing.assert_allclose(x_grad, 2 * (X - Y))
    np.testing.assert_allclose(y_grad, 2 * (Y - X))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_euclidean_norm(axis: Any) -> None:
    norm = tf.math.reduce_euclidean_norm(tf.constant(X), axis)
    assert norm.dtype is tf.complex128
    np.testing.assert_allclose(run(norm), np.sqrt((np.abs(X) ** 2).sum(axis)))


def test_abs_of_a_tensor() -> None:
    np.testing.assert_allclose(run(abs(tf.constant(X))), np.abs(X))
    assert abs(tf.constant(X)).dtype is tf.float64
    assert run(abs(tf.constant([-3, 2]))).tolist() == [3, 2]


def test_conj_takes_numbers() -> None:
    for value in ("text", [True]):
        with pytest.raises(TypeError, match=r"^Expected numeric or variant tensor"):
            tf.math.conj(tf.constant(value))
    assert run(tf.math.conj(tf.constant([1, 2]))).tolist() == [1, 2]
