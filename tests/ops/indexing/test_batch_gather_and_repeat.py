"""Rarer array functions: bits as another type, repeats, batches, casts; scattered updates."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

from ..function_cases import refuses, same

Invalid = tf.errors.InvalidArgumentError
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_bitcast_adds_or_takes_an_axis() -> None:
    same(lambda: tf.bitcast(X, tf.uint8), X.reshape(3, 4, 1).view(np.uint8))
    same(lambda: tf.bitcast(X, tf.int32), X.view(np.int32))
    same(
        lambda: tf.bitcast(X[:, :2], tf.int64), np.ascontiguousarray(X[:, :2]).view(np.int64)[:, 0]
    )
    refuses(lambda: tf.bitcast(np.uint8([1, 2, 3]), tf.float32), ValueError, "must be 4")


def test_repeat_is_numpys() -> None:
    same(lambda: tf.repeat([1, 2, 3], 2), [1, 1, 2, 2, 3, 3])
    same(lambda: tf.repeat(X, [1, 0, 2], axis=0), np.repeat(X, [1, 0, 2], 0))
    same(lambda: tf.repeat(X, 3, axis=-1), np.repeat(X, 3, 1))
    same(lambda: tf.repeat(X, 3), np.repeat(X, 3))
    refuses(lambda: tf.repeat(X, 3, axis=2), ValueError, "not in the range")
    with tf.Graph().as_default():
        assert tf.repeat(X, [1, 0, 2], axis=0).shape.as_list() == [3, 4]
        assert tf.repeat(X, tf.placeholder(tf.int32), axis=0).shape.as_list() == [None, 4]


def test_gathers_cross_products_and_casts() -> None:
    indices = np.array([[0, 1], [1, 2], [3, 3]])
    same(lambda: tf.batch_gather(X, indices), np.take_along_axis(X, indices, 1))
    refuses(lambda: tf.batch_gather(X, 1), ValueError, "known rank")
    same(lambda: tf.cross(X[:, :3], X[:, 1:]), np.cross(X[:, :3], X[:, 1:]))
    refuses(lambda: tf.cross(X, X), ValueError, "of 3 elements")
    same(lambda: tf.saturate_cast([-5.0, 300.0, 7.5], tf.uint8), [0, 255, 7])
    same(lambda: tf.saturate_cast([-5, 300], tf.int8), [-5, 127])
    same(lambda: tf.to_complex64([1.0]), [1 + 0j])
    same(lambda: tf.to_complex128([1.0]), [1 + 0j])
    same(lambda: tf.realdiv(1.0, 4.0), 0.25)
    same(lambda: [tf.arg_max(X, 1), tf.arg_min(X, 0)], [[3, 3, 3], [0, 0, 0, 0]])


def test_tensors_with_scattered_updates() -> None:
    rows = np.array([[2], [0]])
    wanted = X.copy()
    wanted[[2, 0]] = X[:2] + 50
    same(lambda: tf.tensor_scatter_update(X, rows, X[:2] + 50), wanted)
    twice = [[1, 1], [1, 1]]
    for function, value in ((tf.tensor_scatter_add, 8.0), (tf.tensor_scatter_sub, 2.0)):
        wanted = X.copy()
        wanted[1, 1] = value
        same(lambda f=function: f(X, twice, [1.0, 2.0]), wanted)
    assert tf.tensor_scatter_nd_add is tf.tensor_scatter_add
    refuses(lambda: tf.tensor_scatter_update(X, [[3]], X[:1]), Invalid, "does not index into")
    refuses(lambda: tf.tensor_scatter_update(X, [[1]], X[:1, :3]), ValueError, "must be of shape")
    refuses(lambda: tf.tensor_scatter_update(X, [[1, 1, 1]], [1.0]), ValueError, "3 coordinates")
