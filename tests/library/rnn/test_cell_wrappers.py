"""Wrappers: dropout, residual connections, devices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gpugraph.nn import rnn_cell

import gpugraph as tf

from .networks import BATCH, DEPTH, STEPS, X, close, run


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


class Same(rnn_cell.RNNCell):
    """Puts its inputs out, and passes its state on."""

    state_size = output_size = DEPTH

    def call(self, inputs, state):
        return tf.identity(inputs), tf.identity(state)


ONES = np.ones([1, 100, DEPTH], np.float32)


def outputs_of(cell, state=None):
    state = np.ones([1, DEPTH], np.float32) if state is None else state
    return run(tf.nn.dynamic_rnn(cell, tf.constant(ONES), initial_state=state))


# -- all wrappers


@pytest.mark.parametrize(
    "wrap",
    [
        rnn_cell.DropoutWrapper,
        rnn_cell.ResidualWrapper,
        lambda cell: rnn_cell.DeviceWrapper(cell, "/cpu:0"),
    ],
)
def test_a_wrapper_stands_for_its_cell(wrap):
    inner = rnn_cell.GRUCell(DEPTH)
    cell = wrap(inner)
    assert cell.wrapped_cell is inner
    assert (cell.state_size, cell.output_size) == (DEPTH, DEPTH)
    state = cell.zero_state(BATCH, tf.float32)
    assert state.op.name == f"{type(cell).__name__}ZeroState/GRUCellZeroState/zeros"
    cell(tf.constant(X[:, 0]), state)
    assert cell.variables[0].op.name == "gru_cell/gates/kernel"
    assert cell.trainable_variables == inner.trainable_variables
    with pytest.raises(TypeError, match=r"'cell' \(3\) is not an RNNCell"):
        wrap(3)


# -- residual


def test_inputs_are_added():
    inner = rnn_cell.GRUCell(DEPTH)
    x = tf.constant(X)
    whole, state = tf.nn.dynamic_rnn(rnn_cell.ResidualWrapper(inner), x, dtype=tf.float32)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        plain, last = tf.nn.dynamic_rnn(inner, x, dtype=tf.float32)
    close(*run(((whole, state), (plain + x, last))))


def test_or_what_the_function_says():
    cell = rnn_cell.ResidualWrapper(Same(), lambda inputs, outputs: inputs - outputs)
    assert not outputs_of(cell)[0].any()


def test_inputs_that_are_not_like_outputs():
    with pytest.raises(ValueError, match=r"\(3, 4\) and \(3, 2\)"):
        rnn_cell.ResidualWrapper(rnn_cell.GRUCell(2))(tf.constant(X[:, 0]), tf.zeros([BATCH, 2]))


# -- devices


def test_a_cell_on_its_device():
    cell = rnn_cell.DeviceWrapper(rnn_cell.GRUCell(2), "/device:CPU:1")
    state = cell.zero_state(BATCH, tf.float32)
    output, _ = cell(tf.constant(X[:, 0]), state)
    assert output.device == state.device == cell.variables[0].device == "/device:CPU:1"


# -- dropout


def kept(values):
    """Return which share is kept, where values are 0 or scaled."""
    return np.mean(values != 0)


def test_inputs_are_dropped_and_scaled():
    outputs, state = outputs_of(rnn_cell.DropoutWrapper(Same(), input_keep_prob=0.5, seed=1))
    assert set(np.unique(outputs)) == {0, 2}
    assert 0.4 < kept(outputs) < 0.6
    assert (state == 1).all()


def test_outputs_are_dropped_and_scaled():
    cell = rnn_cell.DropoutWrapper(Same(), output_keep_prob=tf.constant(0.8), seed=1)
    outputs, _ = outputs_of(cell)
    np.testing.assert_allclose(np.unique(outputs), [0, 1.25])
    assert 0.7 < kept(outputs) < 0.9


def test_states_are_dropped():
    cell = rnn_cell.DropoutWrapper(Same(), state_keep_prob=0.5)
    outputs, state = outputs_of(cell)
    assert (outputs == 1).all()
    assert not state.any()  # after 100 steps


def test_nothing_is_dropped_by_default(graph):
    outputs, state = outputs_of(rnn_cell.DropoutWrapper(Same()))
    assert (outputs == 1).all() and (state == 1).all()
    assert not [op for op in graph.get_operations() if op.type == "RandomUniform"]


def test_the_memory_of_an_lstm_is_kept():
    class Passing(rnn_cell.RNNCell):
        state_size = rnn_cell.LSTMStateTuple(50, 50)
        output_size = 50

        def call(self, inputs, state):
            return state.h, state

    ones = tf.ones([1, 50])
    value = rnn_cell.LSTMStateTuple(ones, ones)
    x = tf.zeros([1, 1])

    def after(**arguments):
        _, state = rnn_cell.DropoutWrapper(Passing(), state_keep_prob=0.5, **arguments)(x, value)
        return state

    default = after()
    memory_only = after(
        dropout_state_filter_visitor=lambda value: (
            not isinstance(value, tuple) or rnn_cell.LSTMStateTuple(c=True, h=False)
        )
    )
    neither = after(dropout_state_filter_visitor=lambda value: False)
    shares = [(kept(state.c), kept(state.h)) for state in run((default, memory_only, neither))]
    assert shares[0][0] == 1 and 0.2 < shares[0][1] < 0.8
    assert 0.2 < shares[1][0] < 0.8 and shares[1][1] == 1
    assert shares[2] == (1, 1)


def test_nested_states_are_dropped_leaf_by_leaf():
    class Nested(rnn_cell.RNNCell):
        output_size = 50

        @property
        def state_size(self):
            return {"a": 50, "b": (50, 50)}

        def call(self, inputs, state):
            return state["a"], state

    ones = tf.ones([1, 50])
    cell = rnn_cell.DropoutWrapper(
        Nested(),
        state_keep_prob=0.5,
        dropout_state_filter_visitor=lambda value: (
            {"a": False, "b": True} if isinstance(value, dict) else True
        ),
    )
    _, state = run(cell(tf.zeros([1, 1]), {"a": ones, "b": (ones, ones)}))
    assert kept(state["a"]) == 1
    first, second = state["b"]
    assert 0.2 < kept(first) < 0.8 and not (first == second).all()


@pytest.mark.parametrize("variational", [True, False])
def test_all_steps_drop_the_same_where_it_is_variational(variational):
    cell = rnn_cell.DropoutWrapper(
        Same(),
        input_keep_prob=0.5,
        output_keep_prob=0.5,
        variational_recurrent=variational,
        input_size=DEPTH,
        dtype=tf.float32,
        seed=3,
    )
    outputs, _ = outputs_of(cell)
    assert set(np.unique(outputs)) <= {0, 2, 4}
    assert (outputs == outputs[:, :1]).all() == variational


def test_equal_seeds_drop_alike_and_inputs_unlike_outputs():
    def outputs(**arguments):
        with tf.Graph().as_default():
            return outputs_of(rnn_cell.DropoutWrapper(Same(), seed=5, **arguments))[0]

    first = outputs(input_keep_prob=0.5)
    assert (first == outputs(input_keep_prob=0.5)).all()
    assert (first != outputs(output_keep_prob=0.5)).any()


def test_gradients_pass_what_is_kept():
    x = tf.constant(ONES)
    cell = rnn_cell.DropoutWrapper(Same(), input_keep_prob=0.5)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    actual, gradient = run((outputs, tf.gradients(outputs, x)[0]))
    np.testing.assert_array_equal(actual, gradient)
    assert actual.shape == (1, 100, DEPTH) and STEPS < 100


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"input_keep_prob": 1.5}, ValueError, "input_keep_prob must be between 0 and 1: 1.5"),
        ({"state_keep_prob": -0.5}, ValueError, "state_keep_prob must be between"),
        ({"variational_recurrent": True}, ValueError, "dtype must be provided"),
        (
            {"variational_recurrent": True, "dtype": tf.float32, "input_keep_prob": 0.5},
            ValueError,
            "input_size must be provided",
        ),
        ({"dropout_state_filter_visitor": 3}, TypeError, "must be callable"),
    ],
)
def test_bad_dropout(arguments, error, message):
    with pytest.raises(error, match=message):
        rnn_cell.DropoutWrapper(Same(), **arguments)
