"""The gradient of broadcasting: sum over the axes along which an input was repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.tensor import Tensor
from gpugraph.ops.declare import raw_ops

__all__ = ["unbroadcast", "unbroadcast_pair"]


def unbroadcast(grad: Any, source: Tensor, other: Tensor) -> Any:
    """`grad`, of the shape of `source` and `other` broadcast, summed to the shape of `source`."""
    here, there = source.shape, other.shape
    if here.is_fully_defined() and there.is_fully_defined():
        return _unbroadcast_known(grad, here.sizes or (), there.sizes or ())
    shape = raw_ops.Shape(source)
    axes = raw_ops.BroadcastGradientArgs(shape, raw_ops.Shape(other))[0]
    return raw_ops.Reshape(raw_ops.Sum(grad, axes), shape)


def _unbroadcast_known(grad: Any, here: Any, there: Any) -> Any:
    if here == there:
        return grad
    rank = max(len(here), len(there))
    mine = (1,) * (rank - len(here)) + tuple(here)
    theirs = (1,) * (rank - len(there)) + tuple(there)
    axes = [axis for axis in range(rank) if mine[axis] == 1 and theirs[axis] != 1]
    if axes:
        grad = raw_ops.Sum(grad, np.array(axes, np.int32))
    if axes or len(here) != rank:
        grad = raw_ops.Reshape(grad, np.array(here, np.int32))
    return grad


def unbroadcast_pair(op: Any, x_grad: Any, y_grad: Any) -> list[Any]:
    """Both gradients of a binary op, each summed to its input's shape."""
    x, y = op.inputs
    return [unbroadcast(x_grad, x, y), unbroadcast(y_grad, y, x)]
