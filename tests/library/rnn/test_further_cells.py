"""Cells of `tf.contrib.rnn`: coupled gates, convolutions, and states that see themselves only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

INPUTS = np.random.RandomState(0).randn(2, 4, 3).astype(np.float32)


@pytest.fixture(autouse=True)
def own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(cell: Any, inputs: Any = INPUTS) -> tuple[Any, Any, dict[str, Any]]:
    """Return outputs, the last state and the variables by their names within the cell."""
    outputs, state = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    variables = {each.op.name: each for each in tf.global_variables()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        outputs, state, values = session.run([outputs, state, variables])
    return outputs, state, {name.split("/", 2)[-1]: found for name, found in values.items()}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize("projected", [False, True])
def test_coupled_gates(peepholes: bool, projected: bool) -> None:
    cell = tf.contrib.rnn.CoupledInputForgetGateLSTMCell(
        5,
        use_peepholes=peepholes,
        initializer=tf.random_normal_initializer(seed=1),
        num_proj=2 if projected else None,
        proj_clip=0.1 if projected else None,
    )
    outputs, state, values = run(cell)
    c, m = np.zeros((2, 5)), np.zeros((2, 2 if projected else 5))
    for step in range(4):
        joined = np.concatenate([INPUTS[:, step], m], 1) @ values["W_0"] + values["B"]
        j, f, o = np.split(joined, 3, 1)
        gate = sigmoid(f + 1.0 + (values["W_F_diag"] * c if peepholes else 0))
        c = gate * c + (1 - gate) * np.tanh(j)
        m = sigmoid(o + (values["W_O_diag"] * c if peepholes else 0)) * np.tanh(c)
        if projected:
            m = np.clip(m @ values["W_P_0"], -0.1, 0.1)
        np.testing.assert_allclose(outputs[:, step], m, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(state.c, c, rtol=1e-4, atol=1e-6)


def test_coupled_gates_with_norms_and_joined_states() -> None:
    cell = tf.contrib.rnn.CoupledInputForgetGateLSTMCell(
        5, state_is_tuple=False, layer_norm=True, num_unit_shards=3
    )
    outputs, state, values = run(cell)
    assert state.shape == (2, 10)
    assert [values[f"W_{shard}"].shape for shard in range(3)] == [(3, 15), (3, 15), (2, 15)]
    assert {"transform/gamma", "forget/beta", "output/gamma", "state/beta"} < set(values)
    np.testing.assert_array_equal(outputs[:, -1], state[:, 5:])


@pytest.mark.parametrize("skip", [False, True])
def test_convolutions(skip: bool) -> None:
    images = np.random.RandomState(1).randn(2, 3, 4, 5, 2).astype(np.float32)
    cell = tf.contrib.rnn.Conv2DLSTMCell(
        input_shape=[4, 5, 2], output_channels=3, kernel_shape=[1, 1], skip_connection=skip
    )
    outputs, state, values = run(cell, images)
    assert outputs.shape == (2, 3, 4, 5, 5 if skip else 3)
    c, m = np.zeros((2, 4, 5, 3)), np.zeros((2, 4, 5, 3))
    for step in range(3):
        joined = np.concatenate([images[:, step], m], -1) @ values["kernel"][0, 0]
        gate, new, forget, output = np.split(joined + values["biases"], 4, -1)
        c = sigmoid(forget + 1.0) * c + sigmoid(gate) * np.tanh(new)
        m = np.tanh(c) * sigmoid(output)
    np.testing.assert_allclose(state.h, m, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(outputs[:, -1, ..., :3], m, rtol=1e-4, atol=1e-6)


def test_convolutions_of_other_ranks() -> None:
    line = np.ones((2, 3, 6, 2), np.float32)
    one = tf.contrib.rnn.Conv1DLSTMCell(input_shape=[6, 2], output_channels=3, kernel_shape=[3])
    outputs, _, values = run(one, line)
    assert outputs.shape == (2, 3, 6, 3)
    assert values["kernel"].shape == (3, 5, 12)
    with tf.Graph().as_default():
        block = np.ones((1, 2, 3, 3, 3, 1), np.float32)
        three = tf.contrib.rnn.Conv3DLSTMCell(
            input_shape=[3, 3, 3, 1], output_channels=2, kernel_shape=[3, 3, 3]
        )
        assert run(three, block)[0].shape == (1, 2, 3, 3, 3, 2)
        with pytest.raises(ValueError, match="Invalid input_shape"):
            tf.contrib.rnn.ConvLSTMCell(2, [6, 2], 3, [3])


def test_independent_states() -> None:
    outputs, state, values = run(tf.contrib.rnn.IndRNNCell(5))
    h = np.zeros((2, 5))
    for step in range(4):
        h = np.tanh(INPUTS[:, step] @ values["kernel_w"] + h * values["kernel_u"] + values["bias"])
    np.testing.assert_allclose(state, h, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(outputs[:, -1], state)


def test_simple_recurrent_units() -> None:
    outputs, state, values = run(tf.contrib.rnn.SRUCell(5))
    c = np.zeros((2, 5))
    for step in range(4):
        new, f, r, passed = np.split(INPUTS[:, step] @ values["kernel"], 4, 1)
        f, r = (sigmoid(each + part) for each, part in zip((f, r), np.split(values["bias"], 2)))
        c = f * c + (1 - f) * new
        h = r * np.tanh(c) + (1 - r) * passed
        np.testing.assert_allclose(outputs[:, step], h, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(state, c, rtol=1e-4, atol=1e-6)
