"""A static RNN whose state variables keep between runs."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


class Saver:
    """States in variables, by name."""

    def __init__(self, *names):
        self.kept = {name: tf.Variable(tf.zeros([2, 3]), name=name) for name in names}

    def state(self, name):
        return self.kept[name].read_value()

    def save_state(self, name, value):
        return tf.assign(self.kept[name], value)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def inputs(count=4):
    return [np.full((2, 3), 0.1 * step, np.float32) for step in range(count)]


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_two_runs_of_half_a_sequence_are_one_of_the_whole(kind):
    cells = tf.nn.rnn_cell
    cell = cells.BasicRNNCell(3) if kind == "rnn" else cells.LSTMCell(3)
    names = "h" if kind == "rnn" else ("c", "h")
    saver = Saver(*names)
    fed = [tf.placeholder(tf.float32, [2, 3]) for _ in range(2)]
    outputs, state = tf.nn.static_state_saving_rnn(cell, fed, saver, names, scope="net")
    assert isinstance(state, tuple) == (kind == "lstm")
    whole, last = tf.nn.static_rnn(
        cell,
        [tf.constant(step) for step in inputs()],
        dtype=tf.float32,
        scope=tf.VariableScope(tf.AUTO_REUSE, "net"),
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(outputs[-1], dict(zip(fed, inputs()[:2], strict=True)))
        second, end = session.run([outputs, state], dict(zip(fed, inputs()[2:], strict=True)))
        expected, wanted = session.run([whole, last])
    np.testing.assert_allclose([first, *second], expected[1:], 1e-6)
    np.testing.assert_allclose(end, wanted, 1e-6)


def test_there_is_a_name_for_each_state():
    cell = tf.nn.rnn_cell.LSTMCell(3)
    with pytest.raises(ValueError, match=r"state_name should be the same type as cell\.state_size"):
        tf.nn.static_state_saving_rnn(cell, inputs(), Saver("h"), "h")
    with pytest.raises(ValueError, match=r"#elems\(state_name\) != .* 3 vs\. 2"):
        tf.nn.static_state_saving_rnn(cell, inputs(), Saver("h"), ("c", "h", "x"))
