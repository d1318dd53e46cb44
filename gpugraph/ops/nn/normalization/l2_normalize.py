"""Norms and moments that are composed of other ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import squeeze
from gpugraph.ops.elementwise.arithmetic_functions import (
    add,
    maximum,
    multiply,
    squared_difference,
    subtract,
)
from gpugraph.ops.elementwise.unary_functions import (
    abs as absolute,
    exp,
    log1p,
    reciprocal,
    rsqrt,
    square,
)
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.nn.normalization.bias_and_moments import batch_normalization
from gpugraph.ops.reductions.reduction_functions import either, reduce_prod, reduce_sum


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """Return x / sqrt(max(sum(x ** 2), epsilon)).

    The sum is over `axis` (older name: `dim`), by default over all axes.

    >>> session.run(tf.nn.l2_normalize([3.0, 4.0], axis=0))
    array([0.6, 0.8], dtype=float32)
    """
    chosen = either(axis, dim, "axis", "dim")
    with op_scope(name, "l2_normalize", x) as scope:
        source = convert_to_tensor(x, name="x")
        squares = reduce_sum(square(source), chosen, keepdims=True)
        return multiply(source, rsqrt(maximum(squares, epsilon)), name=scope)


def sufficient_statistics(
    x: Any,
    axes: Sequence[int],
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return (count, sum, sum of squares, shift) of `x` over `axes`, for `normalize_moments`.

    If `shift` is not None, both sums are computed from `x - shift`. If `keepdims` (older name:
    `keep_dims`) is true, the reduced axes are kept with size 1.
    """
    keep = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    over = sorted({whole_number("axes", axis) for axis in axes})
    with op_scope(name, "sufficient_statistics", x, shift):
        source = convert_to_tensor(x, name="x")
        dtype = source.dtype.base_dtype
        rank = source.shape.rank
        if rank is not None and not all(-rank <= axis < rank for axis in over):
            raise ValueError(f"axes {over} must be in the range [{-rank}, {rank})")
        sizes = None if source.shape.sizes is None else [source.shape.sizes[axis] for axis in over]
        if sizes is not None and None not in sizes:
            count = constant(np.prod(sizes), dtype)  # type: ignore[arg-type]
        else:
            count = reduce_prod(gather(cast(shape(source), dtype), over), name="count")
        shift_tensor = None if shift is None else convert_to_tensor(shift, name="shift")
        distance = source if shift_tensor is None else subtract(source, shift_tensor)
        squares = (
            square(source) if shift_tensor is None else squared_difference(source, shift_tensor)
        )
        first = reduce_sum(distance, over, keepdims=keep, name="mean_ss")
        second = reduce_sum(squares, over, keepdims=keep, name="var_ss")
        return count, first, second, shift_tensor


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Compute (mean, variance) from the result of `sufficient_statistics`. `shift` may be None."""
    with op_scope(name, "normalize", counts, mean_ss, variance_ss, shift):
        divisor = reciprocal(counts, name="divisor")
        label = "mean" if shift is None else "shifted_mean"
        shifted = mean = multiply(mean_ss, divisor, name=label)
        if shift is not None:
            mean = add(shifted, shift, name="mean")
        squares = multiply(variance_ss, divisor)
        return mean, subtract(squares, square(shifted), name="variance")


def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (mean, variance) of `x` over `axes`, in which each element has a weight.

    float16 is computed in float32. If `keepdims` (older name: `keep_dims`) is true, the reduced
    axes are kept with size 1.

    Args:
      frequency_weights: the weights, which are broadcast to the shape of `x`.
    """
    keep = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    with op_scope(name, "weighted_moments", x, frequency_weights):
        source = convert_to_tensor(x, name="x")
        narrow = source.dtype.base_dtype is dtypes.float16
        wide = cast(source, dtypes.float32) if narrow else source
        weights = cast(convert_to_tensor(frequency_weights, name="weights"), wide.dtype.base_dtype)
        total = reduce_sum(weights * wide, axes, name="weighted_input_sum", keepdims=True)
        spread = weights + zeros_like(wide)
        count = reduce_sum(spread, axes, name="sum_of_weights", keepdims=True)
        divisor = reciprocal(count, name="inv_weight_sum")
        mean = multiply(total, divisor)
        squares = weights * squared_difference(wide, mean)
        variance = multiply(
            reduce_sum(squares, axes, name="weighted_distsq", keepdims=True), divisor
        )
        if not keep:
            over = [int(axis) for axis in np.ravel(axes)]
            mean, variance = squeeze(mean, over), squeeze(variance, over)
        if narrow:
            mean, variance = cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: float | None = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """Normalize `t` by `batch_normalization` with mean `m`, variance `v` and offset `beta`.

    The result is scaled by `gamma` only if `scale_after_normalization` is true. `input`, `mean` and
    `variance` are newer names of `t`, `m` and `v`.
    """
    return batch_normalization(
        either(input, t, "input", "t"),
        either(mean, m, "mean", "m"),
        either(variance, v, "variance", "v"),
        beta,
        gamma if scale_after_normalization else None,
        0.0 if variance_epsilon is None else variance_epsilon,
        name,
    )


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """Return the same loss as `sigmoid_cross_entropy_with_logits`, but with the term of positive
    labels multiplied by `pos_weight`.

    The loss is -pos_weight * labels * log(sigmoid(logits)) - (1 - labels) * log(1 -
    sigmoid(logits)). It is computed without overflow. `targets` is an older name of `labels`.
    Raises ValueError if the shapes differ.
    """
    chosen = either(labels, targets, "labels", "targets")
    with op_scope(name, "logistic_loss", logits, chosen) as scope:
        x = convert_to_tensor(logits, name="logits")
        z = convert_to_tensor(chosen, name="labels", dtype_hint=x.dtype.base_dtype)
        try:
            x.shape.merge_with(z.shape)
        except ValueError as error:
            raise ValueError(
                f"`logits` and `labels` must have the same shape ({x.shape} vs {z.shape})"
            ) from error
        factor = 1 + (pos_weight - 1) * z
        rest = log1p(exp(-absolute(x))) + relu(-x)
        return add((1 - z) * x, factor * rest, name=scope)
