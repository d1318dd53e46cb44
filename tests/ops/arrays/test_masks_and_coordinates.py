"""Sequence masks, grids, flat indices as coordinates, shapes that broadcast; sets."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

from ..function_cases import refuses, same

Invalid = tf.errors.InvalidArgumentError


def test_sequence_masks() -> None:
    rows = [[True, False, False], [True, True, True], [False] * 3]
    same(lambda: tf.sequence_mask([1, 3, 0]), rows)
    same(
        lambda: tf.sequence_mask([[1, 3], [2, 0]], 2, tf.float32),
        [[[1, 0], [1, 1]], [[1, 1], [0, 0]]],
    )
    same(lambda: tf.sequence_mask(tf.zeros([0], tf.int32)), np.zeros((0, 0)))
    refuses(lambda: tf.sequence_mask([1], [3]), ValueError, "must be scalar")
    with tf.Graph().as_default():
        assert tf.sequence_mask([1, 3]).shape.as_list() == [2, 3]
        assert tf.sequence_mask(tf.placeholder(tf.int64, [2])).shape.as_list() == [2, None]
        assert tf.sequence_mask(tf.placeholder(tf.int64)).shape.rank is None


def test_meshgrid_is_numpys() -> None:
    vectors = [np.arange(3), np.arange(2), np.arange(4)]
    for count in (1, 2, 3):
        for indexing in ("xy", "ij"):
            wanted = np.meshgrid(*vectors[:count], indexing=indexing)
            same(
                lambda n=count, how=indexing: tf.meshgrid(*vectors[:n], indexing=how), list(wanted)
            )
    assert tf.meshgrid() == []
    refuses(lambda: tf.meshgrid([1], indexing="ab"), ValueError, "'xy' or 'ij'")
    refuses(lambda: tf.meshgrid([1], order="xy"), TypeError, "unexpected keyword argument 'order'")


def test_unravel_index() -> None:
    same(lambda: tf.unravel_index([5, 7], [3, 4]), [[1, 1], [1, 3]])
    same(lambda: tf.unravel_index(5, [3, 4]), [1, 1])
    refuses(lambda: tf.unravel_index([12], [3, 4]), Invalid, "out of bound")
    refuses(lambda: tf.unravel_index([[1]], [3, 4]), ValueError, "scalar or a vector")


def test_shapes_that_broadcast() -> None:
    same(lambda: tf.broadcast_dynamic_shape([2, 1], [3]), [2, 3])
    refuses(lambda: tf.broadcast_dynamic_shape([2, 2], [3]), Invalid, "Incompatible shapes")
    assert tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])).as_list() == [
        2,
        3,
    ]


def test_sets() -> None:
    same(lambda: tf.setdiff1d([1, 2, 3, 4, 1], [2, 4]), [[1, 3, 1], [0, 2, 4]])
    same(lambda: tf.unique_with_counts([7, 5, 7, 7]), [[7, 5], [0, 1, 0, 0], [3, 1]])
    refuses(lambda: tf.setdiff1d([[1]], [2]), ValueError, "rank 1")
    refuses(lambda: tf.unique_with_counts([[1]]), ValueError, "rank 1")
