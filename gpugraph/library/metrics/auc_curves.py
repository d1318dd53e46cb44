"""Metrics of ROC and precision-recall curves: areas under the curves, and single points on the
curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.attr_values import real_number, whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.metrics.metric_variables import Pair, collect, measure_both, metric
from gpugraph.library.metrics.threshold_metrics import Counts, counts_at
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.elementwise.arithmetic_functions import maximum, minimum, multiply
from gpugraph.ops.elementwise.comparison_and_select import equal, logical_and, where
from gpugraph.ops.elementwise.division import div_no_nan
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.argmax_and_argmin import argmax, argmin
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_sum

_ALL = ("tp", "fn", "tn", "fp")
# The first and the last threshold lie this far outside [0, 1], so that every prediction is between
# thresholds.
_BEYOND = 1e-7
_EPSILON = 1e-6
_METHODS = ("trapezoidal", "careful_interpolation", "minoring", "majoring")


def even_thresholds(count: int) -> list[float]:
    """Return `count` evenly spaced thresholds, from slightly below 0 to slightly above 1."""
    count = whole_number("num_thresholds", count)
    inner = [(i + 1) / (count - 1) for i in range(count - 2)]
    return [0.0 - _BEYOND, *inner, 1.0 + _BEYOND]


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Pair:
    """Return (weighted area under a curve, update). The curve has a point for each threshold.

    Raises ValueError if `curve` or `summation_method` is not one of the values below. A run raises
    InvalidArgumentError if a prediction is outside of [0, 1].

    Args:
      predictions: numbers from 0 to 1.
      num_thresholds: the number of evenly spaced thresholds, which is used unless `thresholds` is
        passed.
      thresholds: a list of thresholds between 0 and 1. Two thresholds are added, one slightly below
        0 and one slightly above 1.
      curve: "ROC" (true positive rate over false positive rate) or "PR" (precision over recall).
      summation_method: the height of the area between two neighboring points: the mean of their
        heights ("trapezoidal"), the smaller one ("minoring") or the larger one ("majoring"). For
        "PR", only "careful_interpolation" is unbiased.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method not in _METHODS:
        raise ValueError(
            f"Invalid summation_method: {summation_method}; it is one of {', '.join(_METHODS)}"
        )
    with variable_scope(name, "auc", [labels, predictions, weights]):
        chosen = even_thresholds(num_thresholds)
        if thresholds is not None:
            chosen = [0.0 - _BEYOND, *sorted(thresholds), 1.0 + _BEYOND]
        values, updates = counts_at(labels, predictions, chosen, weights, _ALL)
        area = partial(_area, curve=curve, method=summation_method)
        value, update = measure_both(area, (values,), (updates,))
        return collect(value, update, metrics_collections, updates_collections)


def _area(counts: Counts, curve: str, method: str, name: str) -> Tensor:
    tp, fn, tn, fp = (counts[kind] for kind in _ALL)
    if curve == "PR" and method == "careful_interpolation":
        return careful_area(tp, fp, fn)
    recall = (tp + _EPSILON) / (tp + fn + _EPSILON)
    if curve == "ROC":
        x, y = fp / (fp + tn + _EPSILON), recall
    else:
        x, y = recall, (tp + _EPSILON) / (tp + fp + _EPSILON)
    return area_under(x, y, method, name)


def area_under(x: Any, y: Any, method: str, name: str | None = None) -> Tensor:
    """Return the area under a curve through points of decreasing x. For `method`, see `auc`."""
    widths, left, right = x[:-1] - x[1:], y[:-1], y[1:]
    if method == "minoring":
        heights = minimum(left, right)
    elif method == "majoring":
        heights = maximum(left, right)
    else:
        heights = (left + right) / 2.0
    return reduce_sum(multiply(widths, heights), name=name)


def careful_area(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
    """Return the area under the curve of precision over recall, from the counts at each threshold.

    Between two thresholds, tp is interpolated linearly in tp + fp (Davis and Goadrich 2006, The
    relationship between Precision-Recall and ROC curves).

    Args:
      tp, fp, fn: vectors of the numbers of true positives, false positives and false negatives.
    """
    gained = tp[:-1] - tp[1:]
    positives = tp + fp
    slope = div_no_nan(gained, maximum(positives[:-1] - positives[1:], 0), name="prec_slope")
    intercept = tp[1:] - multiply(slope, positives[1:])
    ratio = where(
        logical_and(positives[:-1] > 0, positives[1:] > 0),
        div_no_nan(positives[:-1], maximum(positives[1:], 0), name="recall_relative_ratio"),
        ones_like(positives[1:]),
    )
    parts = div_no_nan(
        slope * (gained + intercept * log(ratio)),
        maximum(tp[1:] + fn[1:], 0),
        name="pr_auc_increment",
    )
    return reduce_sum(parts, name="interpolate_pr_auc")


@metric
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    name: str | None = None,
) -> Pair:
    """Return (recall at the threshold at which the specificity is nearest to `specificity`,
    update).

    Raises ValueError for a specificity outside of [0, 1].
    """
    _check_part("specificity", specificity)

    def measure(tp: Any, fn: Any, tn: Any, fp: Any, name: str) -> Tensor:
        distance = absolute(tn / (tn + fp + _BEYOND) - specificity)
        nearest = cast(argmin(distance, 0), dtypes.int32)
        return _divide(tp[nearest], tp[nearest] + fn[nearest] + _BEYOND, name)

    with variable_scope(name, "sensitivity_at_specificity", [predictions, labels, weights]):
        return _point(measure, labels, predictions, weights, num_thresholds)


@metric
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    name: str | None = None,
) -> Pair:
    """Return (specificity at the threshold at which the recall is nearest to `sensitivity`,
    update).

    Among equally near thresholds, the highest is used. Raises ValueError for a sensitivity outside
    of [0, 1].
    """
    _check_part("sensitivity", sensitivity)

    def measure(tp: Any, fn: Any, tn: Any, fp: Any, name: str) -> Tensor:
        distance = absolute(tp / (tp + fn + _BEYOND) - sensitivity)
        nearest = equal(distance, -reduce_max(-distance))
        last = _last_true(nearest, num_thresholds)
        return _divide(tn[last], tn[last] + fp[last] + _BEYOND, name)

    with variable_scope(name, "specificity_at_sensitivity", [predictions, labels, weights]):
        return _point(measure, labels, predictions, weights, num_thresholds)


def _divide(part: Any, whole: Any, name: str) -> Tensor:
    return multiply(part, 1.0 / whole, name=name)


def _last_true(which: Tensor, count: int) -> Tensor:
    numbers = convert_to_tensor(list(range(count)))
    return cast(argmax(cast(which, dtypes.int32) * (numbers + 1), 0), dtypes.int32)


def _check_part(name: str, value: float) -> None:
    if not 0 <= real_number(name, value) <= 1:
        raise ValueError(f"`{name}` must be in the range [0, 1], but it is {value}")


def _point(
    measure: Callable[..., Tensor], labels: Any, predictions: Any, weights: Any, count: int
) -> Pair:
    values, updates = counts_at(labels, predictions, even_thresholds(count), weights, _ALL)
    return measure_both(measure, [values[kind] for kind in _ALL], [updates[kind] for kind in _ALL])
