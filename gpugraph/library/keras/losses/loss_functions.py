"""Losses of examples, as functions of targets and predictions [..., size]. The results have the
shape [...].

Targets and predictions have the same shape, unless the targets are class indices. The last axis is
reduced. If the dtype of the targets is different, the targets are cast to the dtype of the
predictions.
"""

from __future__ import annotations

import math
from typing import Any

from gpugraph.building.control_flow import cond
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend import keras_losses
from gpugraph.library.keras.backend.backend_config import epsilon, floatx
from gpugraph.library.losses.difference_losses import huber_errors
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.arithmetic_functions import maximum, multiply, squared_difference
from gpugraph.ops.elementwise.comparison_and_select import equal, logical_or
from gpugraph.ops.elementwise.division import truediv
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log, softplus, square
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.normalization.l2_normalize import l2_normalize
from gpugraph.ops.reductions.clip_by_norm import clip_by_value
from gpugraph.ops.reductions.reduction_functions import (
    reduce_all,
    reduce_max,
    reduce_mean,
    reduce_sum,
)


def alike(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Return (y_true, y_pred) as tensors, both in the dtype of the predictions."""
    y_pred = convert_to_tensor(y_pred)
    return cast(y_true, y_pred.dtype.base_dtype), y_pred


def at_least(x: Tensor, low: float) -> Tensor:
    """Return the elementwise maximum of `x` and `low`."""
    return maximum(x, convert_to_tensor(low, x.dtype.base_dtype))


# -- differences


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of (y_pred - y_true) ** 2 over the last axis."""
    y_true, y_pred = alike(y_true, y_pred)
    return reduce_mean(squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of |y_pred - y_true| over the last axis."""
    y_true, y_pred = alike(y_true, y_pred)
    return reduce_mean(absolute(y_pred - y_true), axis=-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of 100 * |y_true - y_pred| / |y_true| over the last axis.

    In the divisor, |y_true| is at least epsilon().
    """
    y_true, y_pred = alike(y_true, y_pred)
    difference = absolute((y_true - y_pred) / at_least(absolute(y_true), epsilon()))
    return multiply(100.0, reduce_mean(difference, axis=-1))


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of (log(1 + y_pred) - log(1 + y_true)) ** 2 over the last axis.

    Predictions and targets below epsilon() are replaced by epsilon().
    """
    y_true, y_pred = (log(at_least(part, epsilon()) + 1.0) for part in alike(y_true, y_pred))
    return reduce_mean(squared_difference(y_pred, y_true), axis=-1)


def logcosh(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of log(cosh(y_pred - y_true)) over the last axis."""
    y_true, y_pred = alike(y_true, y_pred)
    x = y_pred - y_true
    return reduce_mean(x + softplus(-2.0 * x) - math.log(2.0), axis=-1)


def huber_loss(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """Return the Huber loss of each element: d ** 2 / 2 for |d| <= `delta`, and linear in d for
    larger |d|.

    d is the difference between target and prediction. No axis is reduced.
    """
    return huber_errors(cast(y_true, floatx()), cast(y_pred, floatx()), delta)


# -- margins


def _signs(y_true: Tensor) -> Tensor:
    """Return the targets as -1 and 1. If all targets are 0 or 1, each 0 becomes -1."""
    is_binary = reduce_all(logical_or(equal(y_true, 0), equal(y_true, 1)))
    return cond(is_binary, lambda: 2.0 * y_true - 1.0, lambda: y_true)


def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of max(0, 1 - y_true * y_pred), for targets -1 and 1 or 0 and 1."""
    y_true, y_pred = alike(y_true, y_pred)
    return reduce_mean(at_least(1.0 - _signs(y_true) * y_pred, 0.0), axis=-1)


def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of max(0, 1 - y_true * y_pred) ** 2, for targets -1 and 1 or 0 and 1."""
    y_true, y_pred = alike(y_true, y_pred)
    return reduce_mean(square(at_least(1.0 - _signs(y_true) * y_pred, 0.0)), axis=-1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """Return max(0, 1 + (largest prediction for any wrong class) - (prediction for the right
    class)).

    Args:
      y_true: one-hot vectors along the last axis.
    """
    y_true, y_pred = alike(y_true, y_pred)
    right = reduce_sum(y_true * y_pred, axis=-1)
    wrong = (1.0 - y_true) * y_pred
    return at_least(reduce_max(wrong, axis=-1) - right + 1.0, 0.0)


# -- distributions


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0
) -> Tensor:
    """Return the cross entropy along the last axis of probabilities, or of logits if `from_logits`
    is true.

    Args:
      label_smoothing: the fraction of the targets that is replaced by a uniform distribution.
    """
    y_true, y_pred = alike(y_true, y_pred)
    if isinstance(label_smoothing, Tensor) or label_smoothing:
        classes = cast(shape(y_true)[-1], y_pred.dtype.base_dtype)
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / classes
    return keras_losses.categorical_crossentropy(y_true, y_pred, from_logits=from_logits)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Return the cross entropies of `categorical_crossentropy` for targets that are class
    indices.
    """
    return keras_losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits, axis)


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0
) -> Tensor:
    """Return the mean over the last axis of the cross entropies of probabilities, or of logits if
    `from_logits` is true.

    Args:
      label_smoothing: the fraction by which targets of 0 and 1 are moved towards 1 / 2.
    """
    y_true, y_pred = alike(y_true, y_pred)
    if isinstance(label_smoothing, Tensor) or label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    losses = keras_losses.binary_crossentropy(y_true, y_pred, from_logits=from_logits)
    return reduce_mean(losses, axis=-1)


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """Return the sum of y_true * log(y_true / y_pred) over the last axis."""
    y_true, y_pred = (
        clip_by_value(part, convert_to_tensor(epsilon(), part.dtype.base_dtype), 1)
        for part in alike(y_true, y_pred)
    )
    return reduce_sum(y_true * log(truediv(y_true, y_pred)), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of y_pred - y_true * log(y_pred) over the last axis."""
    y_true, y_pred = alike(y_true, y_pred)
    return reduce_mean(y_pred - y_true * log(y_pred + epsilon()), axis=-1)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Return the negative cosine of the angle between targets and predictions along `axis`."""
    y_true, y_pred = alike(y_true, y_pred)
    return -reduce_sum(l2_normalize(y_true, axis=axis) * l2_normalize(y_pred, axis=axis), axis=axis)
