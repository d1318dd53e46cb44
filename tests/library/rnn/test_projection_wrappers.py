"""Cells that read ids, or project their inputs or outputs."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

rnn = tf.contrib.rnn


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def variables():
    return {v.op.name: v for v in tf.global_variables()}


def test_ids_are_embedded():
    cell = rnn.EmbeddingWrapper(rnn.BasicRNNCell(3, activation=tf.identity), 5, 2)
    output, _ = cell(tf.constant([4, 1]), tf.zeros([2, 3]))
    value, v = run([output, variables()])
    table = v["embedding_wrapper/embedding"]
    kernel = v["embedding_wrapper/basic_rnn_cell/kernel"]
    np.testing.assert_allclose(value, table[[4, 1]] @ kernel[:2], rtol=1e-5)
    assert np.abs(table).max() < np.sqrt(3)


@pytest.mark.parametrize("activation", [None, tf.tanh])
def test_inputs_and_outputs_are_projected(activation):
    inner = rnn.BasicRNNCell(3, activation=tf.identity)
    cell = rnn.OutputProjectionWrapper(
        rnn.InputProjectionWrapper(inner, 4, activation), 2, activation
    )
    assert cell.output_size == 2 and cell.state_size == 3
    inputs = np.random.RandomState(0).randn(2, 6).astype(np.float32)
    output, state = cell(tf.constant(inputs), cell.zero_state(2, tf.float32))
    value, last, v = run([output, state, variables()])
    apply = np.tanh if activation else lambda x: x
    scope = "output_projection_wrapper/input_projection_wrapper"
    projected = apply(inputs @ v[f"{scope}/kernel"] + v[f"{scope}/bias"])
    expected = projected @ v[f"{scope}/basic_rnn_cell/kernel"][:4]
    np.testing.assert_allclose(last, expected, rtol=1e-5)
    expected = expected @ v["output_projection_wrapper/kernel"]
    np.testing.assert_allclose(value, apply(expected), rtol=1e-4)


def test_refusals():
    cell = rnn.BasicRNNCell(3)
    with pytest.raises(ValueError, match="must be > 0"):
        rnn.EmbeddingWrapper(cell, 0, 2)
    with pytest.raises(ValueError, match="output_size must be > 0"):
        rnn.OutputProjectionWrapper(cell, 0)
    with pytest.raises(ValueError, match="2D arguments"):
        rnn.InputProjectionWrapper(cell, 2)(tf.zeros([1, 2, 3]), tf.zeros([1, 3]))
