"""Metrics of `tf.contrib.metrics` alone, against NumPy, over two batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

RANDOM = np.random.RandomState(0)
P, L = RANDOM.rand(2, 6).astype(np.float32), RANDOM.rand(2, 6).astype(np.float32)
W = RANDOM.rand(2, 6).astype(np.float32)
CLASSES = RANDOM.randint(0, 3, (2, 2, 6))


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def metrics() -> Any:
    with tf.as_tensorflow():
        from tensorflow.contrib import metrics  # noqa: PLC0415
    return metrics


def over_batches(metric: Any, *batches: Any) -> Any:
    """Return the metric's value after an update with each batch; `metric` gets placeholders."""
    feeds = [tf.placeholder(each.dtype, each.shape[1:]) for each in batches]
    value, update = metric(*feeds)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for parts in zip(*batches):
            last = session.run(update, dict(zip(feeds, parts)))
        result = session.run(value)
    np.testing.assert_allclose(last, result, atol=1e-5)
    return result


def test_covariance_and_correlation(metrics: Any) -> None:
    cov = np.cov(P.ravel(), L.ravel())[0, 1]
    assert over_batches(metrics.streaming_covariance, P, L) == pytest.approx(cov, abs=1e-5)
    pearson = np.corrcoef(P.ravel(), L.ravel())[0, 1]
    found = over_batches(metrics.streaming_pearson_correlation, P, L)
    assert found == pytest.approx(pearson, abs=1e-5)
    w = W.ravel()
    mean_p, mean_l = np.average(P.ravel(), weights=w), np.average(L.ravel(), weights=w)
    weighted = (w * (P.ravel() - mean_p) * (L.ravel() - mean_l)).sum() / (w.sum() - 1)
    found = over_batches(metrics.streaming_covariance, P, L, W)
    assert found == pytest.approx(weighted, abs=1e-5)


def test_counts_and_accuracy(metrics: Any) -> None:
    assert over_batches(metrics.count, P) == 12
    assert over_batches(metrics.count, P, W) == pytest.approx(W.sum(), abs=1e-5)
    labels, predictions = (tf.constant(each[0]) for each in CLASSES)
    plain = metrics.accuracy(predictions, labels)
    weighted = metrics.accuracy(predictions, labels, W[0])
    same = CLASSES[0, 0] == CLASSES[1, 0]
    with tf.Session() as session:
        found = session.run([plain, weighted])
    np.testing.assert_allclose(found, [same.mean(), np.average(same, weights=W[0])], atol=1e-6)
    with pytest.raises(ValueError, match="not floating point"):
        metrics.accuracy(tf.constant(P), tf.constant(L))


def test_cohens_kappa(metrics: Any) -> None:
    matrix = np.zeros((3, 3))
    np.add.at(matrix, (CLASSES[0].ravel(), CLASSES[1].ravel()), 1)
    total = matrix.sum()
    chance = (matrix.sum(0) * matrix.sum(1)).sum() / total
    expected = (np.trace(matrix) - chance) / (total - chance)
    found = over_batches(lambda a, b: metrics.cohen_kappa(a, b, 3), CLASSES[0], CLASSES[1])
    assert found == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match="num_classes"):
        metrics.cohen_kappa([0], [0], 1)


def test_rates(metrics: Any) -> None:
    predicted, true = P > 0.4, L > 0.5
    fnr = (~predicted & true).sum() / true.sum()
    fpr = (predicted & ~true).sum() / (~true).sum()
    assert over_batches(metrics.streaming_false_negative_rate, predicted, true) == pytest.approx(
        fnr
    )
    assert over_batches(metrics.streaming_false_positive_rate, predicted, true) == pytest.approx(
        fpr
    )
    found = over_batches(
        lambda p, t: metrics.streaming_false_positive_rate_at_thresholds(p, t, [0.4, 2.0]), P, true
    )
    np.testing.assert_allclose(found, [fpr, 0], atol=1e-6)
    found = over_batches(
        lambda p, t: metrics.streaming_false_negative_rate_at_thresholds(p, t, [0.4]), P, true
    )
    np.testing.assert_allclose(found, [fnr], atol=1e-6)


def test_largest_predictions(metrics: Any) -> None:
    scores = RANDOM.rand(2, 6, 3).astype(np.float32)
    labels = CLASSES[0].astype(np.int64)
    hits = [labels[b, i] in np.argsort(scores[b, i])[-2:] for b in range(2) for i in range(6)]
    found = over_batches(lambda s, t: metrics.streaming_recall_at_k(s, t, 2), scores, labels)
    assert found == pytest.approx(np.mean(hits), abs=1e-6)
    column = labels[..., None]
    for name, share in (("recall", 1.0), ("precision", 0.5)):
        function = getattr(metrics, f"streaming_sparse_{name}_at_k")
        found = over_batches(lambda s, t, f=function: f(s, t, 2), scores, column)
        assert found == pytest.approx(np.mean(hits) * share, abs=1e-5)
    top = np.argsort(-scores)[..., :2]
    found = over_batches(lambda t, s: metrics.sparse_recall_at_top_k(t, s), column, top)
    assert found == pytest.approx(np.mean(hits), abs=1e-5)
    found = over_batches(metrics.streaming_sparse_precision_at_top_k, top, column)
    assert found == pytest.approx(np.mean(hits) / 2, abs=1e-5)
    found = over_batches(
        lambda s, t: metrics.streaming_sparse_average_precision_at_k(s, t, 1), scores, column
    )
    first = [labels[b, i] == np.argmax(scores[b, i]) for b in range(2) for i in range(6)]
    assert found == pytest.approx(np.mean(first), abs=1e-5)


def test_f1_score_is_the_best_of_all_thresholds(metrics: Any) -> None:
    labels, predictions = [0.0, 1.0, 1.0, 0.0], [0.2, 0.9, 0.4, 0.6]
    value, update = metrics.f1_score(labels, predictions, num_thresholds=11)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update) == pytest.approx(0.8, abs=1e-5)  # all above 0.2: 2/3 and 1
        assert session.run(value) == pytest.approx(0.8, abs=1e-5)
