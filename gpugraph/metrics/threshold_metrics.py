"""Metrics of predictions from 0 to 1 by the thresholds from which they count as true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_stacks import graph_stack
from gpugraph.graph.client.tensor import Tensor
from gpugraph.metrics.metric_variables import Pair, alike, collected, keep
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import multiply
from gpugraph.ops.elementwise.comparison_and_select import greater, logical_and, logical_not
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.nn.losses.loss_weights import broadcast_weights
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.state.reference_variable_ops import assign_add
from gpugraph.variable_scope import variable_scope

Counts = dict[str, Any]
"""By "tp", "fn", "tn", "fp": how many there are at each threshold."""

_NAMES = {
    "tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives",
    "fp": "false_positives",
}  # fmt: skip
_EPSILON = 1e-7


def counts_at(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, kinds: Sequence[str]
) -> tuple[Counts, Counts]:
    """(counts so far, what updates them) of these kinds; InvalidArgumentError in a run for
    predictions that are not from 0 to 1.
    """
    graph: Graph = graph_stack.top()
    wanted, found, factors = alike(
        cast(labels, dtypes.bool), cast(predictions, dtypes.float32), weights
    )
    with graph.control_dependencies([_check_range(found)]):
        row = reshape(found, [1, -1])
    true = reshape(wanted, [1, -1])
    above = greater(row, constant(np.array(thresholds, np.float32)[:, None]))
    truth = {"t": true, "f": logical_not(true)}
    if factors is not None:
        spread = broadcast_weights(cast(factors, dtypes.float32), found)
        factors = reshape(spread, [1, -1])
    values, updates = {}, {}
    for kind in kinds:
        positive = kind[1] == "p"
        label = truth["t" if kind in ("tp", "fn") else "f"]
        count = keep(_NAMES[kind], [len(thresholds)])
        hits = cast(logical_and(label, above if positive else logical_not(above)), dtypes.float32)
        if factors is not None:
            hits = multiply(hits, factors)
        values[kind] = identity(count)
        updates[kind] = assign_add(count, reduce_sum(hits, 1))
    return values, updates


def _check_range(predictions: Tensor) -> Any:
    inside = logical_and(
        raw_ops.GreaterEqual(predictions, np.float32(0)),
        raw_ops.LessEqual(predictions, np.float32(1)),
    )
    every = raw_ops.All(inside, raw_ops.Range(0, raw_ops.Rank(inside), 1))
    return raw_ops.Assert(every, ["predictions must be in [0, 1]", predictions.name, predictions])


def _of_one(kind: str, given: Any, thresholds: Any, name: str | None, to: Any) -> Pair:
    labels, predictions, weights = given
    with variable_scope(name, _NAMES[kind], list(given)):
        values, updates = counts_at(labels, predictions, thresholds, weights, (kind,))
        return collected(values[kind], updates[kind], *to)


def true_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(how many true labels have a prediction above each threshold, update), weighted."""
    to = metrics_collections, updates_collections
    return _of_one("tp", (labels, predictions, weights), thresholds, name, to)


def true_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(how many false labels have no prediction above each threshold, update), weighted."""
    to = metrics_collections, updates_collections
    return _of_one("tn", (labels, predictions, weights), thresholds, name, to)


def false_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(how many false labels have a prediction above each threshold, update), weighted."""
    to = metrics_collections, updates_collections
    return _of_one("fp", (labels, predictions, weights), thresholds, name, to)


def false_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(how many true labels have no prediction above each threshold, update), weighted."""
    to = metrics_collections, updates_collections
    return _of_one("fn", (labels, predictions, weights), thresholds, name, to)


def _parts(wrong: str, word: str) -> Callable[[Counts, str], Tensor]:
    def measure(counts: Counts, name: str) -> Tensor:
        total = _EPSILON + counts["tp"] + counts[wrong]
        return raw_ops.RealDiv(counts["tp"], total, name=f"{word}_{name}")

    return measure


def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(which part of what is above each threshold is true, update), weighted."""
    with variable_scope(name, "precision_at_thresholds", [predictions, labels, weights]):
        values, updates = counts_at(labels, predictions, thresholds, weights, ("tp", "fp"))
        measure = _parts("fp", "precision")
        pair = measure(values, "value"), measure(updates, "update_op")
        return collected(*pair, metrics_collections, updates_collections)


def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(which part of what is true is above each threshold, update), weighted."""
    with variable_scope(name, "recall_at_thresholds", [predictions, labels, weights]):
        values, updates = counts_at(labels, predictions, thresholds, weights, ("tp", "fn"))
        measure = _parts("fn", "recall")
        pair = measure(values, "value"), measure(updates, "update_op")
        return collected(*pair, metrics_collections, updates_collections)
