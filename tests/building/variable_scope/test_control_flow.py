"""Variables got inside branches and loops: initialized by themselves, used where they are got."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def plus_one(shape, dtype=None):
    return tf.zeros(shape, dtype) + 1.0


def test_a_variable_of_a_branch_is_initialized_whichever_branch_runs():
    chosen = tf.placeholder(tf.bool, [])

    def branch():
        got = tf.get_variable("v", [2], initializer=plus_one, regularizer=tf.nn.l2_loss)
        return got + tf.Variable(lambda: tf.ones([2]) + 3.0, name="w")

    result = tf.cond(chosen, branch, lambda: tf.zeros([2]))
    loss = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(result, {chosen: True}).tolist() == [5, 5]
        assert session.run(result, {chosen: False}).tolist() == [0, 0]
        assert session.run(loss) == 1


def test_a_variable_of_a_loop_is_one_and_is_trained():
    def body(index, total):
        with tf.variable_scope("cell", reuse=tf.AUTO_REUSE):
            weight = tf.get_variable("w", [], initializer=tf.ones_initializer())
        return index + 1, total * weight

    _, result = tf.while_loop(lambda index, _: index < 3, body, [0, tf.constant(2.0)])
    weight = tf.trainable_variables()
    assert [each.op.name for each in weight] == ["cell/w"]
    gradient = tf.gradients(result, weight)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([result, gradient]) == [2, [6]]


def test_an_initial_value_made_in_a_branch_is_refused():
    def branch():
        return tf.identity(tf.Variable(tf.ones([2])))

    with pytest.raises(
        ValueError, match=r"variable cond/Variable is from inside a control-flow .*use a lambda"
    ):
        tf.cond(tf.placeholder(tf.bool, []), branch, lambda: tf.zeros([2]))
