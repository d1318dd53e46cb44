"""Dropout that preserves the mean and variance of SELU's outputs, and a scaled softplus."""

from __future__ import annotations

import math
from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.arithmetic_functions import minimum
from gpugraph.ops.elementwise.unary_functions import floor, rsqrt, softplus
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.random_ops import random_uniform

_ALPHA = -1.7580993408473766
"""The limit of SELU for negative inputs: -scale * alpha."""


def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: Any = None
) -> Tensor:
    """Set random elements to SELU's lower limit, then scale and shift all elements so that mean 0
    and variance 1 are preserved.

    Raises ValueError unless keep_prob is in (0, 1]. Source: Klambauer et al., 2017
    (arXiv:1706.02515).

    Args:
      keep_prob: the probability that an element is kept.
    """
    with name_scope(name, "alpha_dropout"):
        value = convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)) and not 0.0 < keep_prob <= 1.0:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}"
            )
        keep = convert_to_tensor(keep_prob, value.dtype, name="keep_prob")
        if constant_value(keep) == 1:
            return value
        sizes = shape(value) if noise_shape is None else noise_shape
        kept = floor(keep + random_uniform(sizes, seed=seed, dtype=value.dtype))
        mixed = value * kept + _ALPHA * (1.0 - kept)
        scale = rsqrt(keep + math.pow(_ALPHA, 2) * keep * (1.0 - keep))
        result = scale * mixed - scale * _ALPHA * (1.0 - keep)
        result.set_shape(value.shape)
        return result


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Tensor:
    """Return alpha log(1 + exp(x / alpha)). If `clip` is set, `clip` is the maximum of the
    result.
    """
    with name_scope(name, "scaled_softplus"):
        value = convert_to_tensor(x, name="x")
        scale = convert_to_tensor(alpha, value.dtype, name="alpha")
        result = scale * softplus(value / scale)
        return result if clip is None else minimum(result, convert_to_tensor(clip, value.dtype))
