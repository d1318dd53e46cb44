"""Metrics of `tf.contrib.metrics` on curves: precision at a recall, points of curves, areas below
curves of all predictions, and confidence intervals.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from gpugraph.api import nn, top_level as tf
from gpugraph.base import dtypes
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.distributions.location_scale_distributions import Normal
from gpugraph.library.metrics.class_metrics import average_precision_at_top_k
from gpugraph.tensorflow_import.contrib_names.contrib_metrics import Pair, collected
from gpugraph.tensorflow_import.internals.metric_internals import (
    confusion_matrix_at_thresholds,
    metric_variable,
    remove_squeezable_dimensions,
)

_EPSILON = 1e-7


def _thresholds(count: int) -> list[float]:
    inner = [(number + 1) / (count - 1) for number in range(count - 2)]
    return [-_EPSILON, *inner, 1 + _EPSILON]


def _check_fraction(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"`{name}` must be in the range [0, 1].")


def _check_curve(curve: str) -> None:
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")


# -- at thresholds


def recall_at_precision(
    labels: Any, predictions: Any, precision: float, weights: Any = None,
    num_thresholds: int = 200, metrics_collections: Any = None, updates_collections: Any = None,
    name: str | None = None, strict_mode: bool = False,
) -> Pair:  # fmt: skip
    """Return the recall so far at the threshold whose precision is nearest to `precision`, and the
    update op.

    Raises ValueError unless `precision` is in [0, 1].

    Args:
      predictions: numbers in [0, 1].
      num_thresholds: the number of thresholds, equally spaced from 0 to 1.
      strict_mode: whether the precision must be reached. The recall is 0 if it is not.
    """
    _check_fraction("precision", precision)

    def recall(counts: dict[str, Any], title: str) -> Any:
        tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
        differences = tp / (tp + fp + _EPSILON) - precision
        if strict_mode:
            best = tf.argmax(1.0 / (differences + _EPSILON), 0, output_type=dtypes.int32)
        else:
            best = tf.argmin(tf.abs(differences), 0, output_type=dtypes.int32)
        value = tp[best] / (tp[best] + fn[best] + _EPSILON)
        if strict_mode:
            value = tf.where(differences[best] >= 0.0, value, tf.zeros_like(value))
        return tf.identity(value, name=title)

    with variable_scope(name, "recall_at_precision", [predictions, labels, weights]):
        thresholds = _thresholds(num_thresholds)
        pair = confusion_matrix_at_thresholds(labels, predictions, thresholds, weights)
        value, update = (recall(*item) for item in zip(pair, ("value", "update_op")))
        return collected(value, update, metrics_collections, updates_collections)


def precision_at_recall(
    labels: Any, predictions: Any, target_recall: float, weights: Any = None,
    num_thresholds: int = 200, metrics_collections: Any = None, updates_collections: Any = None,
    name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the precision so far at the largest threshold whose recall is at least
    `target_recall`, and the update op.

    Raises ValueError unless `target_recall` is in [0, 1].

    Args:
      predictions: numbers in [0, 1].
      num_thresholds: the number of thresholds, equally spaced from 0 to 1.
    """
    _check_fraction("target_recall", target_recall)

    def precision(counts: dict[str, Any], title: str) -> Any:
        tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
        reached = tf.greater_equal(tp / (tp + fn + _EPSILON), target_recall)
        last = tf.reduce_sum(tf.cast(reached, dtypes.int64)) - 1
        return tf.divide(tp[last] + _EPSILON, tp[last] + fp[last] + _EPSILON, name=title)

    with variable_scope(name, "precision_at_recall", [predictions, labels, weights]):
        thresholds = _thresholds(num_thresholds)
        pair = confusion_matrix_at_thresholds(labels, predictions, thresholds, weights)
        value, update = (precision(*item) for item in zip(pair, ("value", "update_op")))
        return collected(value, update, metrics_collections, updates_collections)


