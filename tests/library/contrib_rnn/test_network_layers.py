"""`tf.contrib.cudnn_rnn`: values against NumPy, and checkpoints that RNN cells read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

LAYERS, UNITS, DEPTH, STEPS, BATCH = 2, 3, 4, 5, 2


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def inputs() -> Any:
    return np.random.RandomState(0).randn(STEPS, BATCH, DEPTH).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def step(mode: str, x: Any, h: Any, c: Any, w: Any, b: Any) -> tuple[Any, Any]:
    """Return the next output and memory, by cuDNN's formulas; w, b: of the inputs, of the state."""
    gates = len(w) // 2
    of_x = [x @ w[i].T + b[i] for i in range(gates)]
    of_h = [h @ w[gates + i].T + b[gates + i] for i in range(gates)]
    if mode == "CudnnLSTM":
        i, f, g, o = (p + q for p, q in zip(of_x, of_h))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if mode == "CudnnGRU":
        r, u = (sigmoid(of_x[k] + of_h[k]) for k in (0, 1))
        return (1 - u) * np.tanh(of_x[2] + r * of_h[2]) + u * h, c
    total = of_x[0] + of_h[0]
    return (np.tanh(total) if mode == "CudnnRNNTanh" else np.maximum(total, 0)), c


def expected(mode: str, vector: Any, inputs: Any, dirs: int, lengths: Any = None) -> Any:
    """Return the outputs of a network with these weights."""
    gates = {"CudnnLSTM": 4, "CudnnGRU": 3}.get(mode, 1)
    sizes = [DEPTH if layer == 0 else UNITS * dirs for layer in range(LAYERS)]
    shapes = [
        (UNITS, size if i < gates else UNITS)
        for size in sizes for _ in range(dirs) for i in range(2 * gates)
    ]  # fmt: skip
    parts, at = [], 0
    for shape in [*shapes, *[(UNITS,)] * len(shapes)]:
        parts.append(vector[at : at + int(np.prod(shape))].reshape(shape))
        at += int(np.prod(shape))
    assert at == len(vector)
    weights, biases = parts[: len(shapes)], parts[len(shapes) :]
    lengths = [STEPS] * BATCH if lengths is None else lengths
    source = inputs
    for layer in range(LAYERS):
        outputs = np.zeros([STEPS, BATCH, UNITS * dirs])
        for way in range(dirs):
            first = (layer * dirs + way) * 2 * gates
            w, b = weights[first : first + 2 * gates], biases[first : first + 2 * gates]
            for row in range(BATCH):
                h = c = np.zeros(UNITS)
                times = range(lengths[row])
                for t in reversed(times) if way else times:
                    h, c = step(mode, source[t, row], h, c, w, b)
                    outputs[t, row, way * UNITS : (way + 1) * UNITS] = h
        source = outputs
    return source


@pytest.mark.parametrize("mode", ["CudnnLSTM", "CudnnGRU", "CudnnRNNTanh", "CudnnRNNRelu"])
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_values(mode: str, direction: str, inputs: Any) -> None:
    network = getattr(tf.contrib.cudnn_rnn, mode)(
        LAYERS, UNITS, direction=direction, bias_initializer=tf.initializers.random_normal(seed=1)
    )
    outputs, states = network(tf.constant(inputs))
    assert len(states) == (2 if mode == "CudnnLSTM" else 1)
    lengths = [3, 5]
    shorter, _ = network(tf.constant(inputs), sequence_lengths=lengths)
    gradient = tf.gradients(tf.reduce_sum(outputs**2), network.trainable_variables)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        vector, *values = session.run([network.kernel, outputs, states[0], shorter, gradient])
    dirs = network.num_dirs
    assert network.trainable_variables == [network.kernel]
    np.testing.assert_allclose(values[0], expected(mode, vector, inputs, dirs), atol=1e-5)
    np.testing.assert_allclose(values[2], expected(mode, vector, inputs, dirs, lengths), atol=1e-5)
    np.testing.assert_allclose(values[1][-dirs], values[0][-1, :, :UNITS], atol=1e-6)
    assert values[3].shape == vector.shape
    assert np.abs(values[3]).max() > 0


