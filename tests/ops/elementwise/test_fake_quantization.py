"""Fake quantization: its steps, its range, and where its gradient goes."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

from ..function_cases import fetched, refuses, same

X = np.array([-9, -6, -0.01, 0, 0.02, 3.3, 7], np.float32)


def test_steps_have_zero_among_them():
    step = 12 / 255
    wanted = np.clip(np.round(X / step), -128, 127) * step
    result = fetched(lambda: tf.quantization.fake_quant_with_min_max_args(X))
    np.testing.assert_allclose(result, wanted, atol=step)
    assert result[3] == 0 and len(np.unique(result)) == 5
    few = fetched(lambda: tf.fake_quant_with_min_max_args(X, -1, 1, num_bits=2, narrow_range=True))
    np.testing.assert_allclose(few, [-1, -1, 0, 0, 0, 1, 1])


def test_gradient_goes_to_the_numbers_or_to_an_end():
    def slopes():
        x, low, high = tf.constant(X), tf.constant(-6.0), tf.constant(6.0)
        y = tf.fake_quant_with_min_max_vars(x, low, high)
        return tf.gradients(y * np.arange(7, dtype=np.float32), [x, low, high])

    same(slopes, [np.array([0, 1, 2, 3, 4, 5, 0]), 0, 6])


def test_gradient_of_each_channel():
    def slopes():
        x = tf.constant(np.stack([X, X], 1))
        low, high = tf.constant([-6.0, 0.0]), tf.constant([6.0, 0.0])
        return tf.gradients(
            tf.fake_quant_with_min_max_vars_per_channel(x, low, high), [x, low, high]
        )

    inside = np.array([0, 1, 1, 1, 1, 1, 0])
    same(slopes, [np.stack([inside, np.ones(7)], 1), [1, 0], [1, 0]])


def test_gradient_of_a_known_range():
    def slopes():
        x = tf.constant(X)
        y = tf.fake_quant_with_min_max_args(x, -1, 1)
        direct = tf.fake_quant_with_min_max_args_gradient(tf.ones([7]), x, -1, 1)
        return [*tf.gradients(y, x), direct]

    same(slopes, [[0, 0, 1, 1, 1, 0, 0]] * 2)


def test_refusals():
    invalid = tf.errors.InvalidArgumentError
    refuses(lambda: tf.fake_quant_with_min_max_args(X, 1, 0), invalid, "smaller than max")
    refuses(lambda: tf.fake_quant_with_min_max_args(X, num_bits=17), invalid, "between 2 and 16")
    refuses(
        lambda: tf.fake_quant_with_min_max_vars_per_channel(X, [0.0], [1.0]),
        ValueError,
        "in both shapes must be equal",
    )
