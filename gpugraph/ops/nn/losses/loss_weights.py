"""Checks and conversions of the shapes of weights, labels and predictions, for losses and metrics.

The broadcasting rules for weights are stricter than NumPy's. Weights are a scalar, or have the rank
of the values, and each size is 1 or equals the values' size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.framework.identity_and_shape import rank, shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_WHY = "weights can not be broadcast to values."


def assert_broadcastable(weights: Any, values: Any) -> Operation:
    """Return an operation that raises InvalidArgumentError unless `weights` can be broadcast to
    `values`.

    Raises ValueError if the static shapes already show that they can't.
    """
    with op_scope(None, "assert_broadcastable", weights, values):
        with op_scope(None, "weights", weights) as inside:
            weights_tensor = convert_to_tensor(weights, name=inside)
            weights_shape, weights_rank = (
                shape(weights_tensor, name="shape"),
                rank(weights_tensor, name="rank"),
            )
        with op_scope(None, "values", values) as inside:
            weighed = convert_to_tensor(values, name=inside)
            values_shape, values_rank = shape(weighed, name="shape"), rank(weighed, name="rank")
        success = _static_result(weights_tensor, weighed)
        if success:
            return no_op(name=success)
        ranks = raw_ops.Equal(weights_rank, values_rank, name="is_same_rank")
        scalar = raw_ops.Equal(weights_rank, 0, name="is_scalar")
        fits = raw_ops.LogicalAnd(ranks, _sizes_fit(weights_shape, values_shape, weights_rank))
        valid = raw_ops.LogicalOr(scalar, fits, name="is_valid_shape")
        data = [
            _WHY, "weights.shape=", weights_tensor.name, weights_shape, "values.shape=",
            weighed.name, values_shape,
        ]  # fmt: skip
        return raw_ops.Assert(valid, data, name="Assert")


def _static_result(weights: Tensor, values: Tensor) -> str:
    """Return the name for the op of a check that the static shapes pass. If only a run can check
    the shapes, return the empty string.

    Raises ValueError if the static shapes fail the check.
    """
    sizes, values_sizes = weights.shape.sizes, values.shape.sizes
    if sizes == ():
        return "static_scalar_check_success"
    if sizes is None or values_sizes is None:
        return ""
    if len(sizes) != len(values_sizes):
        raise ValueError(
            f"{_WHY} values.rank={len(values_sizes)}. weights.rank={len(sizes)}. values.shape="
            f"{values.shape}. weights.shape={weights.shape}. They are {weights} and {values}"
        )
    for axis, (size, other) in enumerate(zip(sizes, values_sizes)):
        if size not in (None, 1) and other is not None and size != other:
            raise ValueError(
                f"{_WHY} Mismatch at dim {axis}. values.shape={values.shape}, weights.shape="
                f"{weights.shape}. They are {weights} and {values}"
            )
    return "" if None in (*sizes, *values_sizes) else "static_dims_check_success"


def _sizes_fit(weights_shape: Any, values_shape: Any, weights_rank: Any) -> Any:
    """Return a bool scalar tensor that tells whether each size of the weights is 1 or equal to the
    values' size.
    """
    count = raw_ops.ExpandDims(weights_rank, 0)
    padded = raw_ops.ConcatV2([values_shape, raw_ops.Fill(count, -1)], 0)
    beside = raw_ops.Slice(padded, np.array([0], np.int32), count)
    one = raw_ops.Equal(weights_shape, np.array(1, np.int32))
    fits = raw_ops.LogicalOr(one, raw_ops.Equal(weights_shape, beside))
    return raw_ops.All(fits, np.array([0], np.int32))


def broadcast_weights(weights: Any, values: Any) -> Tensor:
    """Broadcast the weights to `values`. Raises the same errors as `assert_broadcastable`."""
    with op_scope(None, "broadcast_weights", weights, values) as scope:
        weighed = convert_to_tensor(values, name="values")
        weights_tensor = convert_to_tensor(weights, weighed.dtype.base_dtype, name="weights")
        if (
            weights_tensor.shape.is_fully_defined()
            and weights_tensor.shape.sizes == weighed.shape.sizes
        ):
            return weights_tensor
        with weighed.graph.control_dependencies([assert_broadcastable(weights_tensor, weighed)]):
            return raw_ops.Mul(weights_tensor, ones_like(weighed), name=scope)


# -- labels and predictions


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, rank_difference: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return labels and predictions. If one of them has an extra last dimension of size 1, this
    dimension is removed.

    Args:
      rank_difference: the expected rank of predictions minus the expected rank of labels. If the
        actual difference is larger by one, predictions lose their last dimension. If it is smaller
        by one, labels lose their last dimension. Unknown ranks are compared in the run, which
        raises InvalidArgumentError if the last dimension is not 1.
    """
    with op_scope(name, "remove_squeezable_dimensions", labels, predictions):
        target, prediction = convert_to_tensor(labels), convert_to_tensor(predictions)
        if target.shape.rank is None or prediction.shape.rank is None:
            difference = raw_ops.Sub(rank(prediction), rank(target))
            return (
                _of_rank(target, raw_ops.Equal(difference, rank_difference - 1), rank(target) - 1),
                _of_rank(
                    prediction, raw_ops.Equal(difference, rank_difference + 1), rank(prediction) - 1
                ),
            )
        difference = prediction.shape.rank - target.shape.rank
        if difference == rank_difference + 1:
            prediction = squeeze(prediction, [-1])
        elif difference == rank_difference - 1:
            target = squeeze(target, [-1])
        return target, prediction


def squeezed_weights(weights: Any, beside: Tensor) -> Tensor:
    """Return the weights with the rank of the values `beside`, if the ranks differ by 1.

    A last dimension of size 1 is removed or added. Scalar weights stay unchanged. Unknown ranks are
    compared in the run.
    """
    tensor = convert_to_tensor(weights)
    weights_rank, values_rank = tensor.shape.rank, beside.shape.rank
    if weights_rank == 0:
        return tensor
    if weights_rank is None or values_rank is None:
        ranks = rank(tensor), rank(beside)
        near = raw_ops.Equal(raw_ops.Abs(raw_ops.Sub(*ranks)), 1)
        return _of_rank(tensor, raw_ops.LogicalAnd(near, raw_ops.Greater(ranks[0], 0)), ranks[1])
    if weights_rank == values_rank + 1:
        return squeeze(tensor, [-1])
    return expand_dims(tensor, -1) if weights_rank == values_rank - 1 else tensor


def _of_rank(tensor: Tensor, condition: Tensor, wanted: Any) -> Tensor:
    """Return `tensor`. If `condition` is true in the run, it is reshaped to rank `wanted`.

    The reshape adds or removes a last dimension of size 1.
    """
    if tensor.shape.rank and tensor.shape[-1].value not in (None, 1):
        return tensor
    sizes = raw_ops.ConcatV2([shape(tensor), np.ones(1, np.int32)], 0)
    count = raw_ops.Select(condition, wanted, rank(tensor))
    return raw_ops.Reshape(tensor, raw_ops.Slice(sizes, [0], raw_ops.ExpandDims(count, 0)))
