"""Where `tf.group` puts its operations."""

from __future__ import annotations

import gpugraph as tf


def test_the_root_of_a_group_is_on_the_device_of_its_scope():
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            first = tf.no_op()
        with tf.device("/gpu:0"):
            second = tf.no_op()
        free = tf.no_op()
        with tf.device("/job:w"):
            root, single, empty = tf.group(second, first, free), tf.group(free), tf.group()
    parts = root.control_inputs
    assert [part.control_inputs for part in parts] == [[free], [first], [second]]
    devices = [operation.device for operation in (*parts, root, single, empty)]
    assert devices == [
        "/job:w", "/job:w/device:CPU:0", "/job:w/device:GPU:0", "/job:w", "/job:w", "/job:w",
    ]  # fmt: skip
