"""Losses that depend on the difference, the distance or the margin between predictions and labels.

The inputs are cast to float32, in which all losses are computed.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.losses.loss_collection import add_loss
from gpugraph.library.losses.loss_reduction import (
    Reduction,
    WeightedLosses,
    count_present,
    reduced_loss,
    require,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.elementwise.arithmetic_functions import (
    add,
    maximum,
    minimum,
    multiply,
    squared_difference,
    subtract,
)
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.elementwise.division import div_no_nan
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log, square
from gpugraph.ops.framework.identity_and_shape import rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.nn.losses.loss_weights import assert_broadcastable
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_sum


def _in_float(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    """Return labels and predictions cast to float32. Raises ValueError if their shapes differ."""
    predictions = cast(predictions, dtypes.float32)
    labels = cast(labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


@reduced_loss("absolute_difference")
def absolute_difference(labels: Any, predictions: Any, weights: Any = 1.0) -> WeightedLosses:
    """Return |predictions - labels|, weighted and reduced. See `compute_weighted_loss`."""
    labels, predictions = _in_float(labels, predictions)
    return absolute(subtract(predictions, labels)), weights


@reduced_loss("mean_squared_error")
def mean_squared_error(labels: Any, predictions: Any, weights: Any = 1.0) -> WeightedLosses:
    """Return (predictions - labels) ** 2, weighted and reduced. See `compute_weighted_loss`.

    >>> session.run(tf.losses.mean_squared_error([1.0, 2.0], [1.0, 4.0]))
    np.float32(2.0)
    """
    labels, predictions = _in_float(labels, predictions)
    return squared_difference(predictions, labels), weights


@reduced_loss("huber_loss")
def huber_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0
) -> WeightedLosses:
    """Return the Huber loss, weighted and reduced. See `compute_weighted_loss`.

    For an absolute difference d up to `delta`, the loss is d ** 2 / 2. For larger d, it is delta *
    d - delta ** 2 / 2.
    """
    labels, predictions = _in_float(labels, predictions)
    return huber_errors(labels, predictions, delta), weights


def huber_errors(labels: Tensor, predictions: Tensor, delta: float) -> Tensor:
    """Return the Huber loss of each element, without weights or reduction.

    For an absolute difference d up to `delta`, it is d ** 2 / 2. For larger d, it is linear in d.
    """
    distance = absolute(subtract(predictions, labels))
    near = minimum(distance, delta)
    far = subtract(distance, near)
    half = convert_to_tensor(0.5, dtype=near.dtype.base_dtype)
    return add(multiply(half, multiply(near, near)), multiply(delta, far))


@reduced_loss("log_loss")
def log_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7
) -> WeightedLosses:
    """Return the log loss, weighted and reduced. See `compute_weighted_loss`.

    The loss is -labels log(predictions + epsilon) - (1 - labels) log(1 - predictions + epsilon).
    """
    labels, predictions = _in_float(labels, predictions)
    losses = -multiply(labels, log(predictions + epsilon)) - multiply(
        (1 - labels), log(1 - predictions + epsilon)
    )
    return losses, weights


@reduced_loss("hinge_loss")
def hinge_loss(labels: Any, logits: Any, weights: Any = 1.0) -> WeightedLosses:
    """Return max(0, 1 - y * logits), weighted and reduced. See `compute_weighted_loss`.

    y is -1 for the label 0, and 1 for the label 1.
    """
    labels, logits = _in_float(labels, logits)
    ones = ones_like(labels)
    signs = subtract(2 * labels, ones)
    losses = relu(subtract(ones, multiply(signs, logits)))
    return losses, weights


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """Return 1 - sum over `axis` of labels * predictions, weighted and reduced.

    The vectors along `axis` must have length 1. `dim` is an older name of `axis`. For the other
    arguments, see `compute_weighted_loss`.
    """
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'")
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    return _cosine_distance(labels, predictions, axis, weights, scope, loss_collection, reduction)


@reduced_loss("cosine_distance_loss")
def _cosine_distance(labels: Any, predictions: Any, axis: int, weights: Any) -> WeightedLosses:
    labels, predictions = _in_float(labels, predictions)
    losses = 1 - reduce_sum(multiply(predictions, labels), axis=(axis,), keepdims=True)
    return losses, weights


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Return the mean squared error of the differences between pairs of elements.

    For each pair of elements of an example, the difference between the two predictions is compared
    with the difference between the two labels. The mean over all pairs is multiplied by the
    example's weight, and summed over the batch.

    Raises ValueError for incompatible shapes.

    Args:
      weights: a number, or [batch size, 1, ...].
    """
    require(labels=labels, predictions=predictions)
    graph = get_default_graph()
    name = "mean_pairwise_squared_error"
    with name_scope(scope, name, [predictions, labels, weights]):
        weights = cast(weights, dtypes.float32)
        labels = cast(labels, dtypes.float32)
        with graph.control_dependencies([assert_broadcastable(weights, labels)]):
            predictions = cast(predictions, dtypes.float32)
            predictions.shape.assert_is_compatible_with(labels.shape)
            loss = _pairwise(subtract(predictions, labels), weights)
            add_loss(loss, loss_collection)
            return loss


def _pairwise(differences: Tensor, weights: Tensor) -> Tensor:
    axes = range_of(1, rank(differences))
    squares = reduce_sum(square(differences), axis=axes, keepdims=True)
    count = count_present(differences, weights, per_batch=True)
    first = 2.0 * div_no_nan(squares, maximum(count - 1, 0), name="value")
    sums = reduce_sum(differences, axis=axes, keepdims=True)
    pairs = maximum(multiply(count, count - 1), 0)
    second = 2.0 * div_no_nan(square(sums), pairs, name="value")
    total = reduce_sum(multiply(first - second, weights))
    return where(reduce_sum(count) > 0, total, zeros_like(total), name="value")
