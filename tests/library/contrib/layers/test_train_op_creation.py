"""Train ops of tf.contrib.training and of slim: a loss whose evaluation trains."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

training, slim = tf.contrib.training, tf.contrib.slim


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def steps(train_op, count=1):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run(train_op) for _ in range(count)]
        return losses, session.run(tf.global_variables())


def model():
    v = tf.get_variable("v", initializer=[3.0, 4.0])
    return v, tf.reduce_sum(v * v) / 2


def test_it_updates_then_trains_and_counts():
    _, loss = model()
    seen = tf.get_variable("seen", initializer=0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, seen.assign_add(1.0))
    train_op = training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.5))
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP)[-1] is train_op
    losses, values = steps(train_op, 2)
    assert losses == [12.5, 12.5 / 4]
    by_name = dict(zip([x.op.name for x in tf.global_variables()], values))
    assert by_name["seen"] == 2.0 and by_name["global_step"] == 2
    np.testing.assert_allclose(by_name["v"], [0.75, 1.0])


def test_gradients_are_clipped_and_multiplied():
    v, loss = model()
    sgd = tf.train.GradientDescentOptimizer(1.0)
    train_op = slim.learning.create_train_op(
        loss, sgd, None, clip_gradient_norm=1.0, gradient_multipliers={"v": 2.0}
    )
    np.testing.assert_allclose(steps(train_op)[1], [[3 - 0.6, 4 - 0.8]], rtol=1e-6)
    by_fn = training.clip_gradient_norms_fn(1.0)
    train_op = training.create_train_op(loss, sgd, None, transform_grads_fn=by_fn)
    np.testing.assert_allclose(steps(train_op)[1], [[3 - 0.6, 4 - 0.8]], rtol=1e-6)
    rows = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 1]))
    [(clipped, _)] = training.clip_gradient_norms([(rows, v)], 1.0)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(clipped.values), [[0.6], [0.8]], rtol=1e-6)


def test_what_is_refused():
    v, loss = model()
    sgd = tf.train.GradientDescentOptimizer(1.0)
    fixed = tf.get_variable("fixed", initializer=0.0, trainable=False)
    with pytest.raises(ValueError, match="fixed:0 is not trainable"):
        training.create_train_op(loss, sgd, variables_to_train=[fixed])
    with pytest.raises(ValueError, match="is empty"):
        training.multiply_gradients([(v, v)], {})
    with pytest.raises(ValueError, match="must be a dict"):
        training.multiply_gradients([(v, v)], [1])
    with pytest.raises(ValueError, match="multiple of `None` gradient"):
        training.multiply_gradients([(None, v)], {v: 1.0})
    endless = training.create_train_op(loss / 0.0, sgd)
    with pytest.raises(tf.errors.InvalidArgumentError, match="LossTensor is inf or nan"):
        steps(endless)


def test_updates_that_are_left_out_are_warned_of(monkeypatch):
    _, loss = model()
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.no_op())
    warnings = []
    monkeypatch.setattr(tf.logging, "warning", lambda text, *_: warnings.append(text))
    training.create_train_op(loss, tf.train.GradientDescentOptimizer(1.0), update_ops=[])
    assert "does not contain all the update_ops" in warnings[0]


def test_gradients_are_summarized():
    _, loss = model()
    sgd = tf.train.GradientDescentOptimizer(1.0)
    training.create_train_op(loss, sgd, summarize_gradients=True)
    names = [summary.op.type for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert names == ["HistogramSummary", "ScalarSummary"]
