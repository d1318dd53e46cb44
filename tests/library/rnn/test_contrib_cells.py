"""The cells of `tf.contrib.rnn`, against their formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from tests.library.rnn.networks import BATCH, DEPTH, close, numbers, run
from tests.library.rnn.reference import sigmoid

rnn = tf.contrib.rnn
UNITS = 3
X = numbers("inputs", BATCH, DEPTH)
C, H = numbers("memory", BATCH, UNITS), numbers("output", BATCH, UNITS)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def relu(x):
    return np.maximum(x, 0)


def pair(cell):
    """Output and state of a cell with the state of an LSTM."""
    output, state = cell(tf.constant(X), rnn.LSTMStateTuple(tf.constant(C), tf.constant(H)))
    assert isinstance(state, rnn.LSTMStateTuple)
    return output, tuple(state)


def normalized(x):
    mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-12)


@pytest.mark.parametrize("layer_norm", [True, False])
def test_layer_norm_lstm(layer_norm):
    scope = "layer_norm_basic_lstm_cell"
    cell = rnn.LayerNormBasicLSTMCell(UNITS, layer_norm=layer_norm)
    values = run(pair(cell))

    def norm(x, gate):
        if not layer_norm:
            return x
        gamma = numbers(f"{scope}/{gate}/gamma", UNITS)
        return normalized(x) * gamma + numbers(f"{scope}/{gate}/beta", UNITS)

    joined = np.concatenate([X, H], 1) @ numbers(f"{scope}/kernel", DEPTH + UNITS, 4 * UNITS)
    if not layer_norm:
        joined = joined + numbers(f"{scope}/bias", 4 * UNITS)
    i, j, f, o = np.split(joined, 4, 1)
    c = C * sigmoid(norm(f, "forget") + 1) + sigmoid(norm(i, "input")) * np.tanh(
        norm(j, "transform")
    )
    c = norm(c, "state")
    h = np.tanh(c) * sigmoid(norm(o, "output"))
    close(values, (h, (c, h)), 1e-4)


def test_layer_norm_lstm_starts_with_gain_and_shift_and_drops_the_new_input():
    cell = rnn.LayerNormBasicLSTMCell(UNITS, norm_gain=0.5, norm_shift=0.25)
    pair(cell)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run({v.op.name: v for v in tf.trainable_variables()})
    assert len(values) == 11
    for name, value in values.items():
        if not name.endswith("kernel"):
            np.testing.assert_array_equal(value, 0.5 if name.endswith("gamma") else 0.25)
    dropped = rnn.LayerNormBasicLSTMCell(
        UNITS, dropout_keep_prob=1e-4, dropout_prob_seed=1, layer_norm=False
    )
    with tf.variable_scope("second"):
        _, (c, _) = pair(dropped)
    scope = "second/layer_norm_basic_lstm_cell"
    joined = np.concatenate([X, H], 1) @ numbers(f"{scope}/kernel", DEPTH + UNITS, 4 * UNITS)
    forget = np.split(joined + numbers(f"{scope}/bias", 4 * UNITS), 4, 1)[2]
    close(run(c), C * sigmoid(forget + 1))


def test_update_gate_cell():
    output, state = rnn.UGRNNCell(UNITS, forget_bias=0.5)(tf.constant(X), tf.constant(H))
    values = run((output, state))
    kernel = numbers("ugrnn_cell/kernel", DEPTH + UNITS, 2 * UNITS)
    g, c = np.split(
        np.concatenate([X, H], 1) @ kernel + numbers("ugrnn_cell/bias", 2 * UNITS), 2, 1
    )
    gate = sigmoid(g + 0.5)
    expected = gate * H + (1 - gate) * np.tanh(c)
    close(values, (expected, expected))


def test_intersection_cell():
    with pytest.raises(ValueError, match="Must have input size == output size for Intersection"):
        rnn.IntersectionRNNCell(UNITS)(tf.constant(X), tf.constant(H))
    with tf.variable_scope("net"):
        cell = rnn.IntersectionRNNCell(UNITS, num_in_proj=UNITS)
        values = run(cell(tf.constant(X), tf.constant(H)))
    scope = "net/intersection_rnn_cell"
    x = X @ numbers(f"{scope}/in_projection/kernel", DEPTH, UNITS)
    x = x + numbers(f"{scope}/in_projection/bias", UNITS)
    joined = np.concatenate([x, H], 1) @ numbers(f"{scope}/kernel", 2 * UNITS, 4 * UNITS)
    gh, h, gy, y = np.split(joined + numbers(f"{scope}/bias", 4 * UNITS), 4, 1)
    gh, gy = sigmoid(gh + 1), sigmoid(gy + 1)
    close(values, (gy * x + (1 - gy) * relu(y), gh * H + (1 - gh) * np.tanh(h)))


def test_searched_cell():
    cell = rnn.NASCell(UNITS, num_proj=UNITS, use_bias=True)
    assert cell.state_size == (UNITS, UNITS) and cell.output_size == UNITS
    values = run(pair(cell))
    scope = "nas_cell"
    x = np.split(X @ numbers(f"{scope}/kernel", DEPTH, 8 * UNITS), 8, 1)
    h = H @ numbers(f"{scope}/recurrent_kernel", UNITS, 8 * UNITS)
    h = np.split(h + numbers(f"{scope}/bias", 8 * UNITS), 8, 1)
    first = np.tanh(sigmoid(x[0] + h[0]) * relu(x[1] + h[1]))
    second = np.tanh(sigmoid(x[2] + h[2]) + relu(x[3] * h[3]))
    third = np.tanh(np.tanh(x[4] + h[4]) * sigmoid(x[5] + h[5]))
    fourth = sigmoid(np.tanh(x[6] + h[6]) + sigmoid(x[7] + h[7]))
    c = np.tanh(first + C) * second
    m = np.tanh(c * np.tanh(third + fourth))
    m = m @ numbers(f"{scope}/projection_weights", UNITS, UNITS)
    close(values, (m, (c, m)))


@pytest.mark.parametrize("use_peepholes", [False, True])
def test_phased_cell(use_peepholes):
    time = np.array([[0.3], [7.0], [40.0]], np.float32)
    cell = rnn.PhasedLSTMCell(UNITS, use_peepholes, leak=0.01, ratio_on=0.5)
    state = rnn.LSTMStateTuple(tf.constant(C), tf.constant(H))
    output, last = cell((tf.constant(time), tf.constant(X)), state)
    by_name = {v.op.name: v for v in tf.trainable_variables()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        (h, (c, _)), v = session.run(((output, tuple(last)), by_name))
    v = {name.removeprefix("phased_lstm_cell/"): value for name, value in v.items()}
    assert np.all((v["period"] >= 1) & (v["period"] < 1000))
    assert np.all((v["phase"] >= 0) & (v["phase"] < v["period"]))

    def gate(name, memory):
        seen = np.concatenate([X, H, memory] if use_peepholes else [X, H], 1)
        return sigmoid(seen @ v[f"{name}/kernel"] + v[f"{name}/bias"])

    i, f = np.split(gate("mask_gates", C), 2, 1)
    new = np.tanh(np.concatenate([X, H], 1) @ v["new_input/kernel"] + v["new_input/bias"])
    new_c = C * f + i * new
    new_h = np.tanh(new_c) * gate("output_gate", new_c)
    cycle = np.mod(time - v["phase"], v["period"]) / v["period"]
    rise = 2 * cycle / v["ratio_on"]
    k = np.where(
        cycle < 0.5 * v["ratio_on"], rise, np.where(cycle < v["ratio_on"], 2 - rise, 0.01 * cycle)
    )
    close((h, c), (k * new_h + (1 - k) * H, k * new_c + (1 - k) * C), 1e-4)


def test_gradients_reach_all_variables_of_each_cell():
    state = rnn.LSTMStateTuple(tf.constant(C), tf.constant(H))
    cells = [
        (rnn.LayerNormBasicLSTMCell(UNITS), tf.constant(X), state),
        (rnn.NASCell(UNITS, use_bias=True), tf.constant(X), state),
        (rnn.UGRNNCell(UNITS), tf.constant(X), tf.constant(H)),
        (rnn.IntersectionRNNCell(UNITS, UNITS), tf.constant(X), tf.constant(H)),
        (rnn.PhasedLSTMCell(UNITS), (tf.ones([BATCH, 1]), tf.constant(X)), state),
        (rnn.HighwayWrapper(rnn.GRUCell(DEPTH)), tf.constant(X), tf.constant(X)),
    ]
    outputs = [cell(inputs, before)[0] for cell, inputs, before in cells]
    loss = tf.add_n([tf.reduce_sum(output**2) for output in outputs])
    slopes = tf.gradients(loss, tf.trainable_variables())
    assert all(slope is not None for slope in slopes)
    for value in run(slopes):
        assert np.all(np.isfinite(value))


@pytest.mark.parametrize("couples", [True, False])
def test_highway_wrapper(couples):
    inner = rnn.BasicRNNCell(DEPTH)
    cell = rnn.HighwayWrapper(inner, couples, carry_bias_init=2.0)
    output, state = cell(tf.constant(X), tf.zeros([BATCH, DEPTH]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        h, value, v = session.run((state, output, {v.op.name: v for v in tf.trainable_variables()}))
    np.testing.assert_array_equal(v["carry_b"], np.full(DEPTH, 2.0, np.float32))
    carry = sigmoid(X @ v["carry_w"] + v["carry_b"])
    transform = 1 - carry
    if not couples:
        np.testing.assert_array_equal(v["transform_b"], np.full(DEPTH, -2.0, np.float32))
        transform = sigmoid(X @ v["transform_w"] + v["transform_b"])
    close(value, X * carry + h * transform)
    with pytest.raises(ValueError, match="are incompatible"):
        rnn.HighwayWrapper(rnn.GRUCell(2))(tf.constant(X), tf.zeros([BATCH, 2]))


@pytest.mark.parametrize("is_tuple", [True, False])
def test_attention_wrapper(is_tuple):
    length, size, compared = 4, 5, 2
    outputs, attention = numbers("past", BATCH, length * size), numbers("attended", BATCH, size)
    cell = rnn.AttentionCellWrapper(
        rnn.GRUCell(UNITS), length, size, compared, state_is_tuple=is_tuple
    )
    sizes = (UNITS, size, length * size)
    assert cell.state_size == (sizes if is_tuple else sum(sizes)) and cell.output_size == size
    state = (H, attention, outputs)
    output, last = cell(tf.constant(X), state if is_tuple else tf.concat(state, 1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value, after, v = session.run(
            (output, last, {v.op.name: v for v in tf.trainable_variables()})
        )
    v = {name.removeprefix("attention_cell_wrapper/"): array for name, array in v.items()}
    x = np.concatenate([X, attention], 1) @ v["kernel"] + v["bias"]
    ru = sigmoid(np.concatenate([x, H], 1) @ v["gru_cell/gates/kernel"] + v["gru_cell/gates/bias"])
    r, u = np.split(ru, 2, 1)
    new = np.concatenate([x, r * H], 1) @ v["gru_cell/candidate/kernel"]
    h = u * H + (1 - u) * np.tanh(new + v["gru_cell/candidate/bias"])
    hidden = outputs.reshape(BATCH, length, size)
    asked = h @ v["attention/kernel"] + v["attention/bias"]
    seen = np.tanh(hidden @ v["attention/attn_w"][0, 0] + asked[:, None])
    scores = (v["attention/attn_v"] * seen).sum(2)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    attended = (weights[..., None] * hidden).sum(1)
    projection = "attn_output_projection"
    expected = np.concatenate([h, attended], 1) @ v[f"{projection}/kernel"]
    expected = expected + v[f"{projection}/bias"]
    past = np.concatenate([hidden[:, 1:], expected[:, None]], 1).reshape(BATCH, -1)
    parts = (h, attended, past)
    close((value, after), (expected, parts if is_tuple else np.concatenate(parts, 1)), 1e-4)


def test_attention_wrapper_refusals():
    with pytest.raises(ValueError, match="flag state_is_tuple is not set"):
        rnn.AttentionCellWrapper(rnn.BasicLSTMCell(2), 3, state_is_tuple=False)
    with pytest.raises(ValueError, match="attn_length should be greater than zero, got 0"):
        rnn.AttentionCellWrapper(rnn.GRUCell(2), 0)
    with pytest.raises(TypeError, match="is not an RNNCell"):
        rnn.AttentionCellWrapper(None, 2)


def test_wrapped_cells_run_in_a_loop():
    cell = rnn.AttentionCellWrapper(rnn.LayerNormBasicLSTMCell(UNITS), 2)
    outputs, _ = tf.nn.dynamic_rnn(
        cell, tf.constant(numbers("s", BATCH, 5, DEPTH)), dtype=tf.float32
    )
    assert outputs.shape.as_list() == [BATCH, 5, UNITS]
    assert np.all(np.isfinite(run(outputs)))
