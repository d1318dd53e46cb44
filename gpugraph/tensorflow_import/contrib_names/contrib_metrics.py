"""Metrics that only `tf.contrib.metrics` has, and metrics whose arguments are in a different order
than in `tf.metrics`.
"""

from __future__ import annotations

from typing import Any

from gpugraph.api import nn, top_level as tf
from gpugraph.base import dtypes
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import (
    control_dependencies,
    get_default_graph,
    name_scope,
)
from gpugraph.library import metrics
from gpugraph.tensorflow_import.internals.metric_internals import metric_variable

Pair = tuple[Any, Any]
_EPSILON = 1e-7


def collected(value: Any, update: Any, of_values: Any, of_updates: Any) -> Pair:
    graph = get_default_graph()
    graph.add_to_collections(of_values or (), value)
    graph.add_to_collections(of_updates or (), update)
    return value, update


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """Return the weighted fraction of predictions in one batch that equal their labels.

    Raises ValueError if the dtypes differ, or are not integer dtypes, bool or string.
    """
    if labels.dtype != predictions.dtype:
        raise ValueError(
            f"Labels and predictions should have the same dtype. {labels.dtype} and "
            f"{predictions.dtype}"
        )
    if not (labels.dtype.is_integer or labels.dtype in (dtypes.bool, dtypes.string)):
        raise ValueError("Labels should have bool, string, or integer dtype, not floating point")
    with name_scope(name, "accuracy", [predictions, labels]):
        equal = tf.cast(tf.equal(predictions, labels), dtypes.float32)
        if weights is None:
            return tf.reduce_mean(equal)
        factors = tf.cast(weights, dtypes.float32)
        total = tf.reduce_sum(tf.multiply(tf.ones_like(equal), factors))
        return tf.reduce_sum(equal * factors) / total


