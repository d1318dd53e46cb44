"""Pooling whose windows are fed."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

IMAGES = np.random.default_rng(4).normal(size=(2, 6, 6, 4))


def test_windows_may_be_fed():
    with tf.Graph().as_default(), tf.Session() as session:
        ksize, strides = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
        x = tf.constant(IMAGES)
        pooled = tf.raw_ops.MaxPoolV2(input=x, ksize=ksize, strides=strides, padding="SAME")
        assert pooled.shape.as_list() == [None] * 4
        (dx,) = tf.gradients(pooled, x)
        for sizes, steps in (([1, 2, 2, 1], [1, 2, 2, 1]), ([1, 1, 1, 2], [1, 1, 1, 2])):
            wanted = tf.nn.max_pool(x, sizes, steps, "SAME")
            feeds = {ksize: sizes, strides: steps}
            pairs = session.run([(pooled, wanted), (dx, tf.gradients(wanted, x)[0])], feeds)
            for result, expected in pairs:
                np.testing.assert_array_equal(result, expected)


def test_windows_that_are_constant_have_a_static_shape():
    with tf.Graph().as_default():
        pooled = tf.raw_ops.MaxPoolV2(
            input=tf.constant(IMAGES), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"
        )
        assert pooled.shape.as_list() == [2, 3, 3, 4]
