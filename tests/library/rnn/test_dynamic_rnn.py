"""`dynamic_rnn`: values against NumPy, gradients against unrolled networks, shapes and errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gpugraph.nn import rnn_cell
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.base.nest import flatten

from .networks import BATCH, DEPTH, LENGTHS, STEPS, X, close, numbers, run, weights
from .reference import GRU, LSTM, unrolled


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def open_inputs():
    return tf.placeholder(tf.float32, [None, None, DEPTH], name="x")


def lstm(scope="rnn/basic_lstm_cell", units=3):
    """Return the reference of an LSTM in this scope, and its zero state."""
    zeros = np.zeros([BATCH, units], np.float32)
    return LSTM(weights(f"{scope}/kernel"), weights(f"{scope}/bias")), (zeros, zeros)


# -- values


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("open_sizes", [True, False])
def test_an_lstm(lengths, open_sizes):
    x = open_inputs() if open_sizes else tf.placeholder(tf.float32, X.shape)
    cell = rnn_cell.BasicLSTMCell(3)
    fetches = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    close(run(fetches, {x: X}), unrolled(*lstm_on(X), lengths))


def lstm_on(x):
    cell, state = lstm()
    return cell, x, state


def test_time_first():
    x = tf.constant(X.swapaxes(0, 1))
    cell = rnn_cell.BasicLSTMCell(3)
    outputs, state = tf.nn.dynamic_rnn(cell, x, LENGTHS, dtype=tf.float32, time_major=True)
    expected, last = unrolled(*lstm_on(X), LENGTHS)
    close(run((outputs, state)), (expected.swapaxes(0, 1), last))


def test_an_initial_state():
    state = rnn_cell.LSTMStateTuple(numbers("c", BATCH, 3), numbers("h", BATCH, 3))
    cell = rnn_cell.BasicLSTMCell(3)
    actual = run(tf.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, initial_state=state))
    close(actual, unrolled(lstm()[0], X, tuple(state), LENGTHS))


def test_sequences_that_are_over_put_out_zeros_and_keep_their_state():
    cell = rnn_cell.GRUCell(3)
    first = numbers("first", BATCH, 3)
    outputs, state = run(tf.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, initial_state=first))
    for row, length in enumerate(LENGTHS):
        assert not outputs[row, length:].any()
        close(state[row], outputs[row, length - 1] if length else first[row])


def test_steps_behind_the_longest_sequence_are_not_run():
    counted = tf.Variable(0, trainable=False)

    class Counting(rnn_cell.RNNCell):
        state_size = output_size = DEPTH

        def call(self, inputs, state):
            with tf.control_dependencies([counted.assign_add(1)]):
                return tf.identity(inputs), state

    outputs, _ = tf.nn.dynamic_rnn(Counting(), tf.constant(X), [2, 1, 0], dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        actual = session.run(outputs)
        assert session.run(counted) == 2
    assert actual.shape == X.shape
    assert not actual[:, 2:].any()


def test_nested_states_and_outputs():
    class Nested(rnn_cell.RNNCell):
        output_size = (DEPTH, 2)

        @property
        def state_size(self):
            return {"sum": DEPTH}

        def call(self, inputs, state):
            new = state["sum"] + inputs["a"] * inputs["b"]
            return (new, new[:, :2]), {"sum": new}

    inputs = {"a": tf.constant(X), "b": tf.constant(X)}
    (whole, part), state = run(tf.nn.dynamic_rnn(Nested(), inputs, LENGTHS, dtype=tf.float32))
    sums = np.cumsum(X * X, 1)
    for row, length in enumerate(LENGTHS):
        close(whole[row, :length], sums[row, :length])
        close(part[row], whole[row, :, :2])
        close(state["sum"][row], sums[row, length - 1] if length else 0 * X[row, 0])


def test_cells_on_top_of_each_other():
    cells = [rnn_cell.GRUCell(3), rnn_cell.BasicLSTMCell(2)]
    cell = rnn_cell.MultiRNNCell(cells)
    outputs, state = run(tf.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, dtype=tf.float32))
    scope = "rnn/multi_rnn_cell/cell_"
    names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
    gru = GRU(*[weights(f"{scope}0/gru_cell/{name}") for name in names])
    lower, last = unrolled(gru, X, np.zeros([BATCH, 3], np.float32), LENGTHS)
    cell, zeros = lstm(f"{scope}1/basic_lstm_cell", 2)
    upper, memory = unrolled(cell, lower, zeros, LENGTHS)
    close((outputs, state), (upper, (last, memory)))


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 6), st.data())
def test_any_batch_steps_and_lengths(batch, steps, data):
    lengths = data.draw(st.lists(st.integers(0, steps), min_size=batch, max_size=batch))
    with tf.Graph().as_default():
        x = open_inputs()
        length = tf.placeholder(tf.int64, [None])
        fetches = tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), x, length, dtype=tf.float32)
        value = numbers(f"{batch} {steps}", batch, steps, DEPTH)
        names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
        cell = GRU(*[weights(f"rnn/gru_cell/{name}") for name in names])
        expected = unrolled(cell, value, np.zeros([batch, 2], np.float32), lengths)
        close(run(fetches, {x: value, length: lengths}), expected)


# -- gradients


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize(
    "make",
    [
        lambda: rnn_cell.GRUCell(3),
        lambda: rnn_cell.LSTMCell(3, use_peepholes=True, cell_clip=0.5, num_proj=2),
        lambda: rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(2), rnn_cell.BasicRNNCell(3)]),
    ],
)
def test_gradients_are_those_of_the_unrolled_network(make, lengths):
    x = tf.constant(X)
    cell = make()
    outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        listed, last = tf.nn.static_rnn(
            cell, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths
        )

    def gradients(outputs, state):
        loss = tf.reduce_sum(tf.square(outputs) + 0.3 * outputs)
        loss += sum(tf.reduce_sum(tf.square(leaf)) for leaf in flatten(state))
        return tf.gradients(loss, [*tf.trainable_variables(), x])

    one, other = gradients(outputs, state), gradients(tf.stack(listed, 1), last)
    close(*run((one, other)))


def test_a_network_learns():
    """The network has to output at the end the input of the first step."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, [64, 6, 1]).astype(np.float32)
    cell = rnn_cell.LSTMCell(8, initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=1))
    _, state = tf.nn.dynamic_rnn(cell, tf.constant(bits), dtype=tf.float32)
    weight = tf.get_variable("w", [8, 1], initializer=tf.random_uniform_initializer(seed=2))
    loss = tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(
            labels=bits[:, 0], logits=tf.matmul(state.h, weight)
        )
    )
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(60):
            session.run(train)
        assert session.run(loss) < 0.2 * first


