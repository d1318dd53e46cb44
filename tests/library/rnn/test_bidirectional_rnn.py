"""`bidirectional_dynamic_rnn`: each direction as a separate network."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gpugraph.nn import rnn_cell

import gpugraph as tf

from .networks import LENGTHS, STEPS, X, close, run


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def turned(value, lengths):
    actual = value.copy()
    for row, length in enumerate(lengths):
        actual[row, :length] = value[row, :length][::-1]
    return actual


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_backward_is_forward_over_what_is_turned(lengths, time_major):
    def swap(value):
        return value.swapaxes(0, 1) if time_major else value

    forward, backward = rnn_cell.GRUCell(3), rnn_cell.BasicLSTMCell(2)
    arguments = {"dtype": tf.float32, "time_major": time_major}
    outputs, states = tf.nn.bidirectional_dynamic_rnn(
        forward, backward, tf.constant(swap(X)), lengths, **arguments
    )
    every = [STEPS] * 3 if lengths is None else lengths
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        plain = tf.nn.dynamic_rnn(forward, tf.constant(swap(X)), lengths, **arguments)
        back = tf.nn.dynamic_rnn(
            backward, tf.constant(swap(turned(X, every))), lengths, **arguments
        )
    (actual, last), one, (other, memory) = run(((outputs, states), plain, back))
    close((actual[0], last[0]), one)
    close((swap(actual[1]), last[1]), (turned(swap(other), every), memory))


def test_initial_states_and_scopes():
    state = np.ones([3, 2], np.float32)
    outputs, (forward, backward) = tf.nn.bidirectional_dynamic_rnn(
        rnn_cell.GRUCell(2),
        rnn_cell.GRUCell(2),
        tf.constant(X),
        [0, 0, 0],
        initial_state_fw=state,
        initial_state_bw=2 * state,
        scope="both",
    )
    close(run((outputs, forward, backward)), ((0 * X[:, :, :2],) * 2, state, 2 * state))
    names = [variable.op.name for variable in tf.global_variables()]
    assert names[0] == "both/fw/gru_cell/gates/kernel"
    assert names[4] == "both/bw/gru_cell/gates/kernel"


def test_gradients_flow_from_both_ends():
    x = tf.constant(X)
    (forward, backward), _ = tf.nn.bidirectional_dynamic_rnn(
        rnn_cell.GRUCell(2), rnn_cell.GRUCell(2), x, dtype=tf.float32
    )
    first, last = run([
        tf.gradients(forward[:, 0], x)[0], tf.gradients(backward[:, -1], x)[0],
    ])  # fmt: skip
    assert first[:, 0].any() and not first[:, 1:].any()
    assert last[:, -1].any() and not last[:, :-1].any()


@pytest.mark.parametrize("index", [0, 1])
def test_what_is_no_cell(index):
    cells = [rnn_cell.GRUCell(2), rnn_cell.GRUCell(2)]
    cells[index] = "cell"
    with pytest.raises(
        TypeError, match=rf"'cell_{('fw', 'bw')[index]}' \('cell'\) is not an RNNCell"
    ):
        tf.nn.bidirectional_dynamic_rnn(*cells, tf.constant(X), dtype=tf.float32)
