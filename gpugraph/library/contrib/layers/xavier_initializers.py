"""Initializers whose variance depends on the number of units that a variable connects.

Glorot and Bengio 2010, Understanding the difficulty of training deep feedforward neural networks;
He et al. 2015, Delving Deep into Rectifiers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.random.random_ops import random_uniform, truncated_normal

_MODES = ("FAN_IN", "FAN_OUT", "FAN_AVG")
_CUT = 1.3  # compensates for the variance that is lost by truncation at two standard deviations


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> Callable[..., Tensor]:
    """Return an initializer with variance 1 / n, which keeps the scale of gradients similar in all
    layers.

    n is the mean of the number of inputs and the number of outputs of a layer.

    Raises TypeError for a dtype that is not floating point.

    Args:
      uniform: whether values have a uniform distribution. Otherwise the values have a normal
        distribution.
    """
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = dtypes.float32,
) -> Callable[..., Tensor]:
    """Return an initializer with variance `factor` / n.

    The distribution is uniform, or normal and truncated at two standard deviations.

    Raises TypeError if `mode` is not one of the modes below, or if the dtype is not floating-point.

    Args:
      mode: "FAN_IN" if n is the number of inputs of each output, "FAN_OUT" if n is the number of
        outputs of each input, or "FAN_AVG" if n is the mean of both numbers.
    """
    _check_floating(dtype)
    if mode not in _MODES:
        raise TypeError(f"Unknown mode {mode}: it is one of {', '.join(_MODES)}")

    def initialize(shape: Sequence[int], dtype: Any = dtype, partition_info: Any = None) -> Tensor:
        del partition_info
        _check_floating(dtype)
        fan_in, fan_out = _fans(shape)
        fans = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2}
        if uniform:
            limit = math.sqrt(3.0 * factor / fans[mode])
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        deviation = math.sqrt(_CUT * factor / fans[mode])
        return truncated_normal(shape, 0.0, deviation, dtype, seed=seed)

    return initialize


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    """Return the number of inputs of each output, and the number of outputs of each input, of
    weights of a shape.
    """
    sizes = [float(size) for size in shape] or [1.0]
    window = math.prod(sizes[:-2])
    return window * sizes[-2 if len(sizes) > 1 else -1], window * sizes[-1]


def _check_floating(dtype: Any) -> None:
    if not as_dtype(dtype).is_floating:
        raise TypeError(
            f"Cannot create initializer for non-floating point type {as_dtype(dtype).name}."
        )
