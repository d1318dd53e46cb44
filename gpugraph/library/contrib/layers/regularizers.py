"""Regularizers: functions that return a scalar penalty for a variable, which is added to the loss.

Regularizers are passed to `tf.get_variable(..., regularizer=...)` and to variable scopes. The
penalties of new variables are collected in REGULARIZATION_LOSSES.
"""

from __future__ import annotations

import logging
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.arithmetic_functions import add_n, multiply
from gpugraph.ops.elementwise.unary_functions import abs as absolute
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import l2_loss, reduce_sum

_LOG = logging.getLogger("gpugraph")

Regularizer = Callable[[Any], "Tensor | None"]


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Return a regularizer: `scale` times the sum of a variable's absolute values.

    If `scale` is 0.0, the penalty is None. Raises ValueError for an integer or negative scale.
    """
    return _scaled(scale, scope, "l1_regularizer", lambda weights: reduce_sum(absolute(weights)))


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Return a regularizer: `scale` times half the sum of a variable's squares.

    If `scale` is 0.0, the penalty is None. Raises ValueError for an integer or negative scale.
    """
    return _scaled(scale, scope, "l2_regularizer", l2_loss)


def _scaled(
    scale: Any, scope: str | None, name: str, measure: Callable[[Any], Tensor]
) -> Regularizer:
    _check_no_integer("scale", scale)
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        if scale == 0.0:
            _LOG.info("Scale of 0 disables regularizer.")
            return lambda _: None

    def regularize(weights: Any) -> Tensor:
        with name_scope(scope, name, [weights]) as inside:
            factor = convert_to_tensor(scale, weights.dtype.base_dtype, name="scale")
            return multiply(factor, measure(weights), name=inside)

    return regularize


def _check_no_integer(name: str, scale: Any) -> None:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{name} cannot be an integer: {scale}; write {scale}.0")


def l1_l2_regularizer(
    scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None
) -> Regularizer:
    """Return a regularizer that adds the penalties of `l1_regularizer` and `l2_regularizer`. A
    scale of 0.0 omits its term.

    Raises ValueError for integer or negative scales.
    """
    _check_no_integer("scale_l1", scale_l1)
    _check_no_integer("scale_l2", scale_l2)
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    both = sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)
    assert both is not None
    return both


def sum_regularizer(
    regularizer_list: Iterable[Regularizer | None], scope: str | None = None
) -> Regularizer | None:
    """Return a regularizer that adds the penalties of all regularizers in the list. If all items of
    the list are None, return None.

    The penalty is None if no regularizer returns a penalty.
    """
    regularizers = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not regularizers:
        return None

    def regularize(weights: Any) -> Tensor | None:
        with name_scope(scope, "sum_regularizer", [weights]) as inside:
            losses = [regularizer(weights) for regularizer in regularizers]
            penalties = [loss for loss in losses if loss is not None]
            return add_n(penalties, name=inside) if penalties else None

    return regularize


def apply_regularization(
    regularizer: Regularizer, weights_list: Sequence[Any] | None = None
) -> Tensor:
    """Return the sum of the penalties of all weights, and add it to REGULARIZATION_LOSSES.

    Raises ValueError if there are no weights, or if a penalty is not a scalar.

    Args:
      weights_list: variables or tensors; by default the collection WEIGHTS.
    """
    graph = get_default_graph()
    weights = list(weights_list or graph.get_collection(GraphKeys.WEIGHTS))
    if not weights:
        raise ValueError("No weights to regularize: weights_list and collection WEIGHTS are empty.")
    with name_scope("get_regularization_penalty", values=weights) as scope:
        losses = [regularizer(tensor) for tensor in weights]
        penalties = [convert_to_tensor(0.0) if loss is None else loss for loss in losses]
        for tensor, penalty in zip(weights, penalties):
            if penalty.shape.rank != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{penalty.shape.rank}, as it did for {tensor}"
                )
        total = add_n(penalties, name=scope)
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total
