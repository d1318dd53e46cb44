"""bincount, histograms and confusion matrices."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

from ..function_cases import refuses, same

Invalid = tf.errors.InvalidArgumentError
VALUES = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]


def test_bincount_counts_or_adds_up_weights() -> None:
    same(lambda: tf.bincount([1, 1, 4]), [0, 2, 0, 0, 1])
    same(lambda: tf.bincount([1, 1, 4], weights=[0.5, 1.0, 2.0]), [0, 1.5, 0, 0, 2])
    same(lambda: tf.bincount([1, 1, 4], minlength=7, maxlength=9), [0, 2, 0, 0, 1, 0, 0])
    same(lambda: tf.bincount([1, 1, 4], maxlength=3, dtype=tf.float32), [0, 2, 0])
    same(lambda: tf.bincount(tf.zeros([0], tf.int32)), np.zeros(0))
    refuses(lambda: tf.bincount([1, -1]), Invalid, "non-negative")


def test_bincount_of_a_constant_has_a_known_length() -> None:
    with tf.Graph().as_default():
        assert tf.bincount([1, 4]).shape.as_list() == [5]
        assert tf.bincount([1, 4], minlength=7).shape.as_list() == [7]
        assert tf.bincount([1, 4], maxlength=3).shape.as_list() == [3]
        assert tf.bincount(tf.placeholder(tf.int32)).shape.as_list() == [None]
        open_end = tf.placeholder(tf.int32, [])
        assert tf.bincount([1, 4], maxlength=open_end).shape.as_list() == [None]


def test_histograms_put_what_is_outside_at_the_ends() -> None:
    same(lambda: tf.histogram_fixed_width(VALUES, [0.0, 5.0], nbins=5), [2, 1, 1, 0, 2])
    same(lambda: tf.histogram_fixed_width_bins(VALUES, [0.0, 5.0], nbins=5), [0, 0, 1, 2, 4, 4])
    refuses(lambda: tf.histogram_fixed_width(VALUES, [5.0, 0.0], 5), Invalid, "value_range")
    refuses(lambda: tf.histogram_fixed_width(VALUES, [0.0, 5.0], 0), ValueError, "nbins")
    refuses(lambda: tf.histogram_fixed_width(VALUES, [5.0], 5), ValueError, "must be 2 but is 1")


def test_confusion_matrix_counts_labels_by_predictions() -> None:
    wanted = np.zeros((5, 5))
    wanted[[1, 2, 4], [2, 2, 4]] = 1
    same(lambda: tf.confusion_matrix([1, 2, 4], [2, 2, 4]), wanted)
    same(lambda: tf.confusion_matrix([[1], [2], [4]], [2, 2, 4], num_classes=5), wanted)
    weighted = np.zeros((3, 3))
    weighted[[1, 2, 0], [2, 2, 0]] = [0.5, 1, 2]
    same(
        lambda: tf.confusion_matrix([1, 2, 0], [2, 2, 0], dtype=tf.float32, weights=[0.5, 1, 2]),
        weighted,
    )
    refuses(
        lambda: tf.confusion_matrix([1, 5], [2, 0], num_classes=4),
        Invalid,
        "does not index into shape",
    )
    refuses(lambda: tf.confusion_matrix([1, -1], [2, 0]), Invalid, "does not index into shape")
