"""Functions whose gradients compute them again, or pass through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf


def test_recomputed_gradients_are_the_same():
    def layer(x: tf.Tensor) -> tf.Tensor:
        weights = tf.get_variable("w", [3, 3], initializer=tf.ones_initializer())
        return tf.tanh(tf.matmul(x, weights) * 0.1)

    x = tf.constant(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    actual = []
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE) as scope:
        weights = tf.get_variable("w", [3, 3], initializer=tf.ones_initializer())
        for function in (layer, tf.recompute_grad(layer)):
            with tf.variable_scope(scope, auxiliary_name_scope=False):
                y = function(x)
                actual.append([y, *tf.gradients(y, [x, weights])])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain, again = session.run(actual)
    for one, other in zip(plain, again, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_recomputing_makes_the_ops_again():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        y = tf.recompute_grad(lambda x: tf.tanh(x) * 2)(x)
        (slope,) = tf.gradients(y, x)
        assert [operation.type for operation in graph.get_operations()].count("Tanh") == 2
        np.testing.assert_allclose(session.run(slope), 2 - 2 * np.tanh([1, 2]) ** 2, rtol=1e-5)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_in_a_loop(use_resource: bool) -> None:
    """A cell that is computed again in the backward loop, with a variable that is used twice."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [4, 3])
        start = np.random.RandomState(0).normal(size=(3, 3))
        with tf.variable_scope("", use_resource=use_resource):
            weights = tf.get_variable("weights", initializer=start)
            unused = tf.get_variable("unused", initializer=start)

        def cell(y: tf.Tensor) -> tf.Tensor:
            return tf.tanh(tf.matmul(tf.sin(tf.matmul(y, weights)), weights) * unused[0])

        slopes = []
        for function in (cell, tf.recompute_grad(cell), tf.contrib.layers.recompute_grad(cell)):

            def body(i: tf.Tensor, y: tf.Tensor, step: Any = function) -> Any:
                return i + 1, step(y) + y

            y = tf.while_loop(lambda i, _: i < 4, body, [0, x])[1]
            slopes.append(tf.gradients(y * y, [x, weights, unused]))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            expected, *others = session.run(slopes, {x: np.ones((4, 3))})
    for slope in others:
        for one, other in zip(slope, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)


def test_gradients_pass_through():
    x = tf.constant([1.2, 2.7])
    y = tf.grad_pass_through(tf.round)(x)
    with tf.Session() as session:
        value, slope = session.run([y, tf.gradients(3 * y, x)[0]])
    assert value.tolist() == [1, 3] and slope.tolist() == [3, 3]


WRAPPERS = {"recompute_grad": tf.recompute_grad, "layers": tf.contrib.layers.recompute_grad}


def slopes_of_calls(wrap: Any, flow: str) -> list[Any]:
    """Return a loss and its gradients, of a layer that is called again and again with one
    variable.
    """
    with tf.Graph().as_default(), tf.variable_scope("net", use_resource=True, reuse=tf.AUTO_REUSE):
        x = tf.placeholder(tf.float32, [2, 4])
        weights = tf.get_variable("w", initializer=np.sin(np.arange(16.0)).reshape(4, 4))

        def layer(a: Any) -> Any:
            return tf.tanh(tf.matmul(a, tf.cast(tf.get_variable("w", dtype=tf.float64), "float32")))

        function = wrap(layer)
        y = x
        if flow != "branch alone":
            y = function(function(x))
        if flow == "in another":
            y = wrap(lambda a: function(function(a)) + a)(y)
        if flow.startswith("branch"):
            y = tf.cond(tf.reduce_sum(x) > 0, lambda: function(y), lambda: tf.exp(-y))
        loss = tf.reduce_sum(tf.square(y))
        fetches = [loss, *tf.gradients(loss, [weights, x])]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            feeds = [sign * np.ones((2, 4)) for sign in (1, -1)]
            return [value for feed in feeds for value in session.run(fetches, {x: feed})]


@pytest.mark.parametrize("flow", ["calls", "in another", "branch", "branch alone"])
@pytest.mark.parametrize("wrap", WRAPPERS)
def test_a_variable_of_several_calls(wrap: str, flow: str) -> None:
    expected = slopes_of_calls(lambda function: function, flow)
    for got, wanted in zip(slopes_of_calls(WRAPPERS[wrap], flow), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)