# -- the graph


def test_names_are_tensorflows(graph):
    x = tf.placeholder(tf.float32, [2, 5, DEPTH], name="x")
    outputs, state = tf.nn.dynamic_rnn(rnn_cell.BasicLSTMCell(3), x, dtype=tf.float32)
    assert (outputs.name, outputs.shape.as_list()) == ("rnn/transpose_1:0", [2, 5, 3])
    assert (state.c.name, state.h.name) == ("rnn/while/Exit_3:0", "rnn/while/Exit_4:0")
    scope = "rnn/while/basic_lstm_cell/"
    body = {op.name.removeprefix(scope): op.type for op in graph.get_operations()
            if op.name.startswith(scope)}  # fmt: skip
    assert sorted(body) == sorted([
        "Const", "concat/axis", "concat", "MatMul/Enter", "MatMul", "BiasAdd/Enter", "BiasAdd",
        "Const_1", "split", "Const_2", "Add", "Sigmoid", "Mul", "Sigmoid_1", "Tanh", "Mul_1",
        "Add_1", "Tanh_1", "Sigmoid_2", "Mul_2",
    ])  # fmt: skip
    variables = [variable.op.name for variable in tf.global_variables()]
    assert variables == ["rnn/basic_lstm_cell/kernel", "rnn/basic_lstm_cell/bias"]


def test_scopes():
    def variables(prefix, scope=None):
        cell = rnn_cell.BasicRNNCell(2)
        tf.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32, scope=scope)
        return [variable.op.name for variable in tf.global_variables(prefix)]

    assert variables("my/", "my/own") == [
        "my/own/basic_rnn_cell/kernel", "my/own/basic_rnn_cell/bias",
    ]  # fmt: skip
    with tf.variable_scope("outer", initializer=tf.ones_initializer()):
        assert variables("outer/")[0] == "outer/rnn/basic_rnn_cell/kernel"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel = tf.global_variables("outer/")[0]
        assert set(session.run(kernel).ravel()) == {1}