def streaming_curve_points(
    labels: Any = None, predictions: Any = None, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Any = None, updates_collections: Any = None, curve: str = "ROC",
    name: str | None = None,
) -> Pair:  # fmt: skip
    """Return points of a curve so far, [num_thresholds, 2], and the update op.

    Raises ValueError for a curve other than "ROC" (false positive rate, recall) or "PR" (recall,
    precision).
    """
    small = 1e-6
    with variable_scope(name, "curve_points", [labels, predictions, weights]):
        _check_curve(curve)
        thresholds = _thresholds(num_thresholds)
        counts, updates = confusion_matrix_at_thresholds(labels, predictions, thresholds, weights)
        tp, fn, tn, fp = (counts[kind] for kind in ("tp", "fn", "tn", "fp"))
        recall = (tp + small) / (tp + fn + small)
        if curve == "ROC":
            axes = [fp / (fp + tn + small), recall]
        else:
            axes = [recall, (tp + small) / (tp + fp + small)]
        points, update = tf.stack(axes, axis=1), tf.group(*updates.values())
        return collected(points, update, metrics_collections, updates_collections)


PrecisionRecallData = namedtuple(  # TensorFlow's
    "PrecisionRecallData", ["tp", "fp", "tn", "fn", "precision", "recall", "thresholds"]
)


