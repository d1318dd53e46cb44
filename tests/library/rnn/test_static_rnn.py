"""`static_rnn` and `static_bidirectional_rnn`: a step for each of a list of inputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gpugraph.nn import rnn_cell

import gpugraph as tf

from .networks import BATCH, DEPTH, LENGTHS, X, close, run


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def listed():
    return tf.unstack(tf.constant(X), axis=1)


@pytest.mark.parametrize("lengths", [None, LENGTHS, [0, 1, 0]])
def test_it_computes_what_the_loop_does(lengths):
    cell = rnn_cell.MultiRNNCell([rnn_cell.GRUCell(3), rnn_cell.BasicLSTMCell(2)])
    outputs, state = tf.nn.static_rnn(cell, listed(), dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        expected = tf.nn.dynamic_rnn(cell, tf.constant(X), lengths, dtype=tf.float32)
    close(*run(((tf.stack(outputs, 1), state), expected)))


def test_variables_are_made_once_and_operations_for_each_step(graph):
    outputs, _ = tf.nn.static_rnn(rnn_cell.BasicRNNCell(3), listed(), dtype=tf.float32)
    assert [output.op.name for output in outputs] == [
        "rnn/basic_rnn_cell/Tanh", *[f"rnn/basic_rnn_cell/Tanh_{index}" for index in range(1, 5)],
    ]  # fmt: skip
    assert len(tf.global_variables()) == 2
    assert outputs[0].shape.as_list() == [BATCH, 3]


def test_steps_behind_the_end_are_not_computed():
    counted = tf.Variable(0, trainable=False)

    class Counting(rnn_cell.RNNCell):
        state_size = output_size = DEPTH

        def call(self, inputs, state):
            with tf.control_dependencies([counted.assign_add(1)]):
                return tf.identity(inputs), state

    outputs, _ = tf.nn.static_rnn(
        Counting(), listed(), dtype=tf.float32, sequence_length=tf.constant([2, 1, 0])
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(outputs)
        assert session.run(counted) == 2


def test_an_initial_state_and_an_open_batch():
    x = tf.placeholder(tf.float32, [None, DEPTH])
    state = tf.placeholder(tf.float32, [None, 2])
    outputs, last = tf.nn.static_rnn(
        rnn_cell.GRUCell(2), [x, x], initial_state=state, sequence_length=[1, 2, 0]
    )
    assert outputs[1].shape.as_list() == [None, 2]
    inputs = X[:, 0, :2]
    actual, final = run((outputs, last), {x: X[:, 0], state: inputs})
    assert not actual[1][0].any() and not actual[0][2].any()
    close(final, np.stack([actual[0][0], actual[1][1], inputs[2]]))


def test_nested_inputs():
    class Adding(rnn_cell.RNNCell):
        state_size = output_size = DEPTH

        def call(self, inputs, state):
            return inputs[0] + inputs[1], state

    pairs = [(variable, 2 * variable) for variable in listed()]
    outputs, _ = tf.nn.static_rnn(Adding(), pairs, dtype=tf.float32)
    close(run(outputs), [3 * X[:, time] for time in range(X.shape[1])])


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_both_directions(lengths):
    forward, backward = rnn_cell.GRUCell(3), rnn_cell.BasicLSTMCell(2)
    outputs, state_fw, state_bw = tf.nn.static_bidirectional_rnn(
        forward, backward, listed(), dtype=tf.float32, sequence_length=lengths
    )
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        expected, states = tf.nn.bidirectional_dynamic_rnn(
            forward, backward, tf.constant(X), lengths, dtype=tf.float32
        )
    actual = (tf.stack(outputs, 1), (state_fw, state_bw))
    close(*run((actual, (tf.concat(expected, 2), states))))
    assert outputs[0].shape.as_list() == [BATCH, 5]
    assert [variable.op.name for variable in tf.global_variables()][::4] == [
        "bidirectional_rnn/fw/gru_cell/gates/kernel",
        "bidirectional_rnn/bw/basic_lstm_cell/kernel",
    ]


@pytest.mark.parametrize("network", ["static_rnn", "static_bidirectional_rnn"])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"inputs": []}, ValueError, "inputs must not be empty"),
        ({"inputs": 3.0}, TypeError, "inputs must be a sequence"),
        ({"dtype": None}, ValueError, "must give a dtype"),
        ({"sequence_length": 3}, ValueError, r"must be a vector.*saw shape: \(\)"),
        ({"cell": 3}, TypeError, "is not an RNNCell"),
    ],
)
def test_bad_arguments(network, arguments, error, message):
    inputs = {"inputs": listed(), "dtype": tf.float32, "cell": rnn_cell.GRUCell(2), **arguments}
    cells = [inputs.pop("cell")]
    if network == "static_bidirectional_rnn":
        cells.append(rnn_cell.GRUCell(2))
    with pytest.raises(error, match=message):
        getattr(tf.nn, network)(*cells, **inputs)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([[BATCH, None]], r"Input size .* but saw \(3, \?\)"),
        ([[BATCH, DEPTH], [2, DEPTH]], "not compatible|incompatible"),
    ],
)
def test_bad_inputs(shapes, message):
    inputs = [tf.placeholder(tf.float32, shape) for shape in shapes]
    with pytest.raises(ValueError, match=message):
        tf.nn.static_rnn(rnn_cell.GRUCell(2), inputs, dtype=tf.float32)
