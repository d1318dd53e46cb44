"""Networks over whole sequences, and the cells by the names of block ops."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from tests.library.rnn.networks import BATCH, DEPTH, LENGTHS, STEPS, X, close, numbers, run
from tests.library.rnn.reference import GRU, LSTM, unrolled

rnn = tf.contrib.rnn
UNITS = 3
START = np.zeros((BATCH, UNITS), np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def lstm(scope, peepholes=False, **more):
    diagonals = (
        [numbers(f"{scope}/w_{gate}_diag", UNITS) for gate in "fio"] if peepholes else [0] * 3
    )
    kernel = numbers(f"{scope}/kernel", DEPTH + UNITS, 4 * UNITS)
    return LSTM(kernel, numbers(f"{scope}/bias", 4 * UNITS), diagonals, **more)


@pytest.mark.parametrize("peepholes", [False, True])
def test_block_cell(peepholes):
    cell = rnn.LSTMBlockCell(UNITS, 0.5, cell_clip=0.1, use_peephole=peepholes)
    outputs, state = tf.nn.dynamic_rnn(cell, X, dtype=tf.float32)
    reference = lstm("rnn/lstm_cell", peepholes, forget_bias=0.5, clip=0.1)
    close(run((outputs, tuple(state))), unrolled(reference, X, (START, START)))
    assert rnn.LSTMBlockCell(2, cell_clip=-1)._cell_clip is None


@pytest.mark.parametrize("old_names", [False, True])
def test_gru_block_cells(old_names):
    make = rnn.GRUBlockCell if old_names else rnn.GRUBlockCellV2
    output, state = tf.nn.dynamic_rnn(make(UNITS), X, dtype=tf.float32)
    parts = ("w_ru", "b_ru", "w_c", "b_c")
    if not old_names:
        parts = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
    shapes = ((DEPTH + UNITS, 2 * UNITS), (2 * UNITS,), (DEPTH + UNITS, UNITS), (UNITS,))
    arrays = [numbers(f"rnn/gru_cell/{part}", *shape) for part, shape in zip(parts, shapes)]
    close(run((output, state)), unrolled(GRU(*arrays), X, START))


def test_gru_block_cells_have_one_size():
    assert rnn.GRUBlockCell(cell_size=4).output_size == 4
    with pytest.raises(ValueError, match="Cannot specify both 'cell_size' and 'num_units'"):
        rnn.GRUBlockCell(2, cell_size=2)
    with pytest.raises(ValueError, match="num_units must be specified"):
        rnn.GRUBlockCellV2()


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("as_list", [False, True])
def test_fused_lstm(lengths, as_list):
    steps = np.swapaxes(X, 0, 1)
    cell = rnn.LSTMBlockFusedCell(UNITS, use_peephole=True)
    inputs = [tf.constant(step) for step in steps] if as_list else tf.constant(steps)
    outputs, state = cell(inputs, dtype=tf.float32, sequence_length=lengths)
    assert isinstance(outputs, list) == as_list and isinstance(state, rnn.LSTMStateTuple)
    outputs, state = run((outputs, tuple(state)))
    reference = lstm("lstm_fused_cell", True)
    expected, last = unrolled(reference, X, (START, START), lengths)
    close(np.swapaxes(outputs, 0, 1), expected)
    close(state, last)


def test_fused_lstm_again_shares_its_variables_and_has_gradients():
    cell = rnn.LSTMBlockFusedCell(UNITS)
    steps = tf.constant(np.swapaxes(X, 0, 1))
    first = rnn.LSTMStateTuple(tf.ones([BATCH, UNITS]), tf.ones([BATCH, UNITS]))
    one, _ = cell(steps, first)
    other, _ = cell(steps, initial_state=first)
    assert [v.op.name for v in cell.trainable_variables] == [
        "lstm_fused_cell/kernel",
        "lstm_fused_cell/bias",
    ]
    slopes = tf.gradients(tf.reduce_sum(one), cell.trainable_variables)
    values = run((one, other, slopes))
    close(values[0], values[1])
    assert all(np.any(slope) for slope in values[2])
    with pytest.raises(ValueError, match="Either initial_state or dtype needs to be specified"):
        cell(steps)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("as_list", [False, True])
def test_reversed_and_adapted_networks(dynamic, lengths, as_list):
    cell = rnn.FusedRNNCellAdaptor(rnn.BasicLSTMCell(UNITS), use_dynamic_rnn=dynamic)
    backward = rnn.TimeReversedFusedRNN(cell)
    steps = np.swapaxes(X, 0, 1)
    inputs = [tf.constant(step) for step in steps] if as_list else tf.constant(steps)
    outputs, state = backward(inputs, dtype=tf.float32, sequence_length=lengths, scope="back")
    assert isinstance(outputs, list) == as_list
    outputs, state = run((outputs, tuple(state)))
    ends = [STEPS] * BATCH if lengths is None else lengths

    def reverse(values):
        values = values.copy()
        for row, end in zip(values, ends):
            row[:end] = row[:end][::-1].copy()
        return values

    expected, last = unrolled(lstm("back/basic_lstm_cell"), reverse(X), (START, START), lengths)
    close(np.swapaxes(outputs, 0, 1), reverse(expected))
    close(state, last)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("dynamic", [False, True])
def test_stacked_bidirectional_networks(lengths, dynamic):
    def cells():
        return [rnn.BasicLSTMCell(UNITS) for _ in range(2)]

    layers = (cells(), cells())
    if dynamic:
        outputs, forward, backward = rnn.stack_bidirectional_dynamic_rnn(
            *layers, tf.constant(X), dtype=tf.float32, sequence_length=lengths
        )
    else:
        steps = tf.unstack(tf.constant(X), axis=1)
        outputs, forward, backward = rnn.stack_bidirectional_rnn(
            *layers, steps, dtype=tf.float32, sequence_length=lengths
        )
        outputs = tf.stack(outputs, 1)
    assert len(forward) == len(backward) == 2
    inputs = tf.constant(X)
    for index in range(2):
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            pair, last = tf.nn.bidirectional_dynamic_rnn(
                *(rnn.BasicLSTMCell(UNITS) for _ in range(2)),
                inputs,
                lengths,
                dtype=tf.float32,
                scope=f"stack_bidirectional_rnn/cell_{index}{'/bidirectional_rnn' * dynamic}",
            )
        inputs = tf.concat(pair, 2)
    assert len(tf.trainable_variables()) == 8
    ours = (outputs, forward[1], backward[1])
    values, expected = run(((ours), (inputs, last[0], last[1])))
    close(values, expected)


def test_stacks_need_as_many_cells_and_states():
    cell, x = rnn.GRUCell(2), tf.zeros([1, 2, 3])
    stack = rnn.stack_bidirectional_dynamic_rnn
    with pytest.raises(ValueError, match="Must specify at least one bw cell"):
        stack([cell], None, x)
    with pytest.raises(ValueError, match=r"cells_fw must be a list of RNNCells \(one per layer\)"):
        stack(cell, [cell], x)
    with pytest.raises(ValueError, match="Forward and Backward cells must have the same depth"):
        stack([cell], [cell, cell], x)
    with pytest.raises(ValueError, match="initial_states_bw must be a list of state tensors"):
        stack([cell], [cell], x, initial_states_bw=[])
