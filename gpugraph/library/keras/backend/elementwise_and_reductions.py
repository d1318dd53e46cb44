"""Elementwise functions, comparisons and reductions, with Keras's names and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import bool as bool_type
from gpugraph.base.named_function import named
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.ops.arrays import cast as cast_ops
from gpugraph.ops.elementwise import arithmetic_functions, comparison_and_select, unary_functions
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations import relu_and_elu, selu_softsign_swish
from gpugraph.ops.nn.activations.softmax import softmax as softmax_along
from gpugraph.ops.nn.normalization.l2_normalize import l2_normalize as normalized
from gpugraph.ops.reductions import argmax_and_argmin, ranges_and_running_sums
from gpugraph.ops.reductions.clip_by_norm import clip_by_value
from gpugraph.ops.reductions.reduction_functions import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)


def _of_one(name: str, function: Callable[..., Any]) -> Callable[[Any], Tensor]:
    """Return a function `name(x)` of one tensor that calls `function`. Its docstring is the first
    line of the docstring of `function`.
    """

    @named(name, f"{(function.__doc__ or '').partition(chr(10))[0]}")
    def computed(x: Any) -> Tensor:
        return function(x)

    return computed


abs, cos, exp, log, round, sigmoid, sign, sin, softplus, sqrt, square, tanh = (
    _of_one(name, getattr(unary_functions, name))
    for name in (
        *("abs", "cos", "exp", "log", "round", "sigmoid", "sign", "sin", "softplus", "sqrt"),
        *("square", "tanh"),
    )
)
softsign = _of_one("softsign", selu_softsign_swish.softsign)


def _of_two(name: str, function: Callable[..., Any]) -> Callable[[Any, Any], Tensor]:
    """Return a function `name` of two tensors `x` and `y` that calls `function`."""

    @named(name, f"{(function.__doc__ or '').partition(chr(10))[0]}")
    def computed(x: Any, y: Any) -> Tensor:
        return function(x, y)

    return computed


equal, not_equal, greater, greater_equal, less, less_equal = (
    _of_two(name, getattr(comparison_and_select, name))
    for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
)
maximum, minimum = (
    _of_two(name, getattr(arithmetic_functions, name)) for name in ("maximum", "minimum")
)


def _reduction(
    name: str, result: str, function: Callable[..., Any], dtype: Callable[[], Any] | None = None
) -> Callable[..., Any]:
    """Return a reduction `name(x, axis=None, keepdims=False)` that calls `function`.

    Args:
      result: the name of the result, for the docstring.
      dtype: a function that returns the dtype to which bools are cast. If the function returns
        "bool", every input is cast. If `dtype` is None, nothing is cast.
    """

    @named(name, f"Return the {result} along `axis`, an int or several; None: of all elements.")
    def reduced(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if dtype is not None:
            x = _cast_bools(x, dtype())
        return function(x, axis=axis, keepdims=keepdims)

    return reduced


def _cast_bools(x: Any, dtype: Any) -> Any:
    """Return `x` as a tensor, cast to `dtype` if it holds bools or if `dtype` is "bool"."""
    x = convert_to_tensor(x)
    is_bool = x.dtype.base_dtype == bool_type
    return cast_ops.cast(x, dtype) if is_bool or dtype == "bool" else x


sum = _reduction("sum", "sum", reduce_sum)
prod = _reduction("prod", "product", reduce_prod)
max = _reduction("max", "maximum", reduce_max)
min = _reduction("min", "minimum", reduce_min)
mean = _reduction("mean", "mean", reduce_mean, floatx)
any = _reduction("any", "logical or", reduce_any, lambda: "bool")
all = _reduction("all", "logical and", reduce_all, lambda: "bool")


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the population variance along `axis`. If `axis` is None, return the variance of all
    elements.
    """
    x = _cast_bools(x, floatx())
    centred = x - reduce_mean(x, axis=axis, keepdims=True)
    return reduce_mean(unary_functions.square(centred), axis=axis, keepdims=keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the population standard deviation along `axis`. If `axis` is None, return the standard
    deviation of all elements.
    """
    return unary_functions.sqrt(var(x, axis=axis, keepdims=keepdims))


def argmax(x: Any, axis: int = -1) -> Tensor:
    """Return the indices of the largest elements along `axis`, int64."""
    return argmax_and_argmin.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Tensor:
    """Return the indices of the smallest elements along `axis`, int64."""
    return argmax_and_argmin.argmin(x, axis)


def cumsum(x: Any, axis: int = 0) -> Tensor:
    """Return the running sums along `axis`."""
    return ranges_and_running_sums.cumsum(x, axis=axis)


def cumprod(x: Any, axis: int = 0) -> Tensor:
    """Return the running products along `axis`."""
    return ranges_and_running_sums.cumprod(x, axis=axis)


def pow(x: Any, a: Any) -> Tensor:
    """Return `x` raised to the power `a`."""
    return arithmetic_functions.pow(x, a)


def cast(x: Any, dtype: Any) -> Tensor:
    """Cast `x` to another dtype."""
    return cast_ops.cast(x, dtype)


def clip(x: Any, min_value: Any, max_value: Any) -> Tensor:
    """Clip the elements of `x` to the range from `min_value` to `max_value`. None means no bound.

    If `max_value` is below `min_value`, all elements become `min_value`.
    """
    low = float("-inf") if min_value is None else min_value
    high = float("inf") if max_value is None else max_value
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and high < low:
        high = low
    return clip_by_value(x, low, high)


def relu(
    x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0
) -> Tensor:
    """Return min(x, max_value) where x > `threshold`, else `alpha` * (x - threshold)."""
    if not alpha and not threshold and max_value in (None, 6):
        return relu_and_elu.relu(x) if max_value is None else relu_and_elu.relu6(x)
    if alpha and not threshold and max_value is None:
        return relu_and_elu.leaky_relu(x, alpha=alpha)
    x = convert_to_tensor(x)
    above = x * cast_ops.cast(x > threshold, x.dtype) if threshold else relu_and_elu.relu(x)
    if max_value is not None:
        above = clip_by_value(above, 0.0, max_value)
    return above - alpha * relu_and_elu.relu(threshold - x) if alpha else above


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """Return `x` where it is positive, else alpha * (exp(x) - 1)."""
    result = relu_and_elu.elu(x)
    return result if alpha == 1 else comparison_and_select.where(x > 0, result, alpha * result)


def softmax(x: Any, axis: int = -1) -> Tensor:
    """Return exp(x) / sum(exp(x)), where the sum is along `axis`."""
    return softmax_along(x, axis=axis)


def l2_normalize(x: Any, axis: Any = None) -> Tensor:
    """Scale the vectors along `axis` to Euclidean length 1. If `axis` is None, treat all elements
    as one vector.
    """
    return normalized(x, axis=axis)
