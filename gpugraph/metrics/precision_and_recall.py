"""Counts of right and wrong, and what is made of them: precision and recall."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.metrics.metric_variables import Pair, alike, collected, keep, paired, weighed
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.comparison_and_select import equal, greater, logical_and, where
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.state.reference_variable_ops import assign_add
from gpugraph.variable_scope import variable_scope


def _bools(labels: Any, predictions: Any, weights: Any) -> tuple[Any, Any, Any]:
    found = cast(predictions, dtypes.bool)
    return cast(labels, dtypes.bool), found, weights


def _counted(
    kind: str,
    label: bool,
    prediction: bool,
    given: tuple[Any, Any, Any],
    name: str | None,
    values_to: Any = None,
    updates_to: Any = None,
) -> Pair:
    """How often (labels, predictions, weights) are this label and this prediction."""
    with variable_scope(name, kind, list(given)):
        wanted, found, factors = alike(*_bools(*given))
        hits = logical_and(equal(wanted, label), equal(found, prediction))
        count = keep("count")
        update = assign_add(count, reduce_sum(weighed(hits, factors)))
        return collected(identity(count), update, values_to, updates_to)


def true_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(how often both are true, update), weighted. Labels and predictions become bools."""
    given = (labels, predictions, weights)
    to = metrics_collections, updates_collections
    return _counted("true_positives", True, True, given, name, *to)


def true_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(how often both are false, update), weighted. Labels and predictions become bools."""
    given = (labels, predictions, weights)
    to = metrics_collections, updates_collections
    return _counted("true_negatives", False, False, given, name, *to)


def false_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(how often only the prediction is true, update), weighted. Both become bools."""
    given = (labels, predictions, weights)
    to = metrics_collections, updates_collections
    return _counted("false_positives", False, True, given, name, *to)


def false_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(how often only the label is true, update), weighted. Both become bools."""
    given = (labels, predictions, weights)
    to = metrics_collections, updates_collections
    return _counted("false_negatives", True, False, given, name, *to)


def _part(right: Tensor, wrong: Tensor, name: str) -> Tensor:
    """right / (right + wrong); 0 of none."""
    return where(greater(right + wrong, 0), right / (right + wrong), 0, name=name)


def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(which part of what is predicted true is true, update), weighted; 0 of none."""
    with variable_scope(name, "precision", [predictions, labels, weights]):
        given = _bools(labels, predictions, weights)
        right = _counted("true_positives", True, True, given, None)
        wrong = _counted("false_positives", False, True, given, None)
        values, updates = zip(right, wrong)
        return paired(_part, values, updates, metrics_collections, updates_collections)


def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(which part of what is true is predicted so, update), weighted; 0 of none."""
    with variable_scope(name, "recall", [predictions, labels, weights]):
        given = _bools(labels, predictions, weights)
        right = _counted("true_positives", True, True, given, None)
        wrong = _counted("false_negatives", True, False, given, None)
        values, updates = zip(right, wrong)
        return paired(_part, values, updates, metrics_collections, updates_collections)
