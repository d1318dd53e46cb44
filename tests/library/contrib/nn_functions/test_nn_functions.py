"""Functions of `tf.contrib.nn` and `tf.contrib.sparsemax`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

LOGITS = (3 * np.random.RandomState(1).randn(5, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def value(tensor: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensor)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = np.random.RandomState(0).randn(400, 500).astype(np.float32)
    result = value(tf.contrib.nn.alpha_dropout(x, 0.8, seed=1))
    assert abs(result.mean()) < 0.02
    assert abs(result.std() - 1.0) < 0.02
    _, counts = np.unique(result, return_counts=True)
    assert abs(counts.max() / x.size - 0.2) < 0.01
    assert tf.contrib.nn.alpha_dropout(tf.constant(x), 1.0).op.type == "Const"
    with pytest.raises(ValueError, match=r"in the range \(0, 1\]"):
        tf.contrib.nn.alpha_dropout(x, 0.0)


def test_scaled_softplus() -> None:
    wanted = 0.5 * np.log1p(np.exp(LOGITS / 0.5))
    np.testing.assert_allclose(value(tf.contrib.nn.scaled_softplus(LOGITS, 0.5)), wanted, rtol=1e-4)
    clipped = value(tf.contrib.nn.scaled_softplus(LOGITS, 0.5, clip=1.0))
    np.testing.assert_allclose(clipped, np.minimum(wanted, 1.0), rtol=1e-4)


def test_flipped_arguments() -> None:
    labels = np.eye(6, dtype=np.float32)[:5]
    nn, old = tf.nn, tf.contrib.nn
    pairs = [
        (
            old.deprecated_flipped_softmax_cross_entropy_with_logits(LOGITS, labels),
            nn.softmax_cross_entropy_with_logits(labels=labels, logits=LOGITS),
        ),
        (
            old.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(LOGITS, np.arange(5)),
            nn.sparse_softmax_cross_entropy_with_logits(labels=np.arange(5), logits=LOGITS),
        ),
        (
            old.deprecated_flipped_sigmoid_cross_entropy_with_logits(LOGITS, labels),
            nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=LOGITS),
        ),
    ]
    for found, wanted in value(pairs):
        np.testing.assert_array_equal(found, wanted)


def projected(z: Any) -> Any:
    """Return the nearest point of the simplex, by bisection of the threshold."""
    low, high = z.min() - 1.0, z.max()
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(z - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(z - low, 0)


def test_sparsemax_and_its_loss() -> None:
    wanted = np.array([projected(row.astype(np.float64)) for row in LOGITS])
    logits = tf.constant(LOGITS)
    found = tf.contrib.sparsemax.sparsemax(logits)
    labels = np.eye(6, dtype=np.float32)[:5]
    loss = tf.contrib.sparsemax.sparsemax_loss(logits, found, labels)
    values, losses, slope = value([found, loss, tf.gradients(loss, logits)[0]])
    np.testing.assert_allclose(values, wanted, atol=1e-6)
    assert (losses >= -1e-6).all()
    np.testing.assert_allclose(slope, wanted - labels, atol=1e-5)
