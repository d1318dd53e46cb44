"""Variables and stacks of older graphs."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_stacks_give_back_what_was_pushed_last():
    handles = [tf.raw_ops.Stack(elem_type=tf.float32, stack_name="one") for _ in range(2)]
    pushes = [
        tf.raw_ops.StackPush(handle=handle, elem=[number, 7.0])
        for handle, number in zip(handles, (4.0, 5.0), strict=True)
    ]
    with tf.control_dependencies(pushes):
        pops = [tf.raw_ops.StackPop(handle=handle, elem_type=tf.float32) for handle in handles]
    with tf.control_dependencies(pops):
        closes = [tf.raw_ops.StackClose(handle=handle) for handle in handles]
    with tf.Session() as session:
        for _ in range(2):
            values, *_ = session.run([pops, closes])
            np.testing.assert_array_equal(values, [[4, 7], [5, 7]])


def test_variables_are_assigned():
    variable = tf.raw_ops.Variable(shape=[2], dtype=tf.float32, shared_name="shared")
    again = tf.raw_ops.Variable(shape=[2], dtype=tf.float32, shared_name="shared")
    assigned = tf.assign(variable, [1.0, 2.0])
    assert variable.shape.as_list() == [2] and variable.dtype.name == "float32_ref"
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(variable)
        session.run(assigned)
        np.testing.assert_array_equal(session.run(variable), [1, 2])
        session.run(tf.assign_add(variable, [1.0, 1.0]))
        np.testing.assert_array_equal(session.run(again + 0.0), [2, 3])


def test_the_static_shape_of_a_scalar_is_unknown():
    variable = tf.raw_ops.Variable(shape=[], dtype=tf.int32)
    assert variable.shape.rank is None
    with tf.Session() as session:
        assert session.run(tf.assign(variable, 3)) == 3
