"""Hessians against second derivatives by hand."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


def test_of_several():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, 2])
        y = tf.constant([1.0, 2.0], tf.float64)
        cubes, sums = tf.hessians(tf.reduce_sum(x**3) + tf.reduce_prod(y), [x, y])
        assert cubes.shape.as_list() == [None, 2, None, 2]
        value = np.array([[1.0, 2.0], [3.0, -4.0]])
        actual = session.run([cubes, sums], {x: value})
    np.testing.assert_allclose(actual[0].reshape(4, 4), np.diag(6 * value.reshape(-1)))
    np.testing.assert_allclose(actual[1], [[0, 1], [1, 0]])


def test_of_a_lookup_and_of_what_is_linear():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0, 3.0])
        actual = session.run(tf.hessians(tf.reduce_sum(tf.gather(x, [0, 2, 2]) ** 2), x))
        np.testing.assert_allclose(actual[0], np.diag([2.0, 0.0, 4.0]))
        for linear in (x, tf.reshape(x, [3, 1]), x * 2.0):
            with pytest.raises(ValueError, match=r"^None values not supported"):
                tf.hessians(linear, x)


def test_of_what_nothing_depends_on():
    with tf.Graph().as_default():
        x, y = tf.constant(1.0), tf.constant(2.0)
        with pytest.raises(ValueError, match="nothing in ys depends on it"):
            tf.hessians(y * y, x)
