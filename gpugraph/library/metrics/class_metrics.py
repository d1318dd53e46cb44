"""Metrics of classes: mean intersection over union (from a confusion matrix), and precision and
recall of the top k classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.named_function import named
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.metrics.metric_variables import (
    Pair,
    alike,
    keep,
    metric,
    over_replicas,
    total_of,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.elementwise.arithmetic_functions import minimum, multiply
from gpugraph.ops.elementwise.comparison_and_select import (
    equal,
    greater,
    greater_equal,
    logical_and,
    logical_not,
    not_equal,
    where,
)
from gpugraph.ops.elementwise.division import div_no_nan
from gpugraph.ops.framework.identity_and_shape import identity, size
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.coordinate_gather_scatter import scatter_nd
from gpugraph.ops.indexing.top_k import top_k
from gpugraph.ops.nn.losses.loss_weights import broadcast_weights
from gpugraph.ops.reductions.ranges_and_running_sums import cumsum
from gpugraph.ops.reductions.reduction_functions import reduce_any, reduce_sum
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_to_dense
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, expect_sparse
from gpugraph.ops.state.reference_variable_ops import assign_add


@metric
def mean_iou(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, name: str | None = None
) -> Pair:
    """Return (mean over classes of intersection over union, update of the confusion matrix).

    Classes that occur neither in labels nor in predictions are ignored. A run raises
    InvalidArgumentError for a label or prediction that is not a class index.

    Args:
      labels, predictions: class indices below `num_classes`, of any shape.
      weights: a tensor of the shape of `labels`, or None.
    """
    with variable_scope(name, "mean_iou", [predictions, labels, weights]):
        labels, predictions, weights = alike(labels, predictions, weights)
        total = keep("total_confusion_matrix", [num_classes, num_classes], dtypes.float64)
        update = assign_add(total, confusions_of(labels, predictions, weights, num_classes))
        value = over_replicas(lambda merged, name: mean_overlap(merged, num_classes), total)
        return value, update


def confusions_of(labels: Any, predictions: Any, weights: Any, num_classes: int) -> Tensor:
    """Return a float64 confusion matrix: the weighted number of elements for each label (row) and
    prediction (column).
    """
    labels, predictions = (
        reshape(cast(classes, dtypes.int64), [-1]) for classes in (labels, predictions)
    )
    counts = cast(ones_like(predictions), dtypes.float64)
    if weights is not None:
        counts = reshape(cast(weights, dtypes.float64), [-1])
    indices = stack([labels, predictions], axis=1)
    return scatter_nd(indices, counts, np.array([num_classes, num_classes], np.int64))


def mean_overlap(confusions: Any, num_classes: int) -> Tensor:
    """Return the mean intersection over union of the classes in a confusion matrix.

    The union of a class is the weighted number of elements that have the class as label or as
    prediction. Classes with an empty union are ignored.
    """
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


def _at_k(kind: str, wrong: str, doc: str) -> Callable[..., Pair]:
    """Return the metric `kind`_at_k, which uses the `k` largest predictions of each row.

    Args:
      kind: "recall" or "precision".
      wrong: the name of the variable that counts misses.
      doc: the metric's docstring.
    """

    @metric
    @named(f"{kind}_at_k", doc)
    def compute(
        labels: Any,
        predictions: Any,
        k: int,
        class_id: int | None = None,
        weights: Any = None,
        name: str | None = None,
    ) -> Pair:
        with _scope(name, kind, k, class_id, [predictions, labels, weights]):
            first = top_k(predictions, k).indices
            return _quotient(kind, wrong, labels, first, k, class_id, weights)

    return compute


def _at_top_k(kind: str, wrong: str) -> Callable[..., Pair]:
    """Return the metric `kind`_at_top_k, which receives the top k classes instead of predictions.

    Args:
      kind: "recall" or "precision".
      wrong: the name of the variable that counts misses.
    """

    @metric
    @named(
        f"{kind}_at_top_k",
        f"Return `{kind}_at_k` of selected predictions: classes [..., k], the best one first.",
    )
    def compute(
        labels: Any,
        predictions_idx: Any,
        k: int | None = None,
        class_id: int | None = None,
        weights: Any = None,
        name: str | None = None,
    ) -> Pair:
        with _scope(name, kind, k, class_id, [predictions_idx, labels, weights]):
            return _quotient(kind, wrong, labels, predictions_idx, k, class_id, weights)

    return compute


recall_at_k = _at_k(
    "recall",
    "false_negative",
    """Return (the share of the labels among the `k` largest predictions, update), weighted.

    labels: classes [..., number of labels], or [...] if there is one each; or a SparseTensor
      [..., number of labels].
    predictions: floats [..., classes].
    class_id: the only class that is counted, by default all classes.
    weights: [...], or 1 if the same weight applies to all.

    The value is NaN before the first label.
    """,
)
precision_at_k = _at_k(
    "precision",
    "false_positive",
    """Return (the share of the `k` largest predictions that are labels, update), weighted.

    Everything else is as in `recall_at_k`.
    """,
)
recall_at_top_k = _at_top_k("recall", "false_negative")
precision_at_top_k = _at_top_k("precision", "false_positive")


def _name_suffix(k: int | None, class_id: int | None) -> str:
    rank = "at_k" if k is None else f"at_{k}"
    return rank if class_id is None else f"{rank}_class{class_id}"


def _scope(
    name: str | None, kind: str, k: int | None, class_id: int | None, values: list[Any]
) -> variable_scope:
    return variable_scope(name, f"{kind}_{_name_suffix(k, class_id)}", values)


_NO_LABEL = np.int64(-(2**63))
"""The number that fills the ends of rows, if sparse labels have rows of different lengths."""


def _labels(labels: Any, first: Tensor) -> tuple[Tensor, bool]:
    """Return labels as [..., number of labels], and whether they may be padded with `_NO_LABEL`.

    Raises ValueError if the ranks of labels and classes do not match.

    Args:
      first: the top k classes, [..., k].
    """
    is_sparse = isinstance(labels, (SparseTensor, SparseTensorValue))
    if is_sparse:
        source = expect_sparse(labels)
        wide = SparseTensor(source.indices, cast(source.values, dtypes.int64), source.dense_shape)
        dense = sparse_tensor_to_dense(wide, _NO_LABEL)
    else:
        dense = cast(convert_to_tensor(labels), dtypes.int64)
    rank, labels_rank = first.shape.rank, dense.shape.rank
    if rank is not None and labels_rank is not None:
        if labels_rank not in (rank, rank - 1):
            raise ValueError(
                f"Unexpected labels shape {dense.shape} for predictions shape {first.shape}. "
                "Predictions rank should be the same rank as labels rank or labels rank plus one."
            )
        if rank < 2:
            raise ValueError(
                f"Shape must be at least rank 2 but is rank {rank}: predictions {first.shape}"
            )
        if labels_rank < rank:
            dense = expand_dims(dense, -1)
    return dense, is_sparse


def _quotient(
    kind: str,
    wrong: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
) -> Pair:
    """Return hits / (hits + misses) over all batches so far, and its update.

    Args:
      kind: "recall" or "precision", which determines the misses (see `_hits_and_misses`).
      wrong: the name of the variable that counts misses.
    """
    suffix = _name_suffix(k, class_id)
    first = cast(convert_to_tensor(predictions_idx), dtypes.int64)
    hits, misses = _hits_and_misses(*_labels(labels, first), first, kind == "recall", class_id)
    if weights is not None:
        factors = broadcast_weights(cast(weights, dtypes.float64), hits)
        hits, misses = multiply(hits, factors), multiply(misses, factors)
    right = keep(f"true_positive_{suffix}", (), dtypes.float64)
    missed = keep(f"{wrong}_{suffix}", (), dtypes.float64)
    updates = [
        assign_add(total, reduce_sum(counts)) for total, counts in ((right, hits), (missed, misses))
    ]
    value = over_replicas(
        lambda hits, misses, name: raw_ops.RealDiv(identity(hits), raw_ops.Add(hits, misses)),
        right,
        missed,
    )
    return value, raw_ops.RealDiv(updates[0], raw_ops.Add(*updates), name="update")


def _hits_and_misses(
    labels: Tensor, may_be_none: bool, first: Tensor, by_label: bool, class_id: int | None
) -> tuple[Any, Any]:
    """Count hits and misses for each example of the batch.

    Hits are elements of `first` that are labels. Misses are elements of `first` that are not
    labels. If `by_label` is true, misses are instead labels that are not in `first`.

    Args:
      may_be_none: whether labels may be padded with `_NO_LABEL`.
      first: the top k classes, [..., k].
      class_id: the only class to count, or None.
    """
    pairs = equal(expand_dims(first, -1), expand_dims(labels, -2))  # [..., k, labels]
    is_label = reduce_any(pairs, -1)
    counts = is_label
    missed, all_of = logical_not(is_label), first
    if by_label:
        missed, all_of = logical_not(reduce_any(pairs, -2)), labels
        if may_be_none:
            missed = logical_and(missed, not_equal(labels, _NO_LABEL))
    if class_id is not None:
        class_id = whole_number("class_id", class_id)
        counts = logical_and(counts, equal(first, np.int64(class_id)))
        missed = logical_and(missed, equal(all_of, np.int64(class_id)))
    hits, misses = (reduce_sum(cast(flags, dtypes.float64), -1) for flags in (counts, missed))
    return hits, misses


# -- average precision over ranks


@metric
def average_precision_at_k(
    labels: Any, predictions: Any, k: int, weights: Any = None, name: str | None = None
) -> Pair:
    """Return (weighted mean over examples of the average precision up to rank `k`, update).

    The average precision of an example is the sum of the precisions at the ranks of its labels,
    divided by the number of its nonnegative labels or by k, whichever is smaller. Before the first
    update, the mean is 0.

    Args:
      labels: classes [..., number of labels], or [...] if each example has one label. They may also
        be a SparseTensor.
      predictions: floats [..., classes].
      weights: [...]. A size may be 1 if a weight applies to a whole axis.
    """
    with variable_scope(name, f"average_precision_at_{k}", [predictions, labels, weights]):
        first = cast(top_k(predictions, k).indices, dtypes.int64)
        return _mean_average_precision(labels, first, k, weights)


@metric
def average_precision_at_top_k(
    labels: Any, predictions_idx: Any, weights: Any = None, name: str | None = None
) -> Pair:
    """Return the result of `average_precision_at_k` for the indices of the top k predictions, [...,
    k], in descending order.

    Raises ValueError if k is unknown.
    """
    k = convert_to_tensor(predictions_idx).shape[-1].value
    if k is None:
        raise ValueError("The last dimension of the predictions must be set.")
    with variable_scope(name, "average_precision_at_top_k", [predictions_idx, labels, weights]):
        return _mean_average_precision(labels, cast(predictions_idx, dtypes.int64), k, weights)


def _mean_average_precision(labels: Any, first: Tensor, k: int, weights: Any) -> Pair:
    averages = _averages(_labels(labels, first)[0], first, k)
    count = cast(size(averages), dtypes.float64)
    if weights is not None:
        factors = broadcast_weights(cast(weights, dtypes.float64), averages)
        averages, count = multiply(averages, factors), reduce_sum(factors)
    weight, total = (keep(variable, (), dtypes.float64) for variable in ("max", "total"))
    new_weight, new_total = assign_add(weight, count), assign_add(total, reduce_sum(averages))
    value = div_no_nan(total_of(total), total_of(weight), name="mean")
    update = div_no_nan(new_total, new_weight, name="update")
    return value, update


def _averages(labels: Tensor, first: Tensor, k: int) -> Tensor:
    """Return the average precision of each example. It is NaN for an example without labels.

    Args:
      first: the top k classes, [..., k].
    """
    is_label = reduce_any(equal(expand_dims(first, -1), expand_dims(labels, -2)), -1)
    relevant = cast(is_label, dtypes.float64)
    precisions = cumsum(relevant, axis=-1) / np.arange(1.0, k + 1)
    total = reduce_sum(multiply(precisions, relevant), -1)
    there = cast(greater_equal(labels, np.int64(0)), dtypes.float64)
    return total / minimum(reduce_sum(there, -1), np.float64(k))
