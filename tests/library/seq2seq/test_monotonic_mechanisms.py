"""Monotonic attention mechanisms: alignments by their formulas, in a decoder."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

MEMORY = np.random.RandomState(0).randn(3, 5, 4).astype(np.float32)
QUERY = np.random.RandomState(1).randn(3, 4).astype(np.float32)


@pytest.mark.parametrize("mode", ["recursive", "parallel", "hard"])
def test_alignments_of_luong(mode: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        mechanism = tf.contrib.seq2seq.LuongMonotonicAttention(
            4, MEMORY, [5, 4, 2], scale=True, score_bias_init=0.5, mode=mode
        )
        first = mechanism.initial_alignments(3, tf.float32)
        alignments, state = mechanism(tf.constant(QUERY), first)
        names = [variable.op.name for variable in tf.global_variables()]
        session.run(tf.global_variables_initializer())
        start, keys, actual = session.run([first, mechanism.keys, alignments])
    assert state is alignments
    assert "luong_monotonic_attention/attention_score_bias" in names
    np.testing.assert_array_equal(start, np.eye(5)[[0, 0, 0]])
    score = np.einsum("btd,bd->bt", keys, QUERY) + 0.5
    chosen = score > 0 if mode == "hard" else 1 / (1 + np.exp(-score))
    chosen = chosen * (np.arange(5) < np.array([5, 4, 2])[:, None])
    passed = np.cumprod(np.c_[np.ones(3), 1 - chosen[:, :-1]], 1)
    np.testing.assert_allclose(actual, chosen * passed, atol=1e-5)


def test_a_decoder_with_bahdanau_and_noise_trains() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        mechanism = tf.contrib.seq2seq.BahdanauMonotonicAttention(
            6, MEMORY, normalize=True, sigmoid_noise=1.0, sigmoid_noise_seed=2
        )
        cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(6), mechanism)
        inputs = tf.constant(MEMORY[:, :3])
        outputs, _ = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(outputs - 0.5))
        train = tf.train.AdamOptimizer(0.05).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train])[0] for _ in range(15)]
    assert losses[-1] < 0.5 * losses[0]
