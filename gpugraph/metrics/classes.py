"""Metrics of classes: overlap by a matrix of confusions, and labels among the first k."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph import dtypes
from gpugraph.graph.tensor import Tensor
from gpugraph.metrics.keeping import Pair, alike, collected, keep
from gpugraph.ops.arithmetic_functions import multiply
from gpugraph.ops.array_shapes import expand_dims, reshape
from gpugraph.ops.arrays import identity
from gpugraph.ops.casting import cast
from gpugraph.ops.constants import ones_like
from gpugraph.ops.convert import convert_to_tensor
from gpugraph.ops.declare import raw_ops
from gpugraph.ops.joining import stack
from gpugraph.ops.logical import equal, greater, logical_and, logical_not, not_equal, where
from gpugraph.ops.ranking import top_k
from gpugraph.ops.reduction_functions import reduce_any, reduce_sum
from gpugraph.ops.scattering import scatter_nd
from gpugraph.ops.state import assign_add
from gpugraph.ops.weights import broadcast_weights
from gpugraph.variable_scope import variable_scope

__all__ = ["mean_iou", "precision_at_k", "recall_at_k"]


def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(mean over classes of intersection over union, update); the update gives the confusions.

    labels, predictions: classes below `num_classes`, of any shape; weights: of the same shape.
    Classes that neither labels nor predictions have do not count. InvalidArgumentError in a run
    for what is no class.
    """
    with variable_scope(name, "mean_iou", [predictions, labels, weights]):
        wanted, found, factors = alike(labels, predictions, weights)
        wanted, found = (reshape(cast(each, dtypes.int64), [-1]) for each in (wanted, found))
        number = cast(ones_like(found), dtypes.float64)
        if factors is not None:
            number = reshape(cast(factors, dtypes.float64), [-1])
        size = [num_classes, num_classes]
        total = keep("total_confusion_matrix", size, dtypes.float64)
        places = stack([wanted, found], axis=1)
        batch = scatter_nd(places, number, np.array(size, np.int64))
        update = assign_add(total, batch)
        value = _overlap(total, num_classes)
        return collected(value, update, metrics_collections, updates_collections)


def _overlap(confusions: Any, num_classes: int) -> Tensor:
    """The mean over classes that occur of: right ones by all that are or are said to be."""
    rows = cast(reduce_sum(confusions, 0), dtypes.float32)
    columns = cast(reduce_sum(confusions, 1), dtypes.float32)
    diagonal = multiply(confusions, np.eye(num_classes))
    right = cast(reduce_sum(diagonal, 0), dtypes.float32)
    union = rows + columns - right
    occurring = reduce_sum(cast(not_equal(union, 0), dtypes.float32))
    safe = where(greater(union, 0), union, ones_like(union))
    total = reduce_sum(right / safe, name="mean_iou")
    return where(greater(occurring, 0), total / occurring, 0)


# -- labels among the k largest predictions


def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(which part of the labels is among the `k` largest predictions, update), weighted.

    labels: classes [..., number of labels], or [...] where there is one each; dense only.
    predictions: floats [..., classes].
    class_id: the only class that counts, by default all.
    weights: [...], or 1 where the same weight is for all.

    NaN before there is any label.
    """
    given = (labels, predictions, k, class_id, weights)
    to = metrics_collections, updates_collections
    return _at_k("recall", "false_negative", given, name, to)


def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(which part of the `k` largest predictions are labels, update), weighted.

    All else as of `recall_at_k`.
    """
    given = (labels, predictions, k, class_id, weights)
    to = metrics_collections, updates_collections
    return _at_k("precision", "false_positive", given, name, to)


def _at_k(kind: str, wrong: str, given: Any, name: str | None, to: tuple[Any, Any]) -> Pair:
    labels, predictions, k, class_id, weights = given
    ending = f"at_{k}" if class_id is None else f"at_{k}_class{class_id}"
    with variable_scope(name, f"{kind}_{ending}", [predictions, labels, weights]):
        first = cast(top_k(predictions, k).indices, dtypes.int64)
        wanted = cast(convert_to_tensor(labels), dtypes.int64)
        if wanted.shape.rank == (first.shape.rank or 0) - 1:
            wanted = expand_dims(wanted, -1)
        hits, misses = _found(wanted, first, kind == "recall", class_id)
        if weights is not None:
            factors = broadcast_weights(cast(weights, dtypes.float64), hits)
            hits, misses = multiply(hits, factors), multiply(misses, factors)
        right = keep(f"true_positive_{ending}", (), dtypes.float64)
        missed = keep(f"{wrong}_{ending}", (), dtypes.float64)
        updates = [
            assign_add(each, reduce_sum(by)) for each, by in ((right, hits), (missed, misses))
        ]
        value = raw_ops.RealDiv(identity(right), raw_ops.Add(right, missed))
        update = raw_ops.RealDiv(updates[0], raw_ops.Add(*updates), name="update")
        return collected(value, update, *to)


def _found(labels: Tensor, first: Tensor, by_label: bool, class_id: int | None) -> tuple[Any, Any]:
    """For each element of the batch: how many of `first` are labels, and how many of the labels
    (or of `first`) have no fellow.
    """
    pairs = equal(expand_dims(first, -1), expand_dims(labels, -2))  # [..., k, labels]
    is_label = reduce_any(pairs, -1)
    counts = is_label
    missed, all_of = logical_not(is_label), first
    if by_label:
        missed, all_of = logical_not(reduce_any(pairs, -2)), labels
    if class_id is not None:
        counts = logical_and(counts, equal(first, np.int64(class_id)))
        missed = logical_and(missed, equal(all_of, np.int64(class_id)))
    hits, misses = (reduce_sum(cast(each, dtypes.float64), -1) for each in (counts, missed))
    return hits, misses
