"""`tensorflow.python.training.slot_creator`: variables under another's name, of its shape."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture
def slots():
    with tf.as_tensorflow(), tf.Graph().as_default():
        yield importlib.import_module("tensorflow.python.training.slot_creator")


def start(variable):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(variable)


@pytest.mark.parametrize("use_resource", [False, True])
def test_slots_of_a_variable(slots, use_resource):
    v = tf.get_variable("v", initializer=[1.0, 2.5], use_resource=use_resource)
    with tf.name_scope("train"), tf.variable_scope("scope"):
        same = slots.create_slot(v, v.initialized_value(), name="slot")
        zeros = slots.create_zeros_slot(v, name="zeros", dtype=tf.float64)
        twos = slots.create_slot_with_initializer(
            v, tf.constant_initializer(2.0), v.shape, tf.float32, name="twos"
        )
    names = [slot.op.name for slot in (same, zeros, twos)]
    assert names == ["scope/v/slot", "scope/v/zeros", "scope/v/twos"]
    assert type(same) is type(v) and tf.trainable_variables() == [v]
    assert same.op.colocation_groups() == v.op.colocation_groups()
    np.testing.assert_array_equal(start(same), [1, 2.5])
    assert start(zeros).tolist() == [0, 0] and start(zeros).dtype == np.float64
    np.testing.assert_array_equal(start(twos), [2, 2])


def test_slots_of_a_tensor_and_of_an_open_shape(slots):
    tensor = tf.constant([1.0, 2.0, 3.0], name="const")
    alone = slots.create_zeros_slot(tensor, name="slot", colocate_with_primary=False)
    assert alone.op.name == "const/slot"
    np.testing.assert_array_equal(start(alone), [0, 0, 0])
    assert alone.op.colocation_groups() != tensor.op.colocation_groups()
    first = tf.placeholder_with_default([1.0, 2.0], [None])
    v = tf.Variable(first, validate_shape=False, name="open")
    slot = slots.create_slot_with_initializer(
        v, tf.constant_initializer(3.0), v.shape, tf.float32, name="threes"
    )
    np.testing.assert_array_equal(start(slot), [3, 3])
