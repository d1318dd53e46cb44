"""The public functions of reductions: `reduce_sum` and others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from typing import Any, Protocol

import numpy as np

from gpugraph.base.named_function import named
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope
from gpugraph.ops.framework.op_signatures import example_of
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_ops import (
    all_op,
    any_op,
    max_op,
    mean_op,
    min_op,
    prod_op,
    sum_op,
)


def either(value: Any, old: Any, name: str, old_name: str) -> Any:
    """Return the value of an argument that has two names. Raises ValueError if the caller has used
    both names.

    Args:
      value, old: the arguments under the names `name` and `old_name`, or None if they were not
        passed.
    """
    if value is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{name}'.")
    return old if value is None else value


def reduce_with(
    function: OpFunction,
    x: Any,
    axis: Any,
    keepdims: Any,
    name: str | None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """Return `x` reduced by the op `function` along `axis`. If `axis` is None, all axes are
    reduced.

    Args:
      reduction_indices, keep_dims: older names of `axis` and `keepdims`.
    """
    if reduction_indices is not None:
        axis = either(axis, reduction_indices, "axis", "reduction_indices")
    keep = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    if axis is not None:
        return function(x, int_argument(axis), keep_dims=keep, name=name)
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="input")
    rank = tensor._shape.rank
    if rank is None:
        axes = raw_ops.Range(0, raw_ops.Rank(tensor), 1, name="range")
    else:
        axes = convert_to_tensor(np.arange(rank, dtype=np.int32), name="Const")
    reduced = function(tensor, axes, keep_dims=keep, name=name)
    if rank is None and not keep:
        reduced.set_shape(())
    return reduced


class ReductionFunction(Protocol):
    """The type of `reduce_sum` and similar functions, which reduce a tensor along axes."""

    def __call__(
        self,
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        """Return `input_tensor` reduced along `axis`. See `reduce_sum` for the arguments."""


def _public(compute: Callable[..., Tensor], name: str, doc: str) -> ReductionFunction:
    """Return the public function `name`, which passes its arguments to `compute` in order."""

    @named(name, doc)
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        return compute(input_tensor, axis, keepdims, name, reduction_indices, keep_dims)

    return reduce


def _public_of(op_function: OpFunction, doc: str) -> ReductionFunction:
    """Return the public function of a reduction op, such as `reduce_sum` for Sum."""
    doc = cleandoc(doc) + example_of(op_function.op_def.name)
    return _public(partial(reduce_with, op_function), f"reduce_{op_function.__name__}", doc)


reduce_sum = _public_of(
    sum_op,
    """Return the sum along `axis`: an int, ints (negative: from the end), or None for all axes.

    The axes are dropped, or with `keepdims` kept with size 1. An empty sum is 0. Raises ValueError
    for an axis that the tensor does not have. `reduction_indices`, `keep_dims` are older names.
    """,
)
reduce_mean = _public_of(
    mean_op, "Return the mean along `axis` (see `reduce_sum`), truncated for integers."
)
reduce_prod = _public_of(
    prod_op, "Return the product along `axis` (see `reduce_sum`); an empty product is 1."
)
reduce_max = _public_of(
    max_op, "Return the maximum along `axis` (see `reduce_sum`); if empty, the lowest number."
)
reduce_min = _public_of(
    min_op, "Return the minimum along `axis` (see `reduce_sum`); if empty, the highest number."
)
reduce_all = _public_of(
    all_op, "Return whether all bools along `axis` (see `reduce_sum`) are True; if empty, True."
)
reduce_any = _public_of(
    any_op, "Return whether any bool along `axis` (see `reduce_sum`) is True; if empty, False."
)


def _log_sum_exp(
    input_tensor: Any, axis: Any, keepdims: Any, name: str | None, old_axis: Any, old_keep: Any
) -> Tensor:
    axis = either(axis, old_axis, "axis", "reduction_indices")
    keep = bool(either(keepdims, old_keep, "keepdims", "keep_dims"))
    with op_scope(name, "ReduceLogSumExp", input_tensor) as scope:
        x = convert_to_tensor(input_tensor, name="input")
        highest = reduce_max(x, axis, True)
        finite = raw_ops.Select(raw_ops.IsFinite(highest), highest, raw_ops.ZerosLike(highest))
        offset = raw_ops.StopGradient(finite)
        total = reduce_sum(raw_ops.Exp(raw_ops.Sub(x, offset)), axis, keep)
        log = raw_ops.Log(total)
        if not keep:
            offset = raw_ops.Reshape(offset, raw_ops.Shape(log))
        return raw_ops.Add(log, offset, name=scope)


reduce_logsumexp = _public(
    _log_sum_exp,
    "reduce_logsumexp",
    "Return log(sum(exp(x))) along `axis` (see `reduce_sum`), without overflow.",
)


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Return half the sum of the squares of all elements of a floating-point tensor, as a scalar.

    >>> session.run(tf.nn.l2_loss([3.0, 4.0]))
    np.float32(12.5)
    """
    return raw_ops.L2Loss(t, name=name)
