"""Dropout, which sets random elements to zero and scales up the remaining elements to keep the
expected sum.
"""

from __future__ import annotations

import numbers
from typing import Any

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.random_ops import random_uniform


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Set each element of `x` to zero with probability `rate`. Scale the remaining elements by `1 /
    (1 - rate)`.

    Raises ValueError if `x` is not floating-point, if the rate is out of range, or unless exactly
    one of `rate` and `keep_prob` is passed.

    Args:
      rate: a number in [0, 1) or a scalar tensor. The older argument `keep_prob` is `1 - rate`.
      noise_shape: the shape of the random mask, which is broadcast to the shape of `x`. If the mask
        has size 1 along an axis, all elements of `x` along this axis are kept or dropped together.
        The default is the shape of `x`, so that each element is dropped independently.

    >>> session.run(tf.nn.dropout(tf.ones([4]), rate=0.0))
    array([1., 1., 1., 1.], dtype=float32)
    """
    probability = _rate(rate, keep_prob)
    with op_scope(name, "dropout", x):
        tensor = convert_to_tensor(x, name="x")
        if not tensor.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled, but it is of "
                f"{tensor.dtype.name}"
            )
        if isinstance(probability, numbers.Real):
            if not 0 <= float(probability) < 1:
                raise ValueError(f"rate must be a scalar in the range [0, 1), got {probability}")
            if probability == 0:
                return tensor
        share = convert_to_tensor(probability, tensor.dtype, name="rate")
        share.shape.assert_has_rank(0)
        if constant_value(share) == 0:
            return tensor
        drawn = random_uniform(_noise_shape(tensor, noise_shape), seed=seed, dtype=tensor.dtype)
        scale = 1 / (1 - share)
        is_kept = drawn >= share
        result: Tensor = tensor * scale * cast(is_kept, tensor.dtype)
        result.set_shape(tensor.shape)
        return result


def _rate(rate: Any, keep_prob: Any) -> Any:
    if keep_prob is None:
        if rate is None:
            raise ValueError("You must provide a rate to dropout.")
        return rate
    if rate is not None:
        raise ValueError("Give one of 'rate' and its older form 'keep_prob', which is 1 - rate")
    try:
        return 1.0 - keep_prob
    except TypeError:
        raise ValueError(
            f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})"
        ) from None


def _noise_shape(tensor: Tensor, noise_shape: Any) -> Any:
    """Return the shape of the random mask. It is `noise_shape`, with the sizes of `tensor` in place
    of unknown sizes (None).
    """
    if noise_shape is None:
        return shape(tensor)
    try:
        noise_sizes = as_shape(noise_shape).sizes
    except (TypeError, ValueError):
        return noise_shape  # a tensor, or a value that converts to a tensor
    sizes = tensor.shape.sizes
    if noise_sizes is None or sizes is None or len(noise_sizes) != len(sizes):
        return noise_shape
    return TensorShape.of(
        tuple(
            size if noise_size is None else noise_size
            for noise_size, size in zip(noise_sizes, sizes)
        )
    )
