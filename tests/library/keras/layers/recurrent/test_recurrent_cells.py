"""Cells and their layers, against the same steps in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .conftest import K, run

L = tf.keras.layers
UNITS = 3
INPUTS = np.random.RandomState(0).uniform(-1, 1, (2, 4, 5)).astype(np.float32)


def hard(x):
    return np.clip(0.2 * x + 0.5, 0, 1)


def simple_step(x, states, kernel, recurrent, bias):
    output = np.tanh(x @ kernel + states[0] @ recurrent + bias)
    return output, [output]


def gru_step(x, states, kernel, recurrent, bias):
    after, state = bias.ndim == 2, states[0]
    of_x = np.split(x @ kernel + (bias[0] if after else bias), 3, axis=1)
    rows = np.split(recurrent, 3, axis=1)
    more = np.split(bias[1], 3) if after else [0, 0, 0]
    z, r = (hard(of_x[i] + state @ rows[i] + more[i]) for i in (0, 1))
    past = r * (state @ rows[2] + more[2]) if after else (r * state) @ rows[2]
    output = z * state + (1 - z) * np.tanh(of_x[2] + past)
    return output, [output]


def lstm_step(x, states, kernel, recurrent, bias, *peepholes):
    i, f, c, o = np.split(x @ kernel + states[0] @ recurrent + bias, 4, axis=1)
    of_i, of_f, of_o = peepholes or (0, 0, 0)
    memory = hard(f + of_f * states[1]) * states[1] + hard(i + of_i * states[1]) * np.tanh(c)
    output = hard(o + of_o * memory) * np.tanh(memory)
    return output, [output, memory]


def expected(step, weights, count, inputs=INPUTS):
    states = [np.zeros((len(inputs), UNITS))] * count
    outputs = []
    for time in range(inputs.shape[1]):
        output, states = step(inputs[:, time], states, *weights)
        outputs.append(output)
    return [np.stack(outputs, 1), *states]


def drawn(layer):
    random = np.random.RandomState(1)
    layer.set_weights([random.uniform(-1, 1, w.shape.as_list()) for w in layer.weights])
    return layer.get_weights()


def peephole_cell():
    return tf.keras.experimental.PeepholeLSTMCell(UNITS)


LAYERS = {
    "SimpleRNN": (lambda **o: L.SimpleRNN(UNITS, **o), simple_step, 1),
    "GRU": (lambda **o: L.GRU(UNITS, **o), gru_step, 1),
    "GRU after": (lambda **o: L.GRU(UNITS, reset_after=True, **o), gru_step, 1),
    "LSTM": (lambda **o: L.LSTM(UNITS, **o), lstm_step, 2),
    "Peephole": (lambda **o: L.RNN(peephole_cell(), **o), lstm_step, 2),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("unroll", [False, True])
def test_all_outputs_and_states(name, unroll):
    make, step, count = LAYERS[name]
    layer = make(return_sequences=True, return_state=True, unroll=unroll)
    layer(tf.keras.Input(INPUTS.shape[1:]))
    weights = drawn(layer)
    arrays = run(layer, INPUTS)
    for array, wanted in zip(arrays, expected(step, weights, count), strict=True):
        np.testing.assert_allclose(array, wanted, atol=2e-6)


def test_a_cell_alone():
    cell = L.GRUCell(UNITS)
    x, state = tf.constant(INPUTS[:, 0]), tf.ones([2, UNITS])
    output, states = cell(x, [state])
    assert [w.name for w in cell.weights] == [
        f"gru_cell/{name}:0" for name in ("kernel", "recurrent_kernel", "bias")
    ]
    wanted, _ = gru_step(INPUTS[:, 0], [np.ones((2, UNITS))], *drawn(cell))
    np.testing.assert_allclose(K.get_session().run(output), wanted, atol=1e-6)
    assert len(states) == 1
    zeros = cell.get_initial_state(x)
    assert zeros.shape.as_list() == [2, UNITS]
    with pytest.raises(ValueError, match="batch_size and dtype cannot be None"):
        cell.get_initial_state()


def test_first_weights():
    layer = L.LSTM(2)
    layer.build((None, 4, 3))
    bias = K.get_value(layer.cell.bias)
    assert bias.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    recurrent = K.get_value(layer.cell.recurrent_kernel)
    np.testing.assert_allclose(recurrent @ recurrent.T, np.eye(2), atol=1e-5)
    assert layer.units == 2 and layer.cell.state_size == [2, 2]
    assert layer.count_params() == 4 * (2 * 3 + 2 * 2 + 2)


@pytest.mark.parametrize("implementation", [1, 2])
def test_dropout_is_of_training_and_the_same_for_all_steps(implementation):
    options = {"implementation": implementation, "return_sequences": True}
    for name in ("GRU", "LSTM"):
        layer = getattr(L, name)(UNITS, dropout=0.5, recurrent_dropout=0.5, **options)
        plain, tested = (run(layer, INPUTS, phase=False)[0] for _ in range(2))
        np.testing.assert_array_equal(plain, tested)
        assert not np.allclose(run(layer, INPUTS, phase=True)[0], plain)
    cell = L.SimpleRNNCell(UNITS, activation=None, use_bias=False, dropout=0.5)
    layer = L.RNN(cell, return_sequences=True)
    ones = np.ones((2, 6, 5), np.float32)
    layer(tf.keras.Input((6, 5)))
    layer.set_weights([np.ones((5, UNITS)), np.zeros((UNITS, UNITS))])
    outputs = run(layer, ones, phase=True)[0]
    np.testing.assert_array_equal(outputs, np.repeat(outputs[:, :1], 6, axis=1))


def test_bad_arguments():
    with pytest.raises(ValueError, match="expected a positive integer, got 0"):
        L.LSTM(0)
    with pytest.raises(ValueError, match="last dimension of the inputs"):
        L.SimpleRNN(2)(tf.keras.Input((4, None)))
    with pytest.raises(TypeError, match="not understood"):
        L.GRU(2, colour="red")
    with pytest.raises(NotImplementedError, match="Abstract method"):
        _ = L.AbstractRNNCell().state_size


def test_penalties_and_constraints_are_of_the_cell():
    layer = L.GRU(2, kernel_regularizer="l2", recurrent_constraint="unit_norm")
    layer(tf.keras.Input((4, 3)))
    assert len(layer.losses) == 1
    assert layer.get_config()["recurrent_constraint"]["class_name"] == "UnitNorm"
    layer.trainable = False
    assert layer.trainable_weights == [] and len(layer.weights) == 3
    assert layer.cell.trainable is False
