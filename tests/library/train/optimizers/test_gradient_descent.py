"""Gradient descent and momentum against their formulas in NumPy, step for step."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..linear import B, Linear, W, gradients, train

F = np.float32


def descend(rate, steps=50):
    values = [W, B]
    for _ in range(steps):
        values = [value - F(rate) * grad for value, grad in zip(values, gradients(*values))]
    return values


def momentum(rate, factor, nesterov, steps=50):
    values, accums = [W, B], [np.zeros_like(W), np.zeros_like(B)]
    for _ in range(steps):
        grads = gradients(*values)
        accums = [F(factor) * accum + grad for accum, grad in zip(accums, grads)]
        moves = (
            [grad + F(factor) * accum for accum, grad in zip(accums, grads)] if nesterov else accums
        )
        values = [value - F(rate) * move for value, move in zip(values, moves)]
    return values


def check(actual, expected):
    for value, other in zip(actual, expected):
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, other, rtol=0, atol=1e-6)
    assert not np.allclose(actual[0], W, atol=1e-2)  # something was learned


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_gradient_descent(rate):
    check(train(tf.train.GradientDescentOptimizer(rate)), descend(rate))


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum(nesterov):
    optimizer = tf.train.MomentumOptimizer(0.05, 0.8, use_nesterov=nesterov)
    check(train(optimizer), momentum(0.05, 0.8, nesterov))


def test_momentum_of_nothing_is_descent():
    check(train(tf.train.MomentumOptimizer(0.1, 0.0)), descend(0.1))


def test_the_slot():
    with tf.Graph().as_default():
        model = Linear()
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        step = optimizer.minimize(model.loss)
        slot = optimizer.get_slot(model.w, "momentum")
        assert optimizer.get_slot_names() == ["momentum"]
        assert slot.name == "w/Momentum:0"
        assert [variable.name for variable in optimizer.variables()] == [
            "b/Momentum:0",
            "w/Momentum:0",
        ]
        assert slot not in tf.trainable_variables()
        assert slot in tf.global_variables()
        assert slot.initializer.inputs[1].op.name == "w/Momentum/Initializer/zeros"
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            np.testing.assert_allclose(session.run(slot), gradients(W, B)[0], atol=1e-6)


def test_attrs():
    with tf.Graph().as_default() as graph:
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9, use_locking=True, use_nesterov=True)
        optimizer.minimize(Linear().loss)
        op = graph.get_operation_by_name("Momentum/update_w/ApplyMomentum")
        assert op.attrs["use_locking"] and op.attrs["use_nesterov"]


@pytest.mark.parametrize("make", [lambda value: value, lambda value: lambda: value])
def test_settings_as_tensors_and_callables(make):
    with tf.Graph().as_default():
        model = Linear()
        rate, factor = tf.placeholder(tf.float32, []), tf.constant(0.5)
        optimizer = tf.train.MomentumOptimizer(make(rate), make(factor))
        step = optimizer.minimize(model.loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step, {rate: 0.0})
            assert (session.run(model.w) == W).all()
            session.run(step, {rate: 0.25})
            accum = F(1.5) * gradients(W, B)[0]
            np.testing.assert_allclose(session.run(model.w), W - F(0.25) * accum, atol=1e-6)


def test_settings_are_cast_to_the_variable():
    with tf.Graph().as_default():
        model = Linear(tf.float64)
        step = tf.train.GradientDescentOptimizer(tf.constant(0.1)).minimize(model.loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            assert session.run(model.w).dtype == np.float64
            expected = W - F(0.1) * gradients(W, B)[0]
            np.testing.assert_allclose(session.run(model.w), expected, atol=1e-6)


def test_a_rate_that_is_no_scalar_is_refused():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=r"rank 0.*ApplyGradientDescent"):
            tf.train.GradientDescentOptimizer([0.1, 0.2]).minimize(Linear().loss)