def test_initial_states_and_batch_major(inputs: Any) -> None:
    network = tf.contrib.cudnn_rnn.CudnnLSTM(LAYERS, UNITS)
    x = tf.constant(inputs)
    first, state = network(x[:2])
    rest, end = network(x[2:], initial_state=state)
    whole, whole_end = network(x)
    turned, turned_end = network(tf.transpose(x, [1, 0, 2]), time_major=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b, c, d, e, f, g = session.run([first, rest, whole, turned, end, whole_end, turned_end])
    np.testing.assert_allclose(np.concatenate([a, b]), c, atol=1e-6)
    np.testing.assert_allclose(d.swapaxes(0, 1), c, atol=1e-6)
    np.testing.assert_allclose(e, f, atol=1e-6)
    np.testing.assert_allclose(g[0].swapaxes(0, 1), f[0], atol=1e-6)
    assert [list(shape) for shape in network.state_shape(BATCH)] == [[LAYERS, BATCH, UNITS]] * 2


CELLS = {
    "CudnnLSTM": tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell,
    "CudnnGRU": tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell,
    "CudnnRNNTanh": tf.nn.rnn_cell.BasicRNNCell,
}


@pytest.mark.parametrize("mode", CELLS)
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_cells_read_its_checkpoints_and_it_reads_them_again(
    mode: str, direction: str, inputs: Any, tmp_path: Path
) -> None:
    network = getattr(tf.contrib.cudnn_rnn, mode)(
        LAYERS, UNITS, direction=direction, name="cudnn_rnn",
        bias_initializer=tf.initializers.random_normal(seed=1),
    )  # fmt: skip
    outputs, _ = network(tf.constant(inputs))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        wanted = session.run(outputs)
        session.run(tf.assign(network.kernel, tf.zeros_like(network.kernel)))
        saver.restore(session, path)
        np.testing.assert_allclose(session.run(outputs), wanted, atol=1e-5)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(inputs)
        with tf.variable_scope("cudnn_rnn"):
            cells = [[CELLS[mode](UNITS) for _ in range(LAYERS)] for _ in range(2)]
            if direction == "unidirectional":
                cell = tf.nn.rnn_cell.MultiRNNCell(cells[0])
                result, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
            else:
                result, _, _ = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
                    *cells, x, dtype=tf.float32, time_major=True
                )
        tf.train.Saver().restore(session, path)
        np.testing.assert_allclose(session.run(result), wanted, atol=1e-5)


def test_dropout_is_between_layers_in_training(inputs: Any) -> None:
    network = tf.contrib.cudnn_rnn.CudnnGRU(LAYERS, UNITS, dropout=0.9, seed=3)
    training = tf.placeholder(tf.bool, [])
    outputs, _ = network(tf.constant(inputs), training=training)
    plain, _ = network(tf.constant(inputs), training=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        same, reference = session.run([outputs, plain], {training: False})
        np.testing.assert_array_equal(same, reference)
        assert np.abs(session.run(outputs, {training: True}) - reference).max() > 1e-3


def test_a_network_learns(inputs: Any) -> None:
    network = tf.contrib.cudnn_rnn.CudnnLSTM(
        1, 8, kernel_initializer=tf.initializers.glorot_uniform(1)
    )
    outputs, _ = network(tf.constant(inputs))
    loss = tf.reduce_mean((tf.reduce_sum(outputs, 2) - tf.constant(inputs[:, :, 0])) ** 2)
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(30):
            session.run(train)
        assert session.run(loss) < before / 2


def test_wrong_arguments() -> None:
    rnn = tf.contrib.cudnn_rnn
    with pytest.raises(ValueError, match="Invalid direction"):
        rnn.CudnnLSTM(1, 2, direction="both")
    with pytest.raises(NotImplementedError, match="linear_input"):
        rnn.CudnnLSTM(1, 2, input_mode="skip_input")
    with pytest.raises(ValueError, match="3 dims"):
        rnn.CudnnLSTM(1, 2).build([2, 3])
    with pytest.raises(ValueError, match="last dimension"):
        rnn.CudnnLSTM(1, 2).build([None, 2, None])
    with pytest.raises(RuntimeError, match="before input shape is known"):
        _ = rnn.CudnnLSTM(1, 2).canonical_weight_shapes
    with pytest.raises(TypeError, match="expecting tuple"):
        rnn.CudnnLSTM(1, 2)(tf.zeros([2, 2, 2]), initial_state=tf.zeros([1, 2, 2]))
    with pytest.raises(ValueError, match="Only support"):
        rnn.CudnnLSTM(1, 2, dtype=tf.int32)
