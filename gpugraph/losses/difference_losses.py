"""Losses of predictions against labels: by their differences, distances and margins.

All are computed in float32, whatever the dtype of what is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.default_stacks import graph_stack
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.losses.loss_collection import add_loss
from gpugraph.losses.loss_reduction import Reduction, compute_weighted_loss, count_present
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

_BY_PRESENT = Reduction.SUM_BY_NONZERO_WEIGHTS


def _need(**given: Any) -> None:
    for name, value in given.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


@contextmanager
def _compared(
    name: str, scope: str | None, labels: Any, predictions: Any, weights: Any
) -> Iterator[tuple[str, Tensor, Tensor]]:
    """(name scope, labels, predictions) in float32; ValueError where the shapes differ."""
    with name_scope(scope, name, [predictions, labels, weights]) as inside:
        found = cast(predictions, dtypes.float32)
        wanted = cast(labels, dtypes.float32)
        found.shape.assert_is_compatible_with(wanted.shape)
        yield inside, wanted, found


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
) -> Tensor:
    """|predictions - labels|, weighted and reduced; see `compute_weighted_loss`."""
    _need(labels=labels, predictions=predictions)
    with _compared("absolute_difference", scope, labels, predictions, weights) as compared:
        inside, wanted, found = compared
        losses = absolute(subtract(found, wanted))
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
) -> Tensor:
    """(predictions - labels) ** 2, weighted and reduced; see `compute_weighted_loss`."""
    _need(labels=labels, predictions=predictions)
    with _compared("mean_squared_error", scope, labels, predictions, weights) as compared:
        inside, wanted, found = compared
        losses = squared_difference(found, wanted)
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
) -> Tensor:
    """Half the square of differences up to `delta`, linear beyond; see `compute_weighted_loss`."""
    _need(labels=labels, predictions=predictions)
    with _compared("huber_loss", scope, labels, predictions, weights) as compared:
        inside, wanted, found = compared
        distance = absolute(subtract(found, wanted))
        near = minimum(distance, delta)
        far = subtract(distance, near)
        half = convert_to_tensor(0.5, dtype=near.dtype.base_dtype)
        losses = add(multiply(half, multiply(near, near)), multiply(delta, far))
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
) -> Tensor:
    """-labels log(predictions + epsilon) - (1 - labels) log(1 - predictions + epsilon), weighted
    and reduced; see `compute_weighted_loss`.
    """
    _need(labels=labels, predictions=predictions)
    with _compared("log_loss", scope, labels, predictions, weights) as compared:
        inside, wanted, found = compared
        losses = -multiply(wanted, log(found + epsilon)) - multiply(
            (1 - wanted), log(1 - found + epsilon)
        )
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
) -> Tensor:
    """max(0, 1 - y logits) for labels 0 and 1, which are y = -1 and 1; weighted and reduced as
    `compute_weighted_loss` does.
    """
    _need(labels=labels, logits=logits)
    with _compared("hinge_loss", scope, labels, logits, weights) as (inside, wanted, found):
        ones = ones_like(wanted)
        signs = subtract(2 * wanted, ones)
        losses = relu(subtract(ones, multiply(signs, found)))
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
    dim: int | None = None,
) -> Tensor:
    """1 - the sum of labels times predictions over `axis` (older: `dim`), for vectors of length 1
    there; weighted and reduced as `compute_weighted_loss` does.
    """
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'")
    chosen = dim if axis is None else axis
    if chosen is None:
        raise ValueError("You must specify 'axis'.")
    _need(labels=labels, predictions=predictions)
    with _compared("cosine_distance_loss", scope, labels, predictions, weights) as compared:
        inside, wanted, found = compared
        products = multiply(found, wanted)
        losses = 1 - reduce_sum(products, axis=(chosen,), keepdims=True)
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """How differences of pairs of predictions differ from those of labels, squared.

    The mean over all pairs within each element of the batch, times its weight; their sum.
    weights: a number, or [batch size, 1, ...]. ValueError for shapes that do not fit.
    """
    _need(labels=labels, predictions=predictions)
    graph: Graph = graph_stack.top()
    name = "mean_pairwise_squared_error"
    with name_scope(scope, name, [predictions, labels, weights]):
        factors = cast(weights, dtypes.float32)
        wanted = cast(labels, dtypes.float32)
        with graph.control_dependencies([assert_broadcastable(factors, wanted)]):
            found = cast(predictions, dtypes.float32)
            found.shape.assert_is_compatible_with(wanted.shape)
            loss = _pairwise(subtract(found, wanted), factors)
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
