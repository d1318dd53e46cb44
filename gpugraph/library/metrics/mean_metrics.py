"""Means over all batches: means of values, of errors, and of correct predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.metrics.metric_variables import (
    Pair,
    alike,
    binary_metric,
    keep,
    measure_both,
    metric,
    over_replicas,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones, ones_like
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import (
    maximum,
    multiply,
    squared_difference,
    subtract,
)
from gpugraph.ops.elementwise.comparison_and_select import equal, less
from gpugraph.ops.elementwise.division import div_no_nan
from gpugraph.ops.elementwise.unary_functions import abs as absolute, sqrt
from gpugraph.ops.framework.identity_and_shape import size
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.loss_weights import broadcast_weights, squeezed_weights
from gpugraph.ops.reductions.reduction_functions import reduce_mean, reduce_sum
from gpugraph.ops.state.reference_variable_ops import assign_add
from gpugraph.ops.state.scatter_updates import scatter_add


def _quotient(total: Any, count: Any, name: str | None = None) -> Tensor:
    """Return total / count. If the count is 0, return 0."""
    return div_no_nan(total, maximum(count, 0), name=name)


def _weighted(values: Tensor, weights: Any) -> tuple[Tensor, Tensor]:
    """Return (values multiplied by weights, weights broadcast to the shape of the values)."""
    weights = cast(squeezed_weights(weights, values), dtypes.float32)
    weights = broadcast_weights(weights, values)
    return multiply(values, weights), weights


@metric
def mean(values: Any, weights: Any = None, name: str | None = None) -> Pair:
    """Return (the weighted mean of all values so far, update). The mean is 0 before the first
    update.

    A run of `update` adds a batch and returns the new mean. Raises ValueError for weights of an
    incompatible shape.

    Args:
      weights: a number, or a tensor of the rank of `values`. Each size of it equals the size of
        `values` or is 1.
      name: the scope of the metric's local variables `total` and `count`.

    >>> value, update = tf.metrics.mean([1.0, 3.0])
    >>> session.run(tf.local_variables_initializer())
    >>> session.run(update)
    np.float32(2.0)
    """
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        total, count = keep("total"), keep("count")
        if weights is None:
            batch_count = cast(size(values), dtypes.float32)
        else:
            values, weights = _weighted(values, weights)
            batch_count = reduce_sum(weights)
        return _add_batch(total, count, reduce_sum(values), batch_count, values)


@metric
def mean_tensor(values: Any, weights: Any = None, name: str | None = None) -> Pair:
    """Return (mean, update) for each element of `values` separately. See `mean`.

    Raises ValueError if the shape of `values` is unknown.
    """
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        shape = values.shape.as_list()
        total, count = keep("total_tensor", shape), keep("count_tensor", shape)
        batch_count = ones_like(values)
        if weights is not None:
            values, weights = _weighted(values, weights)
            batch_count = multiply(batch_count, weights)
        return _add_batch(total, count, values, batch_count, values)


def _add_batch(total: Any, count: Any, batch_total: Any, batch_count: Any, values: Tensor) -> Pair:
    """Return the mean of all batches so far, and a tensor that adds this batch to it.

    The count is updated after `values` are computed, so that a failure leaves it unchanged.

    Args:
      total, count: the metric's variables.
      batch_total, batch_count: the amounts to add.
    """
    graph = get_default_graph()
    new_total = assign_add(total, batch_total)
    with graph.control_dependencies([values]):
        new_count = assign_add(count, batch_count)
    return measure_both(_quotient, (total, count), (new_total, new_count))


def _is_right(labels: Tensor, predictions: Tensor) -> Tensor:
    """Return 1.0 where predictions equal labels, otherwise 0.0."""
    if labels.dtype.base_dtype is not predictions.dtype.base_dtype:
        predictions = cast(predictions, labels.dtype.base_dtype)
    return cast(equal(predictions, labels), dtypes.float32)


def _mean_of(
    type_name: str, doc: str, measure: Callable[[Tensor, Tensor], Tensor]
) -> Callable[..., Pair]:
    """Return the metric that is the mean of `measure(labels, predictions)`."""

    def compute(labels: Any, predictions: Any, weights: Any, name: str | None) -> Pair:
        labels, predictions, weights = alike(labels, predictions, weights)
        return mean(measure(labels, predictions), weights, name=name or type_name)

    return binary_metric(type_name, doc, compute)


mean_absolute_error = _mean_of(
    "mean_absolute_error",
    "Return (mean of |predictions - labels|, update); see `mean`.",
    lambda labels, predictions: absolute(subtract(predictions, labels)),
)
mean_squared_error = _mean_of(
    "mean_squared_error",
    "Return (mean of (predictions - labels) ** 2, update); see `mean`.",
    squared_difference,
)
accuracy = _mean_of(
    "accuracy",
    "Return (the share of predictions that equal the labels, update); see `mean`.",
    _is_right,
)


@metric
def root_mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, name: str | None = None
) -> Pair:
    """Return (square root of `mean_squared_error`, update)."""
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, name=name)
    return over_replicas(lambda error, name: sqrt(error), value), sqrt(update)


@metric
def mean_relative_error(
    labels: Any, predictions: Any, normalizer: Any, weights: Any = None, name: str | None = None
) -> Pair:
    """Return (mean of |labels - predictions| / normalizer, update). See `mean`.

    The quotient is 0 where the normalizer is 0.
    """
    labels, predictions, weights = alike(labels, predictions, weights)
    normalizer = convert_to_tensor(normalizer, predictions.dtype.base_dtype)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = div_no_nan(absolute(subtract(labels, predictions)), normalizer)
    name = name or "mean_relative_error"
    return mean(errors, weights, name=name)


@metric
def mean_cosine_distance(
    labels: Any, predictions: Any, dim: int, weights: Any = None, name: str | None = None
) -> Pair:
    """Return (mean of 1 - sum over `dim` of labels * predictions, update). See `mean`."""
    labels, predictions, weights = alike(labels, predictions, weights)
    distances = reduce_sum(multiply(predictions, labels), axis=[dim], keepdims=True)
    name = name or "mean_cosine_distance"
    value, update = mean(distances, weights, name=name)
    return subtract(1.0, value), subtract(1.0, update)


@metric
def percentage_below(
    values: Any, threshold: Any, weights: Any = None, name: str | None = None
) -> Pair:
    """Return (the fraction of values below `threshold`, update). See `mean`."""
    below = cast(less(values, threshold), dtypes.float32)
    name = name or "percentage_below_threshold"
    return mean(below, weights, name=name)


@metric
def mean_per_class_accuracy(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, name: str | None = None
) -> Pair:
    """Return (mean over classes of the accuracy of each class, update).

    The update returns the vector of the accuracies of all classes.

    Args:
      labels, predictions: class indices below `num_classes`, of any shape.
      weights: a tensor of the shape of `labels`, or None.
    """
    with variable_scope(name, "mean_accuracy", [predictions, labels, weights]):
        labels, predictions, weights = alike(cast(labels, dtypes.int64), predictions, weights)
        labels, predictions = _flat(labels), _flat(predictions)
        total, count = keep("total", [num_classes]), keep("count", [num_classes])
        counts = ones([size(labels)], dtypes.float32)
        is_right = _is_right(*alike(labels, predictions)[:2])
        if weights is not None:
            weights = _flat(cast(weights, dtypes.float32))
            counts, is_right = multiply(counts, weights), multiply(is_right, weights)
        new_total = scatter_add(total, labels, counts)
        new_count = scatter_add(count, labels, is_right)
        value = over_replicas(
            lambda right, seen, name: reduce_mean(_quotient(right, seen), name="mean_accuracy"),
            count,
            total,
        )
        update = _quotient(new_count, new_total, name="update_op")
        return value, update


def _flat(tensor: Tensor) -> Tensor:
    return tensor if tensor.shape.rank == 1 else reshape(tensor, [-1])
