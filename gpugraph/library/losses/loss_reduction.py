"""Functions that reduce elementwise losses to one scalar: the losses are multiplied by weights,
summed and divided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.named_function import add_parameters
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.losses.loss_collection import add_loss
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.elementwise.arithmetic_functions import multiply
from gpugraph.ops.elementwise.comparison_and_select import equal, where
from gpugraph.ops.elementwise.division import div_no_nan
from gpugraph.ops.framework.identity_and_shape import rank, size
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.loss_weights import assert_broadcastable, broadcast_weights
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class Reduction:
    """The names of the methods that reduce weighted elementwise losses to a scalar.

    NONE does not reduce the losses. SUM is the sum of the losses. SUM_OVER_BATCH_SIZE is the sum
    divided by the number of elements. MEAN is the sum divided by the sum of the weights.
    SUM_BY_NONZERO_WEIGHTS is the sum divided by the number of elements whose weight is not 0.
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return the names of all reductions."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise ValueError for a key that is not a reduction."""
        if key not in cls.all():
            raise ValueError(
                f"Invalid Reduction Key {key}. It is one of {', '.join(dict.fromkeys(cls.all()))}."
            )


def require(**tensors: Any) -> None:
    """Raise ValueError if a tensor is None. The message names the argument."""
    for name, value in tensors.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


WeightedLosses = tuple[Tensor, Any]
"""A pair of elementwise losses and their weights."""


def reduced_loss(
    type_name: str,
) -> Callable[[Callable[..., WeightedLosses]], Callable[..., Tensor]]:
    """Return a decorator that reduces the result of a loss function with `compute_weighted_loss`.

    The first parameters of the loss function are labels, predictions and weights. The loss function
    returns losses and weights. The decorated function has three additional parameters, `scope`,
    `loss_collection` and `reduction`. Its name scope is `type_name` by default. It raises
    ValueError if labels or predictions are None.
    """

    def decorate(function: Callable[..., WeightedLosses]) -> Callable[..., Tensor]:
        def call(
            arguments: Any, scope: str | None, loss_collection: str | None, reduction: str
        ) -> Tensor:
            labels, predictions = list(arguments)[:2]
            inputs = {name: arguments[name] for name in (labels, predictions)}
            require(**inputs)
            values = [arguments[predictions], arguments[labels], arguments["weights"]]
            with name_scope(scope, type_name, values) as inner:
                losses, weights = function(**arguments)
                return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)

        defaults = {
            "scope": None,
            "loss_collection": GraphKeys.LOSSES,
            "reduction": Reduction.SUM_BY_NONZERO_WEIGHTS,
        }
        return add_parameters(function, call, **defaults)

    return decorate


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return `losses` multiplied by `weights`, reduced to a scalar. Also add this loss to a
    collection.

    The computation is in float32. The result has the dtype of the losses. Raises ValueError if the
    shape of the weights is incompatible or `reduction` is unknown.

    Args:
      weights: a number, or a tensor of the rank of the losses. Each size of it equals the size of
        the losses or is 1.
      reduction: one of `Reduction`. With NONE, the result has the shape of the losses.
    """
    Reduction.validate(reduction)
    graph: Any = get_default_graph()
    graph._last_loss_reduction = reduction  # an optimizer of several replicas reads it
    with name_scope(scope, "weighted_loss", [losses, weights]):
        with graph.control_dependencies([assert_broadcastable(weights, losses)]):
            loss = weigh_and_reduce(losses, weights, reduction)
            add_loss(loss, loss_collection)
            return loss


def weigh_and_reduce(losses: Any, weights: Any, reduction: str) -> Tensor:
    """Return the result of `compute_weighted_loss`. Do not check shapes or add the loss to a
    collection.
    """
    losses = convert_to_tensor(losses)
    wide = cast(losses, dtypes.float32)
    weights = cast(weights, dtypes.float32)
    loss = _reduce(multiply(wide, weights), weights, reduction)
    return cast(loss, losses.dtype.base_dtype)


def _reduce(weighted: Tensor, weights: Tensor, reduction: str) -> Tensor:
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        return _mean(total, reduce_sum(ones_like(weighted) * weights))
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return _mean(total, _count(weighted))
    return _mean(total, count_present(weighted, weights))


def _mean(total: Tensor, count: Tensor) -> Tensor:
    """Return total / count. If the count is 0, return 0."""
    return div_no_nan(reduce_sum(total), count, name="value")


def _count(losses: Tensor) -> Tensor:
    with name_scope(None, "num_elements", [losses]) as scope:
        return cast(size(losses, name=scope), losses.dtype.base_dtype)


def count_present(losses: Tensor, weights: Tensor, per_batch: bool = False) -> Tensor:
    """Return the number of losses whose weight is not 0.

    Args:
      per_batch: whether to count for each example separately. The result is then [batch size, 1,
        ...], otherwise a scalar.
    """
    with name_scope(None, "num_present", [losses, weights]) as scope:
        weights = cast(weights, dtypes.float32)
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        present = broadcast_weights(present, losses)
        if not per_batch:
            return reduce_sum(present, name=scope)
        return reduce_sum(present, axis=range_of(1, rank(present)), keepdims=True, name=scope)