def test_a_network_built_twice_must_share():
    def build():
        return tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), tf.constant(X), dtype=tf.float32)

    build()
    with pytest.raises(ValueError, match="Variable rnn/gru_cell/gates/kernel already exists"):
        build()
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        build()
    assert len(tf.global_variables()) == 4


def test_shapes_are_known_as_far_as_they_can_be():
    x = open_inputs()
    outputs, state = tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), x, dtype=tf.float32)
    assert (outputs.shape.as_list(), state.shape.as_list()) == ([None, None, 2], [None, 2])


@pytest.mark.parametrize("is_time_major", [False, True])
def test_lengths_do_not_say_the_size_of_the_batch(is_time_major):
    x = tf.placeholder(tf.float32, [5, None, 3] if is_time_major else [None, 5, 3])
    outputs, state = tf.nn.dynamic_rnn(
        rnn_cell.GRUCell(2), x, [4, 6], dtype=tf.float32, time_major=is_time_major
    )
    assert outputs.shape.as_list() == ([5, None, 2] if is_time_major else [None, 5, 2])
    assert state.shape.as_list() == [None, 2]


def test_loops_may_be_told():
    x = tf.constant(X)
    cell = rnn_cell.GRUCell(2)
    tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, parallel_iterations=1, swap_memory=True)
    enters = [op for op in tf.get_default_graph().get_operations() if op.type == "Enter"]
    assert {op.attrs["parallel_iterations"] for op in enters} == {1}


# -- errors


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dtype": None}, ValueError, "no initial_state, you must give a dtype"),
        ({"cell": 3}, TypeError, r"'cell' \(3\) is not an RNNCell: 'output_size' property is mis"),
        ({"inputs": tf.TensorShape([2, 3, None])}, ValueError, r"Input size .*, but saw \(3, 2, "),
        ({"inputs": tf.TensorShape([2, 3])}, ValueError, "at least rank 3|rank at least 3"),
        ({"inputs": tf.TensorShape([2])}, ValueError, "rank at least 2"),
        ({"sequence_length": [[1]]}, ValueError, r"must be a vector .* saw shape: \(1, 1\)"),
        ({"sequence_length": [1, 2]}, ValueError, "2 elements, but the inputs are of batch size 3"),
    ],
)
def test_bad_arguments(arguments, error, message):
    inputs = {"cell": rnn_cell.GRUCell(2), "inputs": tf.TensorShape(X.shape), "dtype": tf.float32}
    inputs.update(arguments)
    inputs["inputs"] = tf.placeholder(tf.float32, inputs["inputs"])
    with pytest.raises(error, match=message):
        tf.nn.dynamic_rnn(**inputs)


@pytest.mark.parametrize(
    ("other", "message"),
    [([3, 4, 4], "Time steps is not the same"), ([2, 5, 4], "Batch_size is not the same")],
)
def test_inputs_of_different_sizes(other, message):
    inputs = (tf.constant(X), tf.zeros(other))
    with pytest.raises(ValueError, match=message):
        tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), inputs, dtype=tf.float32)


def test_states_of_different_dtypes_need_one_to_be_said():
    state = rnn_cell.LSTMStateTuple(tf.zeros([BATCH, 2]), tf.zeros([BATCH, 2], tf.float64))
    with pytest.raises(ValueError, match=r"different inferred_dtypes.*float32.*float64"):
        tf.nn.dynamic_rnn(rnn_cell.BasicLSTMCell(2), tf.constant(X), initial_state=state)


def test_another_number_of_lengths_is_refused_in_the_run():
    x, lengths = open_inputs(), tf.placeholder(tf.int32, [None])
    fetches = tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), x, lengths, dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"library/rnn/.*test_dynamic_rnn\.py"):
        run(fetches, {x: X, lengths: [1] * (BATCH + 1)})
    assert run(fetches, {x: X, lengths: [STEPS] * BATCH})[0].shape == (BATCH, STEPS, 2)
