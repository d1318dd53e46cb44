"""An error of a variable that is there already explains default names."""

from __future__ import annotations

import pytest

import gpugraph as tf


def layer():
    tf.layers.dense(tf.ones([2, 3]), 4)


def nested_scope():
    with tf.variable_scope(None, "dense"):
        tf.get_variable("kernel", [2])


@pytest.mark.parametrize("build", [layer, nested_scope])
@pytest.mark.parametrize("by_name", [True, False])
def test_default_names_in_a_scope_that_is_entered_again(build, by_name):
    with tf.Graph().as_default():
        with tf.variable_scope("s") as scope:
            build()
            build()
        with tf.variable_scope("s" if by_name else scope), pytest.raises(ValueError) as caught:
            build()
    message = str(caught.value)
    assert message.startswith("Variable s/dense/kernel already exists, disallowed.")
    assert "'dense' is a default name inside of 's': default names restart" in message


def test_given_names_are_not_explained():
    with tf.Graph().as_default():
        tf.get_variable("v", [2])
        with tf.variable_scope(None, "top"):
            tf.get_variable("w", [2])
        with pytest.raises(ValueError, match="already exists") as caught:
            tf.get_variable("v", [2])
        with tf.variable_scope("top"), pytest.raises(ValueError) as other:
            tf.get_variable("w", [2])
    assert "default name" not in str(caught.value) + str(other.value)
