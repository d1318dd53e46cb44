"""Losses of embeddings, against sums over pairs and triplets in Python."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.library.contrib import metric_learning

LABELS = np.array([0, 1, 0, 2, 1, 0], np.int32)
POINTS = np.random.RandomState(3).randn(6, 4).astype(np.float32)
OTHERS = np.random.RandomState(4).randn(6, 4).astype(np.float32)
SQUARES = ((POINTS[:, None] - POINTS[None]) ** 2).sum(-1).astype(np.float64)


@pytest.fixture(autouse=True)
def own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def value(tensor: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensor)


def test_contrastive_loss() -> None:
    same = np.array([1, 0, 1, 0, 0, 1])
    distances = np.linalg.norm(POINTS - OTHERS, axis=1)
    wanted = np.where(same, distances**2, np.maximum(3.0 - distances, 0) ** 2).mean()
    found = value(metric_learning.contrastive_loss(same, POINTS, OTHERS, margin=3.0))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_triplets_with_semihard_negatives() -> None:
    losses = []
    for anchor, positive in np.ndindex(6, 6):
        if anchor == positive or LABELS[anchor] != LABELS[positive]:
            continue
        distance = SQUARES[anchor, positive]
        negatives = SQUARES[anchor][LABELS[anchor] != LABELS]
        farther = negatives[negatives > distance]
        negative = farther.min() if farther.size else negatives.max()
        losses.append(max(0.0, 5.0 + distance - negative))
    points = tf.constant(POINTS)
    loss = metric_learning.triplet_semihard_loss(LABELS, points, margin=5.0)
    np.testing.assert_allclose(value(loss), np.mean(losses), rtol=1e-5)
    assert np.isfinite(value(tf.gradients(loss, points)[0])).all()


def test_npairs_loss() -> None:
    logits = POINTS @ OTHERS.T
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    same = (LABELS[:, None] == LABELS[None]).astype(float)
    entropy = -(same / same.sum(1, keepdims=True) * logs).sum(1).mean()
    size = sum((each**2).sum(1).mean() for each in (POINTS, OTHERS))
    found = value(metric_learning.npairs_loss(LABELS, POINTS, OTHERS, reg_lambda=0.1))
    np.testing.assert_allclose(found, 0.25 * 0.1 * size + entropy, rtol=1e-5)


def test_lifted_structured_loss() -> None:
    distances = np.sqrt(SQUARES)
    losses = []
    for i, j in np.ndindex(6, 6):
        if i < j and LABELS[i] == LABELS[j]:
            terms = [np.exp(1.0 - distances[row][LABELS[row] != LABELS]).sum() for row in (i, j)]
            losses.append(max(0.0, np.log(sum(terms)) + distances[i, j]) ** 2)
    points = tf.constant(POINTS)
    loss = metric_learning.lifted_struct_loss(LABELS, points)
    np.testing.assert_allclose(value(loss), 0.5 * np.mean(losses), rtol=1e-4)
    assert np.isfinite(value(tf.gradients(loss, points)[0])).all()


def test_programs_find_them() -> None:
    with tf.as_tensorflow():
        module = importlib.import_module("tensorflow.contrib.losses.metric_learning")
        assert module.npairs_loss is metric_learning.npairs_loss


def test_cluster_loss() -> None:
    pytest.importorskip("sklearn")
    classes = np.arange(10) % 2
    random = np.random.RandomState(0)
    random.randn(12, 4)
    points = (random.randn(10, 4) + classes[:, None] * 0.7).astype(np.float32)
    tensor = tf.constant(points)
    for margin, wanted in (("nmi", 1.9066), ("ari", 1.9732), ("vmeasure", 1.9066)):
        loss = metric_learning.cluster_loss(classes, tensor, 1.0, margin_type=margin)
        assert loss.shape == ()
        np.testing.assert_allclose(value(loss), wanted, atol=1e-4)
        assert np.abs(value(tf.gradients(loss, tensor)[0])).sum() == pytest.approx(11.58, abs=0.01)
    far = np.eye(3, dtype=np.float32)[np.arange(9) % 3] * 50
    assert value(metric_learning.cluster_loss(np.arange(9)[:, None] % 3, far, 1.0)) == 0
    with pytest.raises(ValueError, match="Unrecognized margin_type: other"):
        metric_learning.cluster_loss(classes, tensor, 1.0, margin_type="other")
