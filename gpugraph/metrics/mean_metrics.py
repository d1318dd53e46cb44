"""Means over all batches: of values, of errors, and of what is right."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_stacks import graph_stack
from gpugraph.graph.client.tensor import Tensor
from gpugraph.metrics.metric_variables import Pair, alike, collected, keep, paired
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
from gpugraph.variable_scope import variable_scope


def _quotient(total: Any, count: Any, name: str | None = None) -> Tensor:
    """0 where nothing was counted."""
    return div_no_nan(total, maximum(count, 0), name=name)


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(mean, update): the mean of all values so far, weighted; 0 of none.

    weights: a number, or a tensor of the rank of the values, each size the same or 1.
    name: of the scope of its local variables `total` and `count`.

    To run `update` counts a batch, and gives the mean with it. ValueError for weights that do not
    fit.
    """
    graph: Graph = graph_stack.top()
    with variable_scope(name, "mean", [values, weights]):
        given = cast(values, dtypes.float32)
        total, count = keep("total"), keep("count")
        if weights is None:
            number = cast(size(given), dtypes.float32)
        else:
            factors = cast(squeezed_weights(weights, given), dtypes.float32)
            spread = broadcast_weights(factors, given)
            given = multiply(given, spread)
            number = reduce_sum(spread)
        new_total = assign_add(total, reduce_sum(given))
        with graph.control_dependencies([given]):
            new_count = assign_add(count, number)
        updates = (new_total, new_count)
        return paired(_quotient, (total, count), updates, metrics_collections, updates_collections)


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(mean, update), element by element; see `mean`. The shape must be known: ValueError."""
    graph: Graph = graph_stack.top()
    with variable_scope(name, "mean", [values, weights]):
        given = cast(values, dtypes.float32)
        shape = given.shape.as_list()
        total, count = keep("total_tensor", shape), keep("count_tensor", shape)
        number = ones_like(given)
        if weights is not None:
            factors = cast(squeezed_weights(weights, given), dtypes.float32)
            spread = broadcast_weights(factors, given)
            given, number = multiply(given, spread), multiply(number, spread)
        new_total = assign_add(total, given)
        with graph.control_dependencies([given]):
            new_count = assign_add(count, number)
        updates = (new_total, new_count)
        return paired(_quotient, (total, count), updates, metrics_collections, updates_collections)


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(accuracy, update): how often predictions are the labels; see `mean`."""
    right, factors = _right(labels, predictions, weights)
    return mean(right, factors, metrics_collections, updates_collections, name or "accuracy")


def _right(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Any]:
    """Where predictions are the labels, as 0 and 1, and the weights."""
    wanted, found, factors = alike(labels, predictions, weights)
    if wanted.dtype.base_dtype is not found.dtype.base_dtype:
        found = cast(found, wanted.dtype.base_dtype)
    return cast(equal(found, wanted), dtypes.float32), factors


def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(mean of |predictions - labels|, update); see `mean`."""
    wanted, found, factors = alike(labels, predictions, weights)
    errors = absolute(subtract(found, wanted))
    name = name or "mean_absolute_error"
    return mean(errors, factors, metrics_collections, updates_collections, name)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(mean of (predictions - labels) ** 2, update); see `mean`."""
    wanted, found, factors = alike(labels, predictions, weights)
    errors = squared_difference(wanted, found)
    name = name or "mean_squared_error"
    return mean(errors, factors, metrics_collections, updates_collections, name)


def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(square root of `mean_squared_error`, update)."""
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, None, None, name)
    return collected(sqrt(value), sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(mean of |labels - predictions| / normalizer, update), 0 where that is 0; see `mean`."""
    wanted, found, factors = alike(labels, predictions, weights)
    by = convert_to_tensor(normalizer, found.dtype.base_dtype)
    found.shape.assert_is_compatible_with(by.shape)
    errors = div_no_nan(absolute(subtract(wanted, found)), by)
    name = name or "mean_relative_error"
    return mean(errors, factors, metrics_collections, updates_collections, name)


def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(mean of 1 - the sum of labels times predictions over `dim`, update); see `mean`."""
    wanted, found, factors = alike(labels, predictions, weights)
    distances = reduce_sum(multiply(found, wanted), axis=[dim], keepdims=True)
    name = name or "mean_cosine_distance"
    value, update = mean(distances, factors, None, None, name)
    return collected(
        subtract(1.0, value), subtract(1.0, update), metrics_collections, updates_collections
    )


def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(which part of the values is below `threshold`, update); see `mean`."""
    below = cast(less(values, threshold), dtypes.float32)
    name = name or "percentage_below_threshold"
    return mean(below, weights, metrics_collections, updates_collections, name)


def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """(mean over classes of their accuracy, update); the update gives each class's.

    labels, predictions: classes below `num_classes`, of any shape; weights: of the same shape.
    """
    with variable_scope(name, "mean_accuracy", [predictions, labels, weights]):
        wanted, found, factors = alike(cast(labels, dtypes.int64), predictions, weights)
        wanted, found = (_flat(each) for each in (wanted, found))
        total, count = keep("total", [num_classes]), keep("count", [num_classes])
        number = ones([size(wanted)], dtypes.float32)
        right, _ = _right(wanted, found, None)
        if factors is not None:
            by = _flat(cast(factors, dtypes.float32))
            number, right = multiply(number, by), multiply(right, by)
        new_total = scatter_add(total, wanted, number)
        new_count = scatter_add(count, wanted, right)
        each = _quotient(count, total)
        value = reduce_mean(each, name="mean_accuracy")
        update = _quotient(new_count, new_total, name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _flat(tensor: Tensor) -> Tensor:
    return tensor if tensor.shape.rank == 1 else reshape(tensor, [-1])
