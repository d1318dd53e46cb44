"""IndyGRUCell and IndyLSTMCell against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

X = np.random.RandomState(0).randn(2, 3).astype(np.float32)
H = np.random.RandomState(1).randn(2, 4).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def run(*values: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(values)


def test_gru() -> None:
    cell = tf.contrib.rnn.IndyGRUCell(4, bias_initializer=tf.initializers.random_normal(seed=1))
    output, state = cell(tf.constant(X), tf.constant(H))
    names = [variable.op.name.partition("/")[2] for variable in cell.variables]
    assert names == [f"{part}/{n}" for part in ("gates", "candidate") for n in
                     ("kernel_w", "kernel_u", "bias")]  # fmt: skip
    value, (gw, gu, gb, w, u, b) = run(output, cell.variables)
    reset, update = np.split(sigmoid(X @ gw + np.tile(H, [1, 2]) * gu + gb), 2, 1)
    expected = update * H + (1 - update) * np.tanh(X @ w + reset * H * u + b)
    np.testing.assert_allclose(value, expected, atol=1e-5)
    assert output is state


def test_lstm() -> None:
    cell = tf.contrib.rnn.IndyLSTMCell(4, forget_bias=0.5)
    output, state = cell(tf.constant(X), (tf.constant(H), tf.constant(H + 1)))
    value, memory, (w, u, b) = run(output, state.c, cell.variables)
    i, j, f, o = np.split(X @ w + np.tile(H + 1, [1, 4]) * u + b, 4, 1)
    expected = H * sigmoid(f + 0.5) + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(memory, expected, atol=1e-5)
    np.testing.assert_allclose(value, np.tanh(expected) * sigmoid(o), atol=1e-5)
    assert tuple(cell.state_size) == (4, 4)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.zeros([2, 5, 3]), dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 5, 4]


def test_batch_size() -> None:
    size = tf.contrib.rnn.best_effort_input_batch_size
    assert size([tf.placeholder(tf.float32), tf.zeros([3, 7, 2])]) == 7
    unknown = tf.placeholder(tf.float32, [3, None])
    with tf.Session() as session:
        assert session.run(size([unknown]), {unknown: np.zeros([3, 4])}) == 4
    with pytest.raises(ValueError, match="rank at least 2"):
        size([tf.zeros([3])])
