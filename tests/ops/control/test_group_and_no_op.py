"""Where `tf.group` puts its operations."""

from __future__ import annotations

import pytest

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


def test_structures_are_grouped():
    with tf.Graph().as_default():
        first, second, third = tf.no_op(), tf.constant(1.0), tf.constant([0])
        variable = tf.Variable(1.0, use_resource=True)
        slices = tf.IndexedSlices(tf.constant([2.0]), third)
        group = tf.group({"b": [first], "a": (second,)}, [slices], variable)
        inputs = {first, second.op, slices.values.op, third.op, variable.handle.op}
        assert set(group.control_inputs) == inputs
        assert tf.group([]).control_inputs == []


@pytest.mark.parametrize("part", [3, "name", None])
def test_what_is_no_part_of_a_graph_is_refused(part):
    words = rf"tf.group\(\) expected Tensor arguments not '{part}' with type '{type(part)}'"
    with tf.Graph().as_default(), pytest.raises(TypeError, match=words):
        tf.group([tf.no_op(), part])