def count(
    values: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the number of values so far, or the sum of their weights, and the update op."""
    with variable_scope(name, "count", [values, weights]):
        total = metric_variable([], dtypes.float32, name="count")
        if weights is None:
            batch = tf.cast(tf.size(values), dtypes.float32)
        else:
            ones = tf.ones_like(tf.cast(values, dtypes.float32))
            batch = tf.reduce_sum(ones * tf.cast(weights, dtypes.float32))
        update = tf.assign_add(total, batch)
        return collected(tf.identity(total), update, metrics_collections, updates_collections)


def streaming_covariance(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the unbiased covariance of all pairs so far, and the update op. Before the second
    pair, it is NaN.

    The means and co-moments of batches are combined (Chan, Golub and LeVeque, 1979).
    """
    with variable_scope(name, "covariance", [predictions, labels, weights]):
        kept = [
            metric_variable([], dtypes.float32, name=part)
            for part in ("count", "mean_prediction", "mean_label", "comoment")
        ]
        pairs = [tf.cast(values, dtypes.float32) for values in (predictions, labels)]
        ones = tf.ones_like(pairs[0])
        factors = ones if weights is None else ones * tf.cast(weights, dtypes.float32)
        batch_count = tf.reduce_sum(factors)
        means = [tf.div_no_nan(tf.reduce_sum(x * factors), batch_count) for x in pairs]
        comoment = tf.reduce_sum(factors * (pairs[0] - means[0]) * (pairs[1] - means[1]))
        before = [tf.identity(variable) for variable in kept]
        total = before[0] + batch_count
        share = tf.div_no_nan(batch_count, total)
        steps = [mean - old for mean, old in zip(means, before[1:3])]
        joined = before[3] + comoment + steps[0] * steps[1] * before[0] * share
        after = [total, *(old + step * share for old, step in zip(before[1:3], steps)), joined]
        with control_dependencies([*before, *after]):
            updates = [tf.assign(variable, new) for variable, new in zip(kept, after)]
        value = _covariance(kept[0], kept[3])
        with control_dependencies(updates):
            update = _covariance(total, joined)
        return collected(value, update, metrics_collections, updates_collections)


def _covariance(number: Any, comoment: Any) -> Any:
    quotient = tf.truediv(comoment, number - 1)
    return tf.where(tf.less_equal(number, 1.0), tf.constant(float("nan")), quotient)


def streaming_pearson_correlation(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return Pearson's correlation of all pairs so far, and the update op."""
    with variable_scope(name, "pearson_r", [predictions, labels, weights]):
        of_predictions = streaming_covariance(
            predictions, predictions, weights, name="variance_predictions"
        )
        of_labels = streaming_covariance(labels, labels, weights, name="variance_labels")
        both = streaming_covariance(predictions, labels, weights, name="covariance")
        value, update = (
            tf.truediv(cov, tf.sqrt(one) * tf.sqrt(other))
            for cov, one, other in zip(both, of_predictions, of_labels)
        )
        return collected(value, update, metrics_collections, updates_collections)


def f1_score(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the best F1 score of all thresholds, computed from all batches so far, and the update
    op.

    Args:
      predictions: numbers in [0, 1].
      num_thresholds: the number of thresholds, equally spaced from 0 to 1.
    """
    inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    thresholds = [-_EPSILON, *inner, 1 + _EPSILON]
    with variable_scope(name, "f1", [labels, predictions, weights]):
        pairs = [
            function(labels, predictions, thresholds, weights)
            for function in (metrics.precision_at_thresholds, metrics.recall_at_thresholds)
        ]
        value, update = (
            tf.reduce_max(2.0 * precision * recall / (precision + recall + _EPSILON))
            for precision, recall in zip(*pairs)
        )
        return collected(value, update, metrics_collections, updates_collections)


def cohen_kappa(
    labels: Any, predictions_idx: Any, num_classes: int, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return Cohen's kappa of all pairs so far, and the update op.

    Raises ValueError if there are fewer than 2 classes.

    Args:
      labels, predictions_idx: vectors, or columns, of classes.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2.Found: {num_classes}")
    with variable_scope(name, "cohen_kappa", [labels, predictions_idx, weights]):
        true, guessed = (tf.reshape(classes, [-1]) for classes in (labels, predictions_idx))
        factors = None if weights is None else tf.reshape(tf.cast(weights, dtypes.float64), [-1])
        matrix = metric_variable([num_classes, num_classes], dtypes.float64, name="matrix")
        batch = tf.confusion_matrix(
            true, guessed, num_classes, weights=factors, dtype=dtypes.float64
        )
        update = _kappa(tf.assign_add(matrix, batch))
        return collected(_kappa(matrix), update, metrics_collections, updates_collections)


def _kappa(matrix: Any) -> Any:
    total = tf.reduce_sum(matrix)
    agreed = tf.trace(matrix)
    chance = tf.reduce_sum(tf.reduce_sum(matrix, 0) * tf.reduce_sum(matrix, 1)) / total
    return tf.cast(tf.truediv(agreed - chance, total - chance), dtypes.float32)


def _rate(
    names: tuple[str, str], arguments: tuple[Any, ...], scope: str | None, default: str,
    collections: tuple[Any, Any],
) -> Pair:  # fmt: skip
    """Return the first count divided by the sum of both counts, and the update op.

    Args:
      names: the names of the two counting metrics.
    """
    with variable_scope(scope, default):
        kinds = [getattr(metrics, name)(*arguments) for name in names]
        value, update = (
            tf.div_no_nan(tf.cast(one, dtypes.float32), tf.cast(one + other, dtypes.float32))
            for one, other in zip(*kinds)
        )
        return collected(value, update, *collections)


_NEGATIVE = ("false_negatives", "true_positives")
_POSITIVE = ("false_positives", "true_negatives")


def streaming_false_negative_rate(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the fraction of true labels that were predicted as false, and the update op."""
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, weights
    return _rate(_NEGATIVE, arguments, name, "false_negative_rate", collections)


def streaming_false_positive_rate(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the fraction of false labels that were predicted as true, and the update op."""
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, weights
    return _rate(_POSITIVE, arguments, name, "false_positive_rate", collections)


def streaming_false_negative_rate_at_thresholds(
    predictions: Any, labels: Any, thresholds: Any, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return `streaming_false_negative_rate` for each threshold of predictions."""
    names = _NEGATIVE[0] + "_at_thresholds", _NEGATIVE[1] + "_at_thresholds"
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, thresholds, weights
    return _rate(names, arguments, name, "false_negative_rate_at_thresholds", collections)


def streaming_false_positive_rate_at_thresholds(
    predictions: Any, labels: Any, thresholds: Any, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return `streaming_false_positive_rate` for each threshold of predictions."""
    names = _POSITIVE[0] + "_at_thresholds", _POSITIVE[1] + "_at_thresholds"
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, thresholds, weights
    return _rate(names, arguments, name, "false_positive_rate_at_thresholds", collections)


def streaming_recall_at_k(
    predictions: Any, labels: Any, k: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the fraction of labels that are among the k largest predictions, and the update op."""
    hits = tf.cast(nn.in_top_k(predictions, labels, k), dtypes.float32)
    return metrics.mean(
        hits, weights, metrics_collections, updates_collections, name or f"recall_at_{k}"
    )


def streaming_sparse_recall_at_k(
    predictions: Any, labels: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the result of `tf.metrics.recall_at_k`."""
    collections = metrics_collections, updates_collections
    return metrics.recall_at_k(labels, predictions, k, class_id, weights, *collections, name)


def streaming_sparse_precision_at_k(
    predictions: Any, labels: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the result of `tf.metrics.precision_at_k`."""
    collections = metrics_collections, updates_collections
    return metrics.precision_at_k(labels, predictions, k, class_id, weights, *collections, name)


def streaming_sparse_precision_at_top_k(
    top_k_predictions: Any, labels: Any, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the result of `tf.metrics.precision_at_top_k`, which receives the indices of the top
    predictions.
    """
    indices, k = tf.cast(top_k_predictions, dtypes.int64), top_k_predictions.shape[-1].value
    collections = metrics_collections, updates_collections
    return metrics.precision_at_top_k(labels, indices, k, class_id, weights, *collections, name)


def sparse_recall_at_top_k(
    labels: Any, top_k_predictions: Any, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the result of `tf.metrics.recall_at_top_k`, which receives the indices of the top
    predictions.
    """
    indices, k = tf.cast(top_k_predictions, dtypes.int64), top_k_predictions.shape[-1].value
    collections = metrics_collections, updates_collections
    return metrics.recall_at_top_k(labels, indices, k, class_id, weights, *collections, name)


def streaming_sparse_average_precision_at_k(
    predictions: Any, labels: Any, k: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the result of `tf.metrics.average_precision_at_k`."""
    collections = metrics_collections, updates_collections
    return metrics.average_precision_at_k(labels, predictions, k, weights, *collections, name)
