"""Functions of layers follow their classes: parameters, defaults, names, documentation."""

from __future__ import annotations

import inspect

import pytest

import gpugraph as tf


def test_defaults_follow_the_constructor_but_for_those_that_are_set():
    function = inspect.signature(tf.layers.conv2d).parameters
    constructor = inspect.signature(tf.layers.Conv2D).parameters
    differing = [
        name
        for name, parameter in function.items()
        if name in constructor and parameter.default != constructor[name].default
    ]
    assert differing == ["strides", "dilation_rate"]
    assert function["strides"].default == (1, 1)
    assert next(iter(function)) == "inputs" and list(function)[-1] == "reuse"


def test_names_and_documentation():
    assert tf.layers.separable_conv2d.__name__ == "separable_conv2d"
    assert tf.layers.dense.__doc__.startswith("Apply a new `Dense` layer to `inputs`.")
    assert "units:" in tf.layers.dense.__doc__


def test_arguments_may_be_named_or_not():
    with tf.Graph().as_default():
        x = tf.zeros([2, 3])
        assert tf.layers.dense(inputs=x, units=4).shape.as_list() == [2, 4]
        assert tf.layers.dropout(x, 0.5, None, None, True, "drop").shape.as_list() == [2, 3]
        with pytest.raises(TypeError, match="units"):
            tf.layers.dense(x)
        with pytest.raises(TypeError, match="colour"):
            tf.layers.dense(x, 4, colour=1)
