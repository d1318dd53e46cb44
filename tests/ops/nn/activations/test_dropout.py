"""Dropout: the elements that it keeps, its scaling, and its errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def value_of(*tensors):
    with tf.Session() as session:
        return session.run(list(tensors))


@pytest.mark.parametrize("arguments", [{"rate": 0.25}, {"keep_prob": 0.75}])
def test_what_is_kept_is_scaled(arguments):
    (dropped,) = value_of(tf.nn.dropout(tf.ones([200, 200]), seed=1, **arguments))
    np.testing.assert_allclose(np.unique(dropped), [0, 4 / 3], rtol=1e-6)
    assert abs(dropped.mean() - 1) < 0.02


def test_its_operations_are_tensorflows(graph):
    dropped = tf.nn.dropout(tf.placeholder(tf.float32, [None, 2], name="x"), rate=0.5)
    assert dropped.name == "dropout/mul_1:0"
    assert dropped.shape.as_list() == [None, 2]
    names = [op.name.removeprefix("dropout/") for op in graph.get_operations()]
    assert names == [
        "x", "rate", "Shape", "random_uniform/min", "random_uniform/max",
        "random_uniform/RandomUniform", "random_uniform/sub", "random_uniform/mul",
        "random_uniform", "sub/x", "sub", "truediv/x", "truediv", "GreaterEqual", "mul", "Cast",
        "mul_1",
    ]  # fmt: skip


def test_the_gradient_is_that_of_what_is_kept():
    x = tf.ones([50])
    dropped = tf.nn.dropout(x, rate=0.5)
    values, gradient = value_of(dropped, tf.gradients(dropped, x)[0])
    np.testing.assert_array_equal(values, gradient)


@pytest.mark.parametrize("noise_shape", [[4, 1], [None, 1]])
def test_elements_are_dropped_together_by_the_noise_shape(noise_shape):
    (values,) = value_of(tf.nn.dropout(tf.ones([4, 100]), rate=0.5, noise_shape=noise_shape))
    assert all(len(set(row)) == 1 for row in values.tolist())


def test_the_noise_shape_may_be_a_tensor():
    shape = tf.placeholder(tf.int32, [2])
    dropped = tf.nn.dropout(tf.ones([4, 100]), rate=0.5, noise_shape=shape)
    with tf.Session() as session:
        values = session.run(dropped, {shape: [1, 100]})
    assert (values == values[0]).all()


def test_the_rate_may_be_a_tensor():
    rate = tf.placeholder(tf.float32, [])
    dropped = tf.nn.dropout(tf.ones([1000]), rate=rate)
    with tf.Session() as session:
        assert (session.run(dropped, {rate: 0.0}) == 1).all()
        assert set(session.run(dropped, {rate: 0.5}).tolist()) == {0, 2}


def test_nothing_is_dropped_at_rate_0():
    x = tf.ones([3])
    assert tf.nn.dropout(x, rate=0) is x
    assert tf.nn.dropout(x, keep_prob=1) is x
    assert tf.nn.dropout(x, rate=tf.constant(0.0)) is x


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "must provide a rate"),
        ({"rate": 0.5, "keep_prob": 0.5}, "one of 'rate' and its older form"),
        ({"rate": 1.0}, r"range \[0, 1\), got 1"),
        ({"keep_prob": 0}, r"range \[0, 1\), got 1"),
        ({"rate": -0.1}, "got -0.1"),
        ({"keep_prob": "most"}, "keep_prob must be a floating point number or Tensor"),
        ({"x": [1, 2], "rate": 0.5}, "x has to be a floating point tensor .* int32"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.nn.dropout(**{"x": [1.0], **arguments})
