"""The Poisson loss of counts, given the logarithm of their expected rate."""

from __future__ import annotations

import math
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.elementwise.comparison_and_select import logical_and, where
from gpugraph.ops.elementwise.unary_functions import exp, log
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """Return exp(log_input) - log_input * targets, elementwise.

    Raises ValueError if the shapes differ.

    Args:
      targets, log_input: floats of the same shape.
      compute_full_loss: whether to add Stirling's approximation of log(targets!) for targets above
        1.
    """
    with op_scope(name, "log_poisson_loss", log_input, targets):
        rate = convert_to_tensor(log_input, name="log_input")
        count = convert_to_tensor(targets, name="targets")
        if not count.shape.is_compatible_with(rate.shape):
            raise ValueError(
                f"log_input and targets must have the same shape ({rate.shape} vs {count.shape})"
            )
        result: Tensor = exp(rate) - rate * count
        if compute_full_loss:
            half = constant(0.5, rate.dtype)
            turn = constant(2 * math.pi, rate.dtype)
            stirling = count * log(count) - count + half * log(turn * count)
            zeros, ones = zeros_like(count), ones_like(count)
            small = logical_and(count >= zeros, count <= ones)
            result += where(small, zeros, stirling)
        return result
