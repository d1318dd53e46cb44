"""The gradient of broadcasting, which is a sum over the axes along which an input was broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant


def unbroadcast(grad: Any, source: Tensor, other: Tensor) -> Any:
    """Sum `grad` over the axes along which `source` was broadcast against `other`. The result has
    the shape of `source`.

    Args:
      grad: a tensor of the broadcast shape.
    """
    here, there = source.shape, other.shape
    axes = _repeated(here, there)
    if axes is not None:
        return _unbroadcast_known(grad, here, there, axes)
    shape = _shape(source)
    along = raw_ops.BroadcastGradientArgs(shape, _shape(other))[0]
    return raw_ops.Reshape(raw_ops.Sum(grad, along), shape)


def _repeated(here: TensorShape, there: TensorShape) -> list[int] | None:
    """Return the axes of the broadcast shape over which to sum, or None if they are known only in a
    run.

    An axis of size 1 in `here` can be summed over even if its size in `there` is unknown. If the
    size in `there` is also 1, the sum has a single term.
    """
    if here.sizes is None or there.sizes is None:
        return None
    rank = max(len(here.sizes), len(there.sizes))
    mine = (1,) * (rank - len(here.sizes)) + here.sizes
    theirs = (1,) * (rank - len(there.sizes)) + there.sizes
    if any(mine_size is None and size != 1 for mine_size, size in zip(mine, theirs)):
        return None
    short = rank > len(here.sizes) or 1 in here.sizes
    if short and not here.is_fully_defined():
        return None
    return [axis for axis in range(rank) if mine[axis] == 1 and theirs[axis] != 1]


def _unbroadcast_known(grad: Any, here: TensorShape, there: TensorShape, axes: list[int]) -> Any:
    if axes:
        grad = raw_ops.Sum(grad, np.array(axes, np.int32))
    if axes or len(here.sizes or ()) < len(there.sizes or ()):
        grad = raw_ops.Reshape(grad, np.array(here.sizes, np.int32))
    return grad


def _shape(tensor: Tensor) -> Tensor:
    """Return the shape of `tensor`, as a constant if the shape is known.

    The gradient of a loop need not store a constant for each iteration.
    """
    if tensor.shape.is_fully_defined():
        return constant(np.array(tensor.shape.sizes, np.int32), name="Shape")
    return raw_ops.Shape(tensor)


def unbroadcast_pair(op: Any, x_grad: Any, y_grad: Any) -> list[Any]:
    """Return the gradients of a binary op, each summed to the shape of its input."""
    x, y = op.inputs
    if _repeated(x.shape, y.shape) is not None or _repeated(y.shape, x.shape) is not None:
        return [unbroadcast(x_grad, x, y), unbroadcast(y_grad, y, x)]
    shapes = [_shape(x), _shape(y)]
    axes = raw_ops.BroadcastGradientArgs(*shapes)
    return [
        raw_ops.Reshape(raw_ops.Sum(grad, along), shape)
        for grad, along, shape in zip((x_grad, y_grad), axes, shapes)
    ]
