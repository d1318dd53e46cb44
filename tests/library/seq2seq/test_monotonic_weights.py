"""Monotonic attention: the three ways to compute it agree, and sum to at most 1."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


def test_the_modes_agree() -> None:
    seq2seq = tf.contrib.seq2seq
    random = np.random.RandomState(0)
    previous = random.dirichlet(np.ones(5), 3).astype(np.float32)
    soft = random.uniform(0.1, 0.9, (3, 5)).astype(np.float32)
    hard = (soft > 0.5).astype(np.float32)
    start = np.eye(5, dtype=np.float32)[[0, 1, 3]]
    with tf.Graph().as_default(), tf.Session() as session:
        recursive, parallel, exact, choice = session.run([
            seq2seq.monotonic_attention(soft, previous, "recursive"),
            seq2seq.monotonic_attention(soft, previous, "parallel"),
            seq2seq.monotonic_attention(hard, start, "recursive"),
            seq2seq.monotonic_attention(hard, start, "hard"),
        ])  # fmt: skip
    expected = np.zeros((3, 5))
    for row in range(3):
        reached = 0.0
        for i in range(5):
            left = 1 - soft[row, i - 1] if i else 1.0
            reached = left * reached + previous[row, i]
            expected[row, i] = soft[row, i] * reached
    np.testing.assert_allclose(recursive, expected, atol=1e-6)
    np.testing.assert_allclose(parallel, expected, atol=1e-5)
    np.testing.assert_allclose(choice, exact, atol=1e-6)
    assert (recursive.sum(1) <= 1 + 1e-6).all()


def test_safe_cumprod_and_wrong_modes() -> None:
    x = np.float32([[0.5, 0.0, 0.25]])
    with tf.Graph().as_default(), tf.Session() as session:
        value = session.run(tf.contrib.seq2seq.safe_cumprod(x, axis=1, exclusive=True))
        np.testing.assert_allclose(value, [[1, 0.5, 0]], atol=1e-6)
        with pytest.raises(ValueError, match="mode must be"):
            tf.contrib.seq2seq.monotonic_attention(x, x, "soft")
