"""Numbers of correct and wrong predictions, and their quotients: precision and recall."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.metrics.metric_variables import (
    Pair,
    alike,
    apply_weights,
    binary_metric,
    keep,
    measure_both,
    total_of,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.comparison_and_select import equal, greater, logical_and, where
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.state.reference_variable_ops import assign_add


def _count(
    type_name: str,
    label: bool,
    prediction: bool,
    labels: Any,
    predictions: Any,
    weights: Any,
    name: str | None = None,
) -> Pair:
    """Return the weighted number of elements with this label and prediction, and its update."""
    with variable_scope(name, type_name, [labels, predictions, weights]):
        predictions = cast(predictions, dtypes.bool)
        labels, predictions, weights = alike(cast(labels, dtypes.bool), predictions, weights)
        hits = logical_and(equal(labels, label), equal(predictions, prediction))
        count = keep("count")
        update = assign_add(count, reduce_sum(apply_weights(hits, weights)))
        return total_of(count), update


def _count_metric(
    type_name: str, label: bool, prediction: bool, summary: str
) -> Callable[..., Pair]:
    """Return the metric that counts the elements with this label and this prediction.

    Args:
      summary: the description of the count, for the metric's docstring.
    """
    doc = f"Return ({summary}, update), weighted. Labels and predictions are cast to bool."
    return binary_metric(type_name, doc, partial(_count, type_name, label, prediction))


true_positives = _count_metric(
    "true_positives", True, True, "the count of label and prediction both true"
)
true_negatives = _count_metric(
    "true_negatives", False, False, "the count of label and prediction both false"
)
false_positives = _count_metric(
    "false_positives", False, True, "the count of only the prediction true"
)
false_negatives = _count_metric("false_negatives", True, False, "the count of only the label true")


def _quotient(right: Tensor, wrong: Tensor, name: str) -> Tensor:
    """Return right / (right + wrong), or 0 if both counts are 0."""
    return where(greater(right + wrong, 0), right / (right + wrong), 0, name=name)


def _quotient_metric(
    type_name: str, wrong_name: str, wrong_label: bool, summary: str
) -> Callable[..., Pair]:
    """Return the metric true positives / (true positives + wrong predictions).

    Args:
      wrong_name: the name of the variable that counts the wrong predictions.
      wrong_label: the label of the wrong predictions that are counted.
      summary: the description of the quotient, for the docstring.
    """

    def measure(labels: Any, predictions: Any, weights: Any, name: str | None) -> Pair:
        with variable_scope(name, type_name, [predictions, labels, weights]):
            predictions = cast(predictions, dtypes.bool)
            inputs = cast(labels, dtypes.bool), predictions, weights
            right = _count("true_positives", True, True, *inputs)
            wrong = _count(wrong_name, wrong_label, not wrong_label, *inputs)
            return measure_both(_quotient, *zip(right, wrong))

    return binary_metric(
        type_name, f"Return ({summary}, update), weighted; 0 without elements.", measure
    )


precision = _quotient_metric(
    "precision", "false_positives", False, "the share of true labels among true predictions"
)
recall = _quotient_metric(
    "recall", "false_negatives", True, "the share of true predictions among true labels"
)
