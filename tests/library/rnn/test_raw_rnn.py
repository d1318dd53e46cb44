"""`raw_rnn`: the program defines the transition between steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gpugraph.nn import rnn_cell

import gpugraph as tf

from .networks import BATCH, DEPTH, LENGTHS, STEPS, X, close, run


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_it_can_be_dynamic_rnn():
    cell = rnn_cell.LSTMCell(3)
    elements = tf.TensorArray(tf.float32, STEPS).unstack(X.swapaxes(0, 1))

    def loop_fn(time, output, state, _):
        if output is None:
            state = cell.zero_state(BATCH, tf.float32)
        finished = time >= tf.constant(LENGTHS)
        inputs = tf.cond(
            tf.reduce_all(finished), lambda: tf.zeros([BATCH, DEPTH]), lambda: elements.read(time)
        )
        inputs.set_shape([BATCH, DEPTH])
        return finished, inputs, state, output, None

    arrays, state, loop_state = tf.nn.raw_rnn(cell, loop_fn)
    assert loop_state is None
    outputs = tf.transpose(arrays.stack(), [1, 0, 2])
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        expected = tf.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, dtype=tf.float32)
    weights = tf.trainable_variables()
    gradients = [tf.gradients(tf.reduce_sum(output), weights) for output in (outputs, expected[0])]
    close(*run(((outputs, state, gradients[0]), (*expected, gradients[1]))))


def test_outputs_may_be_fed_back_until_all_are_finished():
    """Counts up from 0, 1 and 2 to above 4, in steps of 2."""

    class Plus(rnn_cell.RNNCell):
        state_size = output_size = 1

        def call(self, inputs, state):
            return inputs + 2.0, state + 1.0

    cell = Plus()

    def loop_fn(time, output, state, _):
        if output is None:
            start = tf.constant([[0.0], [1.0], [2.0]])
            return tf.zeros([3], tf.bool), start, cell.zero_state(3, tf.float32), None, None
        return output[:, 0] > 4.0, output, state, output, None

    arrays, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    outputs, steps = run((arrays.stack(), state))
    assert outputs[:, :, 0].tolist() == [[2, 3, 4], [4, 5, 6], [6, 0, 0]]
    assert steps[:, 0].tolist() == [3, 2, 2]


def test_what_is_emitted_and_passed_on_is_the_programs():
    cell = rnn_cell.GRUCell(2)

    def loop_fn(time, output, state, powers):
        inputs = tf.ones([3, DEPTH])
        if output is None:
            emit = {"time": tf.zeros([], tf.int32), "pair": tf.zeros([2])}
            return (
                tf.constant([False, False, True]),
                inputs,
                cell.zero_state(3, tf.float32),
                emit,
                tf.constant(1),
            )
        emit = {"time": tf.fill([3], time), "pair": 0 * output + tf.cast(powers, tf.float32)}
        return time >= [1, 3, 0], inputs, state, emit, 2 * powers

    arrays, _, powers = tf.nn.raw_rnn(cell, loop_fn, scope="own")
    times, pairs, last = run((arrays["time"].stack(), arrays["pair"].stack(), powers))
    assert times.tolist() == [[1, 1, 0], [0, 2, 0], [0, 3, 0]]
    assert pairs[:, 1, 0].tolist() == [1, 2, 4]
    assert last == 8
    assert tf.global_variables()[0].op.name == "own/gru_cell/gates/kernel"


def test_what_changes_its_structure_is_refused():
    cell = rnn_cell.GRUCell(2)

    def loop_fn(time, output, state, _):
        state = cell.zero_state(3, tf.float32) if output is None else (state,)
        return tf.zeros([3], tf.bool), tf.ones([3, DEPTH]), state, output, None

    with pytest.raises(ValueError, match="same nested structure"):
        tf.nn.raw_rnn(cell, loop_fn)


@pytest.mark.parametrize(
    ("cell", "loop_fn", "message"),
    [(3, print, "is not an RNNCell"), ("gru", 3, "loop_fn must be a callable, but it is 3")],
)
def test_bad_arguments(cell, loop_fn, message):
    cell = rnn_cell.GRUCell(2) if cell == "gru" else cell
    with pytest.raises(TypeError, match=message):
        tf.nn.raw_rnn(cell, loop_fn)


def test_inputs_of_different_batches():
    cell = rnn_cell.GRUCell(2)

    def loop_fn(time, output, state, _):
        inputs = (np.ones([3, 1], np.float32), np.ones([2, 1], np.float32))
        inputs = tuple(tf.constant(tensor) for tensor in inputs)
        return tf.zeros([3], tf.bool), inputs, cell.zero_state(3, tf.float32), None, None

    with pytest.raises(ValueError, match="not compatible"):
        tf.nn.raw_rnn(cell, loop_fn)
