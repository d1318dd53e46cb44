"""`get_reachable_from_inputs`: by values, by waiting, from variables."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.library.keras.engine.reachable_tensors import get_reachable_from_inputs


def test_what_is_computed_of_a_tensor():
    with tf.Graph().as_default():
        x, other = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        y = x + other
        z = tf.exp(y)
        aside = tf.exp(other)
        with tf.control_dependencies([z]):
            after = tf.constant(1.0)
    reachable = get_reachable_from_inputs([x])
    assert {x, y, y.op, z, z.op, after.op, after} == reachable
    assert aside in get_reachable_from_inputs([other, x])
    assert y in get_reachable_from_inputs(x, targets=[y])
    assert after not in get_reachable_from_inputs(x, targets=[y])


def test_of_a_variable_and_an_operation():
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        y = v * 2.0
    assert y in get_reachable_from_inputs([v])
    assert y in get_reachable_from_inputs([v.op])
    with pytest.raises(TypeError, match="Expected Operation, Variable, or Tensor, got 3"):
        get_reachable_from_inputs([3])