def precision_recall_at_equal_thresholds(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int | None = None,
    use_locking: bool | None = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return counts, precision and recall so far at equally spaced thresholds, and the update op.

    The result is a named tuple of vectors: `tp`, `fp`, `tn`, `fn`, `precision`, `recall` and
    `thresholds`. The time of a step grows with the sum of the numbers of predictions and
    thresholds, not with their product.

    Args:
      labels: bools in the shape of the predictions. Raises TypeError for any other dtype.
      predictions: numbers in [0, 1].
      num_thresholds: the number of thresholds, by default 201.
    """
    count = 201 if num_thresholds is None else num_thresholds
    tf.assert_type(labels, dtypes.bool)
    with variable_scope(name, "precision_recall_at_equal_thresholds", [labels, predictions]):
        words = "predictions must be in [0, 1]"
        with control_dependencies(
            [
                tf.assert_greater_equal(
                    predictions, tf.cast(0.0, predictions.dtype), message=words
                ),
                tf.assert_less_equal(predictions, tf.cast(1.0, predictions.dtype), message=words),
            ]
        ):
            scores, truths, factors = remove_squeezable_dimensions(
                tf.identity(predictions), labels, 1.0 if weights is None else weights
            )
        scores.shape.assert_is_compatible_with(truths.shape)
        is_true, factors = tf.cast(truths, dtypes.float64), tf.cast(factors, dtypes.float64)
        buckets = tf.cast(tf.floor(tf.reshape(scores, [-1]) * (count - 1)), dtypes.int32)
        names = ("tp_buckets", "fp_buckets")
        with name_scope("variables"):
            variables = [metric_variable([count], dtypes.float64, name=part) for part in names]
        locking = True if use_locking is None else use_locking
        updates = [
            tf.scatter_add(
                variable, buckets, tf.reshape(values * factors, [-1]), use_locking=locking
            )
            for variable, values in zip(variables, (is_true, 1.0 - is_true))
        ]
        tp, fp = (tf.cumsum(variable, reverse=True) for variable in variables)
        tn, fn = fp[0] - fp, tp[0] - tp
        rates = [tp / tf.maximum(tf.cast(_EPSILON, dtypes.float64), tp + x) for x in (fp, fn)]
        columns = [tp, fp, tn, fn, *rates, tf.linspace(0.0, 1.0, count)]
        data = PrecisionRecallData(*(tf.cast(column, scores.dtype) for column in columns))
        return data, tf.group(*updates)


# -- from all predictions


def streaming_concat(
    values: Any, axis: int = 0, max_size: int | None = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return all values so far, concatenated along an axis, and the op that appends values. The op
    returns the size of the axis.

    Raises ValueError if the rank, or the size of another axis, is unknown.

    Args:
      max_size: the maximum size of the axis. Further values are dropped.
    """
    with variable_scope(name, "streaming_concat", [values]):
        if values.shape.dims is None:
            raise ValueError("`values` must have known statically known rank")
        rank = len(values.shape)
        place = axis + rank if axis < 0 else axis
        if not 0 <= place < rank:
            raise ValueError(f"axis = {place} not in [0, {rank})")
        others = [size for n, size in enumerate(values.shape.as_list()) if n != place]
        if None in others:
            raise ValueError(
                "all dimensions of `values` other than the dimension to concatenate along must "
                "have statically known size"
            )
        array = metric_variable([0, *others], values.dtype, validate_shape=False, name="array")
        size = metric_variable([], dtypes.int32, name="size")
        known = tf.identity(array)
        known.set_shape([None, *others])
        back = [0 if n == place else n + 1 if n < place else n for n in range(rank)]
        value = tf.transpose(known, back, name="concat")
        batch = tf.transpose(values, [place, *(n for n in range(rank) if n != place)])
        if max_size is not None:
            batch = batch[: tf.maximum(tf.constant(max_size) - size, 0)]
        joined = tf.concat([known, batch], 0)
        with control_dependencies([tf.assign(array, joined, validate_shape=False)]):
            update = tf.assign(size, tf.shape(joined)[0])
        return collected(value, update, metrics_collections, updates_collections)


def _concatenated(labels: Any, predictions: Any, weights: Any) -> tuple[list[Any], list[Any]]:
    """Return vectors of all labels, predictions and (if passed) weights so far, and the ops that
    append to these vectors.

    The updates check that labels are 0 or 1.
    """
    labels = tf.reshape(tf.cast(labels, dtypes.int64), [-1])
    checks = [
        tf.assert_greater_equal(
            labels, tf.zeros_like(labels), message="labels must be 0 or 1, at least one is <0"
        ),
        tf.assert_less_equal(
            labels, tf.ones_like(labels), message="labels must be 0 or 1, at least one is >1"
        ),
    ]
    predictions = tf.reshape(tf.cast(predictions, dtypes.float64), [-1])
    columns = {"concat_preds": predictions, "concat_labels": labels}
    if weights is not None:
        columns["concat_weights"] = tf.reshape(weights, [-1])
    with control_dependencies(checks):
        pairs = [
            streaming_concat(tf.identity(column), name=part) for part, column in columns.items()
        ]
    values, updates = (list(side) for side in zip(*pairs))
    return [values[1], values[0], *values[2:]], updates


def streaming_dynamic_auc(
    labels: Any, predictions: Any, curve: str = "ROC", metrics_collections: Any = (),
    updates_collections: Any = (), name: str | None = None, weights: Any = None,
) -> Pair:  # fmt: skip
    """Return the area below a curve whose thresholds are all predictions so far, and the update op.

    All labels and predictions are kept. The area is 0 unless there are labels 0 and 1. Raises
    ValueError for a curve other than "ROC" or "PR".
    """
    _check_curve(curve)
    with variable_scope(name, "dynamic_auc"):
        labels.shape.assert_is_compatible_with(predictions.shape)
        if weights is not None:
            weights = tf.cast(weights, dtypes.float64)
        values, updates = _concatenated(labels, predictions, weights)
        ones = tf.ones_like(values[0], dtype=dtypes.float64)
        area = _dynamic_area(curve, values[0], values[1], values[2] if len(values) > 2 else ones)
        return collected(area, tf.group(*updates), metrics_collections, updates_collections)


def _dynamic_area(curve: str, labels: Any, predictions: Any, weights: Any) -> Any:
    is_true = tf.cast(labels > 0, dtypes.float64)
    total, positive = tf.reduce_sum(weights), tf.reduce_sum(weights * is_true)

    def area() -> Any:
        ordered, order = nn.top_k(predictions, k=tf.size(predictions))
        factors, truths = tf.gather(weights, order), tf.gather(is_true, order)
        counts = tf.unique_with_counts(ordered)[2]
        splits = tf.pad(tf.cumsum(counts), [[1, 0]])

        def at_splits(amounts: Any) -> Any:
            return tf.gather(tf.pad(tf.cumsum(amounts), [[1, 0]]), splits)

        hits = at_splits(factors * truths)
        if curve == "ROC":
            x, y = at_splits(factors * (1.0 - truths)) / (total - positive), hits / positive
        else:
            chosen = at_splits(factors)
            x, y = hits / positive, tf.where(splits > 0, hits / chosen, tf.ones_like(hits))
        return tf.reduce_sum((y[1:] + y[:-1]) / 2.0 * tf.abs(x[1:] - x[:-1]))

    is_trivial = tf.logical_or(tf.equal(positive, 0.0), tf.equal(positive, total))
    return cond(is_trivial, lambda: tf.constant(0.0, dtypes.float64), area)


AucData = namedtuple("AucData", ["auc", "lower", "upper"])  # TensorFlow's


def auc_with_confidence_intervals(
    labels: Any, predictions: Any, weights: Any = None, alpha: float = 0.95,
    logit_transformation: bool = True, metrics_collections: Any = (),
    updates_collections: Any = (), name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the area below the ROC curve of all predictions so far with the bounds of its
    confidence interval, and the update op.

    The intervals follow from placement values (DeLong, 1988; Sun and Xu, 2014). The values are 0
    unless a batch has labels 0 and 1, and weights whose sum is at least 1.

    Args:
      alpha: the level of confidence.
      logit_transformation: whether the logit of the area is assumed to be normally distributed.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    if weights is None:
        weights = tf.ones_like(predictions)
    with variable_scope(name, "auc_with_confidence_intervals", [labels, predictions, weights]):
        predictions, labels, weights = remove_squeezable_dimensions(predictions, labels, weights)
        weights = tf.cast(weights, dtypes.float32)
        enough = tf.reduce_sum(weights) >= 1.0
        batch = tf.cast(labels, dtypes.int64)
        has_both = tf.logical_and(
            tf.equal(tf.reduce_min(batch), 0), tf.equal(tf.reduce_max(batch), 1)
        )
        (all_labels, scores, factors), updates = _concatenated(labels, predictions, weights)
        update = cond(enough, lambda: tf.group(*updates), tf.no_op)
        values = cond(
            tf.logical_and(has_both, enough),
            lambda: _placement_area(all_labels, scores, factors, alpha, logit_transformation),
            lambda: [tf.constant(0.0)] * 3,
        )
        return collected(AucData(*values), update, metrics_collections, updates_collections)


def _placements(amounts: Any, groups: Any) -> Any:
    """Return, for each value, the share of `amounts` in lower groups, plus half the share of the
    value's group.
    """
    totals = tf.segment_sum(amounts, groups)
    below = tf.cumsum(totals, exclusive=True)
    return tf.gather((below + totals / 2.0) / (tf.reduce_sum(totals) + _EPSILON), groups)


def _placement_area(
    labels: Any, scores: Any, weights: Any, alpha: float, by_logit: bool
) -> Sequence[Any]:
    order = tf.reverse(nn.top_k(scores, k=tf.size(scores))[1], [0])
    groups = tf.unique(tf.gather(scores, order))[1]
    truths, factors = tf.cast(tf.gather(labels, order), dtypes.float32), tf.gather(weights, order)
    of_false, of_true = factors * (1.0 - truths), factors * truths
    totals = [tf.reduce_sum(of_false), tf.reduce_sum(of_true)]
    values = [1.0 - _placements(of_true, groups), _placements(of_false, groups)]
    areas, variances = [], []
    for amounts, total, value in zip((of_false, of_true), totals, values):
        areas.append(tf.reduce_sum(amounts * value) / (total + _EPSILON))
        squares = amounts * tf.square(value - areas[-1])
        variances.append(tf.reduce_sum(squares) / (total - 1.0 + _EPSILON) / (total + _EPSILON))
    area = tf.where(totals[0] < totals[1], areas[1], areas[0])
    error = tf.sqrt(variances[0] + variances[1])
    z = Normal(loc=0.0, scale=1.0).quantile((1.0 - alpha) / 2.0)
    return [area, *_bounds(area, error, z, by_logit)]


def _bounds(area: Any, error: Any, z: Any, by_logit: bool) -> list[Any]:
    if by_logit:
        center = tf.log(area / (1.0 - area + _EPSILON))
        spread = error / (area * (1.0 - area + _EPSILON))
        sides = [center + z * spread, center - z * spread]
        sides = [1.0 / (1.0 + tf.exp(-side) + _EPSILON) for side in sides]
    else:
        sides = [area + z * error, area - z * error]
    is_end = tf.logical_or(tf.equal(area, 1.0), tf.equal(area, 0.0))
    return [tf.where(is_end, area, side) for side in sides]


def auc_using_histogram(
    boolean_labels: Any, scores: Any, score_range: Any, nbins: int = 100,
    collections: Any = None, check_shape: bool = True, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the area below the ROC curve from histograms of the scores so far, and the update op.

    Args:
      boolean_labels, scores: vectors. Raises ValueError unless the labels are bools.
      score_range: the minimum and the maximum score. Other scores are clipped.
      nbins: the number of bins.
      collections: the collections of the histograms, by default the local variables.
      check_shape: whether runs check that labels and scores are vectors.
    """
    with variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        scores, labels, _ = remove_squeezable_dimensions(scores, boolean_labels, None)
        if labels.dtype != dtypes.bool:
            raise ValueError(
                f"Argument boolean_labels should have dtype bool.  Found: {labels.dtype}"
            )
        checks = [
            tf.Assert(
                tf.equal(1, tf.rank(tensor)),
                [f"Argument {part} should have rank 1.  Found: ", tf.shape(tensor)],
            )
            for part, tensor in (("boolean_labels", labels), ("scores", scores))
        ]
        with control_dependencies(checks if check_shape else []):
            labels, scores = tf.identity(labels), tf.identity(scores)
        masks = {"hist_true_acc": labels, "hist_false_acc": tf.logical_not(labels)}
        batches = [
            tf.histogram_fixed_width(
                tf.boolean_mask(scores, mask), score_range, nbins=nbins, dtype=dtypes.int64
            )
            for mask in masks.values()
        ]
        listed = collections or [GraphKeys.LOCAL_VARIABLES]
        with variable_scope(None, "hist_accumulate"):
            kept = [
                get_variable(
                    part,
                    shape=[nbins],
                    initializer=tf.zeros_initializer(),
                    collections=listed,
                    dtype=dtypes.int64,
                    trainable=False,
                )
                for part in masks
            ]
        updates = [variable.assign_add(batch) for variable, batch in zip(kept, batches)]
        return _area_of_histograms(*kept), tf.group(*updates, name="update_op")


def _area_of_histograms(of_true: Any, of_false: Any) -> Any:
    rates = []
    for counts in (of_true, of_false):
        shares = tf.cast(counts, dtypes.float32)
        shares = shares / tf.reduce_sum(shares)
        rates.append(tf.concat([[0.0], tf.cumsum(shares, reverse=True)[::-1]], 0))
    heights, widths = (rates[0][1:] + rates[0][:-1]) / 2.0, rates[1][1:] - rates[1][:-1]
    return tf.reduce_sum(heights * widths)


def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Pair:  # fmt: skip
    """Return the result of `streaming_sparse_average_precision_at_k` for the indices of the top
    predictions.
    """
    collections = metrics_collections, updates_collections
    return average_precision_at_top_k(labels, top_k_predictions, weights, *collections, name)
