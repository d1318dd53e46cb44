"""Gradient functions of reductions. Most gradients are dy, broadcast over the reduced axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import shape_of


def _known_axes(op: Any) -> list[int] | None:
    """Return the reduced axes as non-negative numbers, or None if the rank or the axes are
    unknown.
    """
    rank = op.inputs[0].shape.rank
    value = constant_value(op.inputs[1])
    if rank is None or value is None:
        return None
    return sorted({int(axis) % rank for axis in np.ravel(value)})


def _kept(op: Any, tensor: Any) -> Any:
    """Reshape `tensor` from the output's shape to a shape in which the reduced axes have size 1."""
    if op.attrs["keep_dims"]:
        return tensor
    x, axes = op.inputs[0], _known_axes(op)
    if axes is None:
        shape = getattr(raw_ops, op.type)(x, op.inputs[1], keep_dims=True)
        return raw_ops.Reshape(tensor, raw_ops.Shape(shape))
    sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape.sizes)]
    if sizes.count(None) <= 1:
        known = [-1 if size is None else size for size in sizes]
        return raw_ops.Reshape(tensor, np.array(known, np.int32))
    reduced = np.array([axis in axes for axis in range(len(sizes))], np.int32)
    shape = raw_ops.Maximum(raw_ops.Mul(raw_ops.Shape(x), 1 - reduced), reduced)
    return raw_ops.Reshape(tensor, shape)


def _spread(tensor: Any, x: Tensor) -> Any:
    """Broadcast `tensor`, in which reduced axes have size 1, to the shape of x."""
    if tensor.shape.is_fully_defined() and tensor.shape == x.shape:
        return tensor
    return raw_ops.BroadcastTo(tensor, shape_of(x))


def sum_gradient(op: Any, dy: Any) -> list[Any]:
    """Return dy, broadcast over the reduced axes."""
    return [_spread(_kept(op, dy), op.inputs[0]), None]


def mean_gradient(op: Any, dy: Any) -> list[Any]:
    """Return dy / n, broadcast over the reduced axes, for a mean of n elements."""
    x, y = op.inputs[0], op.outputs[0]
    before, after = x.shape.num_elements(), y.shape.num_elements()
    count: Any
    if before is not None and after is not None:
        count = before // max(after, 1)
    else:
        sizes = raw_ops.Size(x), raw_ops.Maximum(raw_ops.Size(y), 1)
        count = raw_ops.Cast(raw_ops.FloorDiv(*sizes), DstT=dy.dtype.base_dtype)
    return sum_gradient(op, raw_ops.RealDiv(dy, count))


def chosen_gradient(op: Any, dy: Any) -> list[Any]:
    """Return the gradient of Max or Min. dy is divided equally among the elements that are equal to
    the result.
    """
    x, axes = op.inputs
    chosen = raw_ops.Cast(raw_ops.Equal(_kept(op, op.outputs[0]), x), DstT=dy.dtype.base_dtype)
    number = raw_ops.Sum(chosen, axes, keep_dims=True)
    return [raw_ops.Mul(raw_ops.RealDiv(chosen, number), _kept(op, dy)), None]


def prod_gradient(op: Any, dy: Any) -> list[Any]:
    """Return dy times the product of all other elements. This is correct even if some elements are
    0.

    The axes are reduced one after another. Along an axis, the product of all other elements is the
    exclusive running product from the start, multiplied by the exclusive running product from the
    end. If the axes are not known before the run, the gradient is dy y / x instead, which is NaN
    where x is 0.
    """
    x = op.inputs[0]
    axes = _known_axes(op)
    if axes is None and op.outputs[0].shape.rank == 0 and not op.attrs["keep_dims"]:
        flat = raw_ops.Reshape(x, np.array([-1], np.int32))
        others = raw_ops.Reshape(_product_of_others(flat, [0]), raw_ops.Shape(x))
    elif axes is None:
        others = raw_ops.RealDiv(raw_ops.Prod(x, op.inputs[1], keep_dims=True), x)
    else:
        others = _product_of_others(x, axes)
    return [raw_ops.Mul(conj(others), _kept(op, dy)), None]


def _product_of_others(x: Any, axes: list[int]) -> Any:
    others: Any = None
    for axis in axes:
        where = raw_ops.Const(value=np.array(axis, np.int32), dtype=int32)
        before = raw_ops.Cumprod(x, where, exclusive=True)
        after = raw_ops.Cumprod(x, where, exclusive=True, reverse=True)
        part = raw_ops.Mul(before, after)
        others = part if others is None else raw_ops.Mul(others, part)
        x = raw_ops.Prod(x, where, keep_dims=True)
    return raw_ops.OnesLike(x) if others is None else others


def norm_gradient(op: Any, dy: Any) -> list[Any]:
    """Return the gradient x dy / y of an l2 norm y, where dy and y are broadcast. It is NaN where
    the norm is 0.
    """
    slope = raw_ops.RealDiv(_kept(op, dy), _kept(op, op.outputs[0]))
    return [raw_ops.Mul(op.inputs[0], slope), None]
