"""Variances, norms, counts, sums of tensors, polynomials, and compositions of other functions."""

from __future__ import annotations

import math

import numpy as np

import gpugraph as tf

from ..function_cases import fetched, refuses, same

X = np.float64([[1, 2, 4], [0, -3, 5]])


def test_variance_and_deviation() -> None:
    same(lambda: tf.math.reduce_variance(X, 1), X.var(1), 1e-12)
    same(lambda: tf.math.reduce_std(X, keepdims=True), X.std(keepdims=True), 1e-12)
    refuses(lambda: tf.math.reduce_variance([1, 2]), TypeError, "no variance of integers")


def test_norms_and_counts() -> None:
    same(lambda: tf.math.reduce_euclidean_norm(X, 0), np.linalg.norm(X, axis=0), 1e-12)
    same(lambda: tf.math.reduce_euclidean_norm([[3, 4], [1, 1]], 1), [5, 1])
    same(lambda: tf.count_nonzero(X, 1, keepdims=True), [[3], [2]])
    same(lambda: tf.count_nonzero(input=X, dtype=tf.int32), 5)
    same(lambda: tf.count_nonzero(tf.constant(["", "a"])), 1)
    refuses(lambda: tf.count_nonzero(), ValueError, "needs an input")
    refuses(lambda: tf.count_nonzero(X, input=X), ValueError, "both")


def test_sums_of_tensors() -> None:
    same(lambda: tf.accumulate_n([tf.constant(X), tf.constant(X)]), X + X)
    refuses(lambda: tf.accumulate_n([]), ValueError, "at least one")
    mixed = [tf.constant(1.0), tf.constant(1)]
    refuses(lambda: tf.accumulate_n(mixed), ValueError, "the same dtype and shape")
    refuses(lambda: tf.accumulate_n([1.0, 2.0], tensor_dtype=tf.int32), TypeError, "float32")


def test_products_with_a_number() -> None:
    same(lambda: tf.scalar_mul(2, tf.constant(X)), 2 * X)
    refuses(lambda: tf.scalar_mul([2.0, 1.0], tf.constant(X)), ValueError, "Only a scalar")
    with tf.Graph().as_default(), tf.Session() as session:
        slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3]), tf.constant([5, 1]))
        scaled = tf.scalar_mul(3.0, slices)
        assert isinstance(scaled, tf.IndexedSlices)
        assert session.run(scaled.values).tolist() == [[3.0]]


def test_polynomials_and_lbeta() -> None:
    same(
        lambda: tf.math.polyval([1.0, -2.0, 3.0], tf.constant(X, tf.float32)),
        np.polyval([1, -2, 3], X),
    )
    same(lambda: tf.math.polyval([], X), np.zeros_like(X))
    refuses(lambda: tf.math.polyval(1.0, X), ValueError, "must be a list")
    wanted = math.lgamma(1) + math.lgamma(2) + math.lgamma(4) - math.lgamma(7)
    same(lambda: tf.lbeta(X[0]), wanted, 1e-12)


def test_what_neural_networks_make_of_known_functions() -> None:
    same(lambda: tf.nn.zero_fraction(X), np.float32(1 / 6))
    assert np.isnan(fetched(lambda: tf.nn.zero_fraction(np.zeros(0))))
    same(lambda: tf.log_sigmoid(np.float64([-1000, 0, 1000])), [-1000, -math.log(2), 0], 1e-12)
