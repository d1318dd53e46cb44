"""Metrics on curves of `tf.contrib.metrics` beside TensorFlow 1.15.5, after three batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.contrib_names import contrib_curves as metrics

EXPECTED = {
    "recall_at_precision": [0.57143],
    "strict_recall": [0.0],
    "precision_at_recall": [0.46154],
    "weighted_precision": [0.42397],
    "roc_points": [1.0, 1.0, 0.75, 0.85714, 0.41667, 0.57143],
    "pr_points": [1.0, 0.42397, 0.68986, 0.42877, 0.3653, 0.35231],
    "equal_thresholds": [6.37378, 6.37378, 4.39704, 4.39704, 4.39704, 2.32833, 8.6598, 8.6598],
    "concat": [0.44386, 0.33367, 1.49408, -0.20516, 0.31307, -0.8541],
    "limited_concat": [0.44386, 1.49408, 0.31307, -2.55299, 0.86444, 2.26975],
    "dynamic_roc": [0.60119],
    "weighted_roc": [0.49698],
    "dynamic_pr": [0.39851],
    "weighted_pr": [0.37285],
    "interval": [0.60119, 0.32399, 0.82583],
    "plain_interval": [0.49698, 0.29239, 0.70157],
    "histograms": [0.61905],
}
"""By metric: the first numbers of each part of its value, by TensorFlow 1.15.5."""


def ints(labels: Any) -> Any:
    return tf.cast(labels, tf.int64)


Metric = Callable[[Any, Any, Any, Any], Any]
METRICS: dict[str, Metric] = {
    "recall_at_precision": lambda y, p, w, s: metrics.recall_at_precision(y, p, 0.7),
    "strict_recall": lambda y, p, w, s: metrics.recall_at_precision(
        y, p, 0.7, weights=w, strict_mode=True, num_thresholds=20
    ),
    "precision_at_recall": lambda y, p, w, s: metrics.precision_at_recall(y, p, 0.6),
    "weighted_precision": lambda y, p, w, s: metrics.precision_at_recall(y, p, 0.9, weights=w),
    "roc_points": lambda y, p, w, s: metrics.streaming_curve_points(y, p, num_thresholds=6),
    "pr_points": lambda y, p, w, s: metrics.streaming_curve_points(
        y, p, w, num_thresholds=6, curve="PR"
    ),
    "equal_thresholds": lambda y, p, w, s: metrics.precision_recall_at_equal_thresholds(
        y, p, w, num_thresholds=11
    ),
    "concat": lambda y, p, w, s: metrics.streaming_concat(s),
    "limited_concat": lambda y, p, w, s: metrics.streaming_concat(
        tf.transpose(s), axis=-1, max_size=12
    ),
    "dynamic_roc": lambda y, p, w, s: metrics.streaming_dynamic_auc(ints(y), p),
    "weighted_roc": lambda y, p, w, s: metrics.streaming_dynamic_auc(ints(y), p, weights=w),
    "dynamic_pr": lambda y, p, w, s: metrics.streaming_dynamic_auc(ints(y), p, "PR"),
    "weighted_pr": lambda y, p, w, s: metrics.streaming_dynamic_auc(ints(y), p, "PR", weights=w),
    "interval": lambda y, p, w, s: metrics.auc_with_confidence_intervals(ints(y), p),
    "plain_interval": lambda y, p, w, s: metrics.auc_with_confidence_intervals(
        ints(y), p, w, alpha=0.8, logit_transformation=False
    ),
    "histograms": lambda y, p, w, s: metrics.auc_using_histogram(y, p, [0.0, 1.0], nbins=10),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def batch(random: Any, count: int) -> list[Any]:
    """Return labels, predictions, weights and points of a batch."""
    labels = random.rand(count) < 0.5
    values = [np.round(random.rand(count), 1), random.rand(count) * 2, random.randn(count, 2)]
    labels[:2] = [True, False]
    return [labels, *values]


@pytest.mark.parametrize("name", METRICS)
def test_values_are_those_of_tensorflow(name: str) -> None:
    shapes = [
        (tf.bool, [None]),
        (tf.float32, [None]),
        (tf.float32, [None]),
        (tf.float32, [None, 2]),
    ]
    inputs = [tf.placeholder(dtype, shape) for dtype, shape in shapes]
    value, update = METRICS[name](*inputs)
    random = np.random.RandomState(0)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for count in (6, 9, 4):
            session.run(update, dict(zip(inputs, batch(random, count))))
        feeds = dict(zip(inputs, batch(np.random.RandomState(1), 4)))
        parts = session.run(value, feeds)
    parts = parts if isinstance(parts, tuple) else [parts]
    found = np.concatenate([np.ravel(part)[:6] for part in parts])[:8]
    np.testing.assert_allclose(found, EXPECTED[name], atol=2e-5)


def test_average_precision_of_indices() -> None:
    top = tf.constant([[1, 2, 0], [3, 1, 2]])
    value, update = metrics.streaming_sparse_average_precision_at_top_k(
        top, tf.constant([[0, 1], [2, 4]], tf.int64)
    )
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update) == pytest.approx(0.5)
        assert session.run(value) == pytest.approx(0.5)
        unknown = tf.placeholder(tf.int64, [2, None])
        with pytest.raises(ValueError, match="last dimension"):
            metrics.streaming_sparse_average_precision_at_top_k(unknown, top)


def test_rejected_inputs() -> None:
    labels, scores = tf.constant([0, 3]), tf.constant([0.1, 0.2])
    with pytest.raises(ValueError, match="`precision` must be in the range"):
        metrics.recall_at_precision(labels, scores, 1.5)
    with pytest.raises(ValueError, match="`target_recall` must be in the range"):
        metrics.precision_at_recall(labels, scores, -0.1)
    for function in (metrics.streaming_curve_points, metrics.streaming_dynamic_auc):
        with pytest.raises(ValueError, match="curve must be either ROC or PR, X unknown"):
            function(labels, scores, curve="X")
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        metrics.auc_with_confidence_intervals(labels, scores, alpha=1.0)
    with pytest.raises(ValueError, match="should have dtype bool"):
        metrics.auc_using_histogram(labels, scores, [0.0, 1.0])
    with pytest.raises(ValueError, match="statically known rank"):
        metrics.streaming_concat(tf.placeholder(tf.float32))
    with pytest.raises(ValueError, match=r"axis = 2 not in \[0, 2\)"):
        metrics.streaming_concat(tf.zeros([2, 2]), axis=2)
    _, update = metrics.streaming_dynamic_auc(labels, scores)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="at least one is >1"):
            session.run(update)
