"""Cells: their results, the names of their variables, and their properties."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gpugraph.nn import rnn_cell

import gpugraph as tf

from .networks import BATCH, DEPTH, close, numbers, run, weights
from .reference import BASIC, GRU, LSTM

X = numbers("x of one step", BATCH, DEPTH)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def names(variables):
    return [variable.op.name for variable in variables]


def state_of(*sizes):
    return tuple(numbers(f"state {index}", BATCH, size) for index, size in enumerate(sizes))


# -- results


def test_the_basic_cell():
    (h,) = state_of(3)
    actual = run(rnn_cell.BasicRNNCell(3)(X, h))
    cell = BASIC(weights("basic_rnn_cell/kernel"), weights("basic_rnn_cell/bias"))
    close(actual, cell(X, h))


def test_the_gated_recurrent_unit():
    (h,) = state_of(3)
    actual = run(rnn_cell.GRUCell(3)(X, h))
    cell = GRU(*[
        weights(f"gru_cell/{name}")
        for name in ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
    ])  # fmt: skip
    close(actual, cell(X, h))


def test_the_gates_of_a_gru_begin_open():
    cell = rnn_cell.GRUCell(2)
    cell(tf.zeros([1, 3]), cell.zero_state(1, tf.float32))
    ones, fives = tf.ones_initializer(), tf.constant_initializer(5.0)
    other = rnn_cell.GRUCell(2, kernel_initializer=ones, bias_initializer=fives, name="other")
    other(tf.zeros([1, 3]), other.zero_state(1, tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _, gates, _, candidate = session.run(cell.variables)
        assert (gates.tolist(), candidate.tolist()) == ([1] * 4, [0] * 2)
        assert [set(variable.ravel()) for variable in session.run(other.variables)] == [
            {1},
            {5},
            {1},
            {5},
        ]


@pytest.mark.parametrize("forget_bias", [1.0, 0.3])
def test_the_basic_lstm(forget_bias):
    c, h = state_of(3, 3)
    cell = rnn_cell.BasicLSTMCell(3, forget_bias=forget_bias)
    output, state = cell(X, rnn_cell.LSTMStateTuple(c, h))
    assert isinstance(state, rnn_cell.LSTMStateTuple)
    kernel, bias = weights("basic_lstm_cell/kernel"), weights("basic_lstm_cell/bias")
    close(run((output, state)), LSTM(kernel, bias, forget_bias=forget_bias)(X, (c, h)))


def test_the_full_lstm():
    c, h = state_of(3, 2)
    cell = rnn_cell.LSTMCell(
        3, use_peepholes=True, cell_clip=0.3, num_proj=2, proj_clip=0.2, forget_bias=0.5
    )
    actual = run(cell(X, rnn_cell.LSTMStateTuple(c, h)))
    reference = LSTM(
        weights("lstm_cell/kernel"),
        weights("lstm_cell/bias"),
        [weights(f"lstm_cell/w_{gate}_diag") for gate in "fio"],
        weights("lstm_cell/projection/kernel"),
        forget_bias=0.5,
        clip=0.3,
        projected_clip=0.2,
    )
    close(actual, reference(X, (c, h)))


@pytest.mark.parametrize("kind", [rnn_cell.BasicLSTMCell, rnn_cell.LSTMCell])
def test_an_lstm_whose_state_is_one_tensor(kind):
    c, h = state_of(3, 3)
    joined = kind(3, state_is_tuple=False, name="a")
    assert joined.state_size == 6
    output, state = joined(X, np.concatenate([c, h], 1))
    kernel, bias = weights("a/kernel"), weights("a/bias")
    expected, new = LSTM(kernel, bias)(X, (c, h))
    close(run((output, state)), (expected, np.concatenate(new, 1)))


def test_an_lstm_whose_kernels_are_in_parts():
    c, h = state_of(4, 2)
    cell = rnn_cell.LSTMCell(4, num_proj=2, num_unit_shards=2, num_proj_shards=2)
    actual = run(cell(X, rnn_cell.LSTMStateTuple(c, h)))
    kernel, projection = (
        np.concatenate([weights(f"lstm_cell/{name}/part_{index}") for index in range(2)])
        for name in ("kernel", "projection/kernel")
    )
    close(actual, LSTM(kernel, weights("lstm_cell/bias"), projection=projection)(X, (c, h)))
    assert len(cell.trainable_variables) == 5


def test_another_activation():
    (h,) = state_of(3)
    cell = rnn_cell.BasicRNNCell(3, activation=tf.nn.relu)
    actual, _ = run(cell(X, h))
    kernel, bias = weights("basic_rnn_cell/kernel"), weights("basic_rnn_cell/bias")
    close(actual, np.maximum(np.concatenate([X, h], 1) @ kernel + bias, 0))


def test_cells_on_top_of_each_other():
    first, second = state_of(3, 2)
    cell = rnn_cell.MultiRNNCell([rnn_cell.BasicRNNCell(3), rnn_cell.BasicRNNCell(2)])
    actual = run(cell(X, (first, second)))
    lower, upper = (
        BASIC(*[weights(f"multi_rnn_cell/cell_{index}/basic_rnn_cell/{name}")
                for name in ("kernel", "bias")])
        for index in range(2)
    )  # fmt: skip
    middle, _ = lower(X, first)
    output, _ = upper(middle, second)
    close(actual, (output, (middle, output)))


def test_cells_on_top_of_each_other_with_one_state():
    first, second = state_of(3, 2)
    cells = [rnn_cell.BasicRNNCell(3), rnn_cell.BasicRNNCell(2)]
    cell = rnn_cell.MultiRNNCell(cells, state_is_tuple=False)
    assert cell.state_size == 5
    output, state = run(cell(X, np.concatenate([first, second], 1)))
    assert state.shape == (BATCH, 5)
    close(state[:, 3:], output)
    assert cell.zero_state(2, tf.float32).shape.as_list() == [2, 5]


# -- properties


def test_sizes():
    lstm = rnn_cell.LSTMCell(3, num_proj=2)
    assert (lstm.state_size, lstm.output_size) == (rnn_cell.LSTMStateTuple(3, 2), 2)
    gru = rnn_cell.GRUCell(4)
    assert (gru.state_size, gru.output_size) == (4, 4)
    both = rnn_cell.MultiRNNCell([lstm, gru])
    assert (both.state_size, both.output_size) == ((lstm.state_size, 4), 4)


def test_names_and_variables():
    cell, other = rnn_cell.BasicLSTMCell(3), rnn_cell.BasicLSTMCell(3)
    assert (cell.name, other.name) == ("basic_lstm_cell_1", "basic_lstm_cell_2")
    assert (cell.built, cell.dtype, cell.variables) == (False, None, [])
    with pytest.raises(ValueError, match="'basic_lstm_cell_1' has not been used yet"):
        _ = cell.scope_name
    for value in (cell, other):
        value(tf.constant(X), value.zero_state(BATCH, tf.float32))
    assert (cell.built, cell.dtype, cell.graph) == (True, tf.float32, tf.get_default_graph())
    assert (cell.scope_name, other.scope_name) == ("basic_lstm_cell", "basic_lstm_cell_1")
    assert names(cell.variables) == ["basic_lstm_cell/kernel", "basic_lstm_cell/bias"]
    assert cell.trainable_variables == cell.trainable_weights == cell.weights == cell.variables
    assert cell.non_trainable_variables == []
    assert tf.trainable_variables() == cell.variables + other.variables


def test_a_cell_has_its_variables_wherever_it_is_called():
    cell = rnn_cell.GRUCell(4, name="mine")
    with tf.variable_scope("here"):
        first, _ = cell(X, tf.zeros([BATCH, 4]))
    with tf.variable_scope("there"):
        second, _ = cell(X, tf.zeros([BATCH, 4]))
    assert cell.scope_name == "here/mine"
    assert len(tf.global_variables()) == 4
    close(*run((first, second)))


def test_a_scope_may_be_given():
    rnn_cell.GRUCell(4)(X, tf.zeros([BATCH, 4]), scope="given")
    assert names(tf.trainable_variables())[0] == "given/gates/kernel"


def test_a_getter_says_what_is_trained():
    def getter(getter, *args, **kwargs):
        return getter(*args, **{**kwargs, "trainable": False})

    cell = rnn_cell.GRUCell(2)
    with tf.variable_scope("s", custom_getter=getter):
        cell(tf.zeros([4, 3]), cell.zero_state(4, tf.float32))
    assert (len(cell.variables), cell.trainable_variables) == (4, [])


def test_cells_share_by_reuse():
    with tf.variable_scope("a"):
        rnn_cell.BasicRNNCell(2)(X, tf.zeros([BATCH, 2]))
    with tf.variable_scope("a", reuse=True):
        rnn_cell.BasicRNNCell(2)(X, tf.zeros([BATCH, 2]))
    with tf.variable_scope("a"):
        rnn_cell.BasicRNNCell(2, reuse=True)(X, tf.zeros([BATCH, 2]))
    assert names(tf.global_variables()) == ["a/basic_rnn_cell/kernel", "a/basic_rnn_cell/bias"]


def test_variables_are_of_the_inputs_dtype_or_the_one_given():
    cell = rnn_cell.GRUCell(2)
    cell(X.astype(np.float64), tf.zeros([BATCH, 2], tf.float64))
    assert {variable.dtype.base_dtype for variable in cell.variables} == {tf.float64}
    arguments = rnn_cell.LSTMCell(2, dtype=tf.float64)
    assert arguments.dtype is tf.float64


def test_zero_states():
    cell = rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(3), rnn_cell.GRUCell(2)])
    lower, upper = cell.zero_state(4, tf.float64)
    assert lower.c.name == "MultiRNNCellZeroState/BasicLSTMCellZeroState/zeros:0"
    assert (upper.dtype, upper.shape.as_list()) == (tf.float64, [4, 2])
    batch = tf.placeholder(tf.int32, [])
    lower, upper = cell.zero_state(batch, tf.float32)
    assert lower.h.shape.as_list() == [None, 3]
    with tf.Session() as session:
        assert session.run(upper, {batch: 5}).tolist() == [[0, 0]] * 5


def test_initial_states_by_inputs():
    cell = rnn_cell.GRUCell(2)
    state = cell.get_initial_state(tf.zeros([4, 3], tf.float64))
    assert (state.dtype, state.shape.as_list()) == (tf.float64, [4, 2])
    open_batch = tf.placeholder(tf.float32, [None, 3])
    assert cell.get_initial_state(open_batch).shape.as_list() == [None, 2]
    for arguments, message in [
        ({}, "batch_size and dtype cannot be None"),
        (
            {"inputs": tf.zeros([4, 3]), "batch_size": 3},
            "batch size from input tensor is different from.*4, batch_size: 3",
        ),
        (
            {"inputs": open_batch, "batch_size": 3, "dtype": tf.float32},
            "batch size from input tensor is different from.*None, batch_size: 3",
        ),
        (
            {"inputs": tf.zeros([4, 3]), "dtype": tf.float64},
            "dtype from input tensor is different from",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            cell.get_initial_state(**arguments)


def test_the_dtype_of_a_state():
    state = rnn_cell.LSTMStateTuple(tf.zeros([1]), tf.zeros([1]))
    assert state.dtype is tf.float32
    with pytest.raises(TypeError, match="Inconsistent"):
        _ = rnn_cell.LSTMStateTuple(tf.zeros([1]), tf.zeros([1], tf.float64)).dtype


# -- cells of the program's own


class Summing(rnn_cell.RNNCell):
    """A state that is added to, and an output that is a part of it."""

    state_size = (3, tf.TensorShape([2]))
    output_size = 2

    def call(self, inputs, state):
        weight = tf.get_variable("w", [DEPTH, 3])
        bias = self.add_variable("b", [2])
        fixed = tf.get_variable("fixed", [2], trainable=False)
        new = tf.tanh(tf.matmul(inputs, weight) + state[0])
        return state[1] + bias, (new, new[:, :2] + fixed)


def test_a_cell_of_ones_own_knows_its_variables():
    cell = Summing()
    for _ in range(2):
        cell(tf.constant(X), cell.zero_state(BATCH, tf.float32))
    assert names(cell.trainable_variables) == ["summing/w", "summing/b"]
    assert names(cell.non_trainable_variables) == ["summing/fixed"]
    assert len(tf.global_variables()) == 3
    cell.trainable = False
    assert (cell.trainable_weights, len(cell.non_trainable_weights)) == ([], 3)


def test_a_cell_may_be_its_call_alone():
    class Old(rnn_cell.RNNCell):
        state_size = output_size = 2

        def __call__(self, inputs, state, scope=None):
            with tf.variable_scope(scope or type(self).__name__):
                weight = tf.get_variable("w", [DEPTH, 2])
            output = tf.matmul(inputs, weight) + state
            return output, output

    multi = rnn_cell.MultiRNNCell([Old()])
    multi(tf.constant(X), multi.zero_state(BATCH, tf.float32))
    assert names(tf.global_variables()) == ["multi_rnn_cell/cell_0/Old/w"]


def test_a_cell_must_say_what_it_is():
    cell = rnn_cell.RNNCell()
    for call in (
        lambda: cell.state_size,
        lambda: cell.output_size,
        lambda: cell(X, tf.zeros([BATCH, 2])),
    ):
        with pytest.raises(NotImplementedError, match="RNNCell does not define"):
            call()


# -- errors


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: rnn_cell.GRUCell(3, foo=1), TypeError, "Keyword argument not understood: foo"),
        (lambda: rnn_cell.MultiRNNCell([]), ValueError, "at least one cell"),
        (lambda: rnn_cell.MultiRNNCell(rnn_cell.GRUCell(2)), TypeError, "list or tuple"),
        (lambda: rnn_cell.MultiRNNCell([3]), TypeError, r"'cells\[0\]' \(3\) is not an RNNCell"),
        (
            lambda: rnn_cell.MultiRNNCell([rnn_cell.LSTMCell(2)], state_is_tuple=False),
            ValueError,
            "flag state_is_tuple is not set",
        ),
    ],
)
def test_bad_cells(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([2, 3, 4], "gru_cell_1 is incompatible with the layer: expected ndim=2, found ndim=3"),
        ([2, None], r"inputs.shape\[-1\] to be known, saw shape: \(2, \?\)"),
        (None, "requires a defined rank"),
    ],
)
def test_bad_inputs(shape, message):
    with pytest.raises(ValueError, match=message):
        rnn_cell.GRUCell(3)(tf.placeholder(tf.float32, shape), tf.zeros([2, 3]))


def test_bad_states():
    with pytest.raises(ValueError, match="state to be a tuple of length 1"):
        rnn_cell.MultiRNNCell([rnn_cell.GRUCell(3)])(X, tf.zeros([BATCH, 3]))


def test_a_cell_stays_in_its_graph():
    cell = rnn_cell.GRUCell(3)
    cell(tf.constant(X), tf.zeros([BATCH, 3]))
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Input graph and Layer graph are not the same"):
            cell(tf.constant(X), tf.zeros([BATCH, 3]))


def test_one_cell_many_times_is_warned_of(caplog):
    cell = rnn_cell.GRUCell(4)
    rnn_cell.MultiRNNCell([cell] * 2)
    assert "are the same object and will share weights" in caplog.text
