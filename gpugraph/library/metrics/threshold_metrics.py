"""Metrics of predictions from 0 to 1 at thresholds. A prediction above the threshold is
positive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.named_function import named
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.metrics.metric_variables import (
    Pair,
    alike,
    keep,
    measure_both,
    metric,
    total_of,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import multiply
from gpugraph.ops.elementwise.comparison_and_select import greater, logical_and, logical_not
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.nn.losses.loss_weights import broadcast_weights
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.state.reference_variable_ops import assign_add

Counts = dict[str, Any]
"""A mapping from "tp", "fn", "tn" and "fp" (true positives, ...) to vectors with a count for each
threshold.
"""

NAMES = {
    "tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives",
    "fp": "false_positives",
}  # fmt: skip
"""The names of the variables with the counts."""

_EPSILON = 1e-7


def counts_at(
    labels: Any, predictions: Any, thresholds: Any, weights: Any, kinds: Sequence[str]
) -> tuple[Counts, Counts]:
    """Return the counts of these kinds of predictions over all batches so far, and their updates.

    Raises ValueError if `thresholds` is not a list of numbers. A run raises InvalidArgumentError
    for predictions outside of [0, 1].

    Args:
      kinds: some of "tp", "fn", "tn", "fp" (true positives, false negatives and so on).
    """
    thresholds = constant_array(thresholds, dtypes.float32)
    if thresholds.ndim != 1:
        raise ValueError(f"thresholds must be a list of numbers, not {thresholds.tolist()}")
    graph = get_default_graph()
    labels, predictions, weights = alike(
        cast(labels, dtypes.bool), cast(predictions, dtypes.float32), weights
    )
    with graph.control_dependencies([check_range(predictions)]):
        row = reshape(predictions, [1, -1])
    if weights is not None:
        weights = broadcast_weights(cast(weights, dtypes.float32), predictions)
    hits = hits_at(labels, row, thresholds, weights, kinds)
    values, updates = {}, {}
    for kind in kinds:
        count = keep(NAMES[kind], [len(thresholds)])
        values[kind] = total_of(count)
        updates[kind] = assign_add(count, hits[kind])
    return values, updates


def hits_at(
    labels: Any, predictions: Tensor, thresholds: Any, weights: Any, kinds: Sequence[str]
) -> Counts:
    """Return the weighted counts of these kinds of predictions in one batch, at each threshold.

    Args:
      labels: a bool tensor.
      weights: None, or a tensor of the shape of the labels.
      thresholds: an array.
    """
    is_true = reshape(labels, [1, -1])
    is_above = greater(reshape(predictions, [1, -1]), constant(thresholds[:, None]))
    is_false = logical_not(is_true)
    hits = {}
    for kind in kinds:
        label = is_true if kind in ("tp", "fn") else is_false
        predicted = is_above if kind[1] == "p" else logical_not(is_above)
        counted = cast(logical_and(label, predicted), dtypes.float32)
        if weights is not None:
            counted = multiply(counted, reshape(weights, [1, -1]))
        hits[kind] = reduce_sum(counted, 1)
    return hits


def check_range(predictions: Tensor) -> Any:
    """Return an operation that raises InvalidArgumentError in a run unless all predictions are in
    [0, 1].
    """
    inside = logical_and(
        raw_ops.GreaterEqual(predictions, np.float32(0)),
        raw_ops.LessEqual(predictions, np.float32(1)),
    )
    every = raw_ops.All(inside, raw_ops.Range(0, raw_ops.Rank(inside), 1))
    return raw_ops.Assert(every, ["predictions must be in [0, 1]", predictions.name, predictions])


def _metric(
    type_name: str,
    scope: str,
    kinds: Sequence[str],
    summary: str,
    measure: Callable[[Counts, str], Any],
) -> Callable[..., Pair]:
    """Return the metric that computes `measure(counts, name)` from the counts of `kinds`.

    Args:
      type_name: the metric's name.
      scope: the metric's name scope.
      summary: the description of the result, for the docstring.
    """

    @metric
    @named(type_name, f"Return ({summary}, update), weighted.")
    def compute(
        labels: Any, predictions: Any, thresholds: Any, weights: Any = None, name: str | None = None
    ) -> Pair:
        with variable_scope(name, scope, [predictions, labels, weights]):
            values, updates = counts_at(labels, predictions, thresholds, weights, kinds)
            return measure_both(measure, (values,), (updates,))

    return compute


def _count_metric(kind: str, summary: str) -> Callable[..., Pair]:
    scope = NAMES[kind]

    def measure(counts: Counts, name: str) -> Any:
        return counts[kind]

    return _metric(f"{scope}_at_thresholds", scope, [kind], f"the number of {summary}", measure)


def _quotient_metric(word: str, wrong: str, summary: str) -> Callable[..., Pair]:
    def measure(counts: Counts, name: str) -> Tensor:
        total = _EPSILON + counts["tp"] + counts[wrong]
        return raw_ops.RealDiv(counts["tp"], total, name=f"{word}_{name}")

    name = f"{word}_at_thresholds"
    return _metric(name, name, ["tp", wrong], f"the share of {summary}", measure)


true_positives_at_thresholds = _count_metric(
    "tp", "true labels with a prediction above each threshold"
)
true_negatives_at_thresholds = _count_metric(
    "tn", "false labels without a prediction above each threshold"
)
false_positives_at_thresholds = _count_metric(
    "fp", "false labels with a prediction above each threshold"
)
false_negatives_at_thresholds = _count_metric(
    "fn", "true labels without a prediction above each threshold"
)
precision_at_thresholds = _quotient_metric(
    "precision", "fp", "true labels among predictions above each threshold"
)
recall_at_thresholds = _quotient_metric(
    "recall", "fn", "predictions above each threshold among true labels"
)
