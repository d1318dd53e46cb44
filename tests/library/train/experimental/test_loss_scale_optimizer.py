"""Training by scaled losses."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

Scaled = tf.train.experimental.MixedPrecisionLossScaleOptimizer
SGD = tf.train.GradientDescentOptimizer


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_small_gradients_of_float16_are_kept():
    x = tf.Variable(1.0)
    loss = tf.cast(x, tf.float16) * np.float16(1e-4) * np.float16(1e-4)  # 0 without a scale
    ((plain, _),) = SGD(1.0).compute_gradients(loss)
    ((kept, _),) = Scaled(SGD(1.0), 1024).compute_gradients(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain, kept = session.run([plain, kept])
    assert plain == 0
    np.testing.assert_allclose(kept, 1e-8, rtol=1e-2)


def test_steps_that_are_not_finite_are_left_out():
    x, step = tf.Variable(2.0), tf.train.create_global_step()
    factor = tf.placeholder(tf.float32, [])
    optimizer = Scaled(tf.train.MomentumOptimizer(0.5, 0.9), "dynamic")
    train = optimizer.minimize(lambda: x * factor, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {factor: 1.0})
        session.run(train, {factor: np.inf})
        values = session.run([x, step, *optimizer.variables()])
    assert values == [1.5, 1, 1.0, 2.0**14, 0]
    assert optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(x, "momentum").op.name == "Variable/Momentum"


def test_rows_and_variables_without_gradient():
    table, unused = tf.Variable(np.ones([3, 2], np.float32)), tf.Variable(0.0)
    optimizer = Scaled(SGD(1.0), 16.0)
    pairs = optimizer.compute_gradients(tf.reduce_sum(tf.gather(table, [1])), [table, unused])
    assert isinstance(pairs[0][0], tf.IndexedSlices)
    assert pairs[1][0] is None
    train = optimizer.apply_gradients(pairs)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_array_equal(session.run(table), [[1, 1], [0, 0], [1, 1]])


def test_wrong_arguments():
    with pytest.raises(ValueError, match='"opt" must be an instance of Optimizer'):
        Scaled("sgd", 2)
    with pytest.raises(ValueError, match="Could not interpret loss scale identifier: 'fixed'"):
        Scaled(SGD(1.0), "fixed")
