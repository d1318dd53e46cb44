"""Softmax and its logarithm, over the last axis or any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.dtypes import FLOATING
from gpugraph.errors import InvalidArgumentError
from gpugraph.graph.infer import InferContext
from gpugraph.graph.op_def import OpDef
from gpugraph.graph.tensor import Tensor
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays import op_scope
from gpugraph.ops.convert import convert_to_tensor
from gpugraph.ops.declare import op, raw_ops
from gpugraph.shapes import TensorShape

__all__ = ["log_softmax", "softmax"]


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return [context.shapes[0].with_rank_at_least(1)]


def _nothing() -> None:
    """Nothing to compute of an empty tensor."""


def _rows(context: KernelContext, *arrays: Any) -> list[Any]:
    """The arrays as matrices of rows, and a column to hold one number a row."""
    count, width = prod(arrays[0].shape[:-1]), arrays[0].shape[-1]
    column = context.scratch((count, 1), context.output_types[0].base_dtype)
    return [array.reshape(count, width) for array in arrays] + [column]


def _bind_softmax(context: KernelContext, logits: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return _nothing
    rows, result, column = _rows(context, logits, out)
    largest = partial(rows.max, 1, column, True)
    total = partial(result.sum, 1, None, column, True)

    def run() -> None:
        largest()
        np.subtract(rows, column, out=result)
        np.exp(result, out=result)
        total()
        np.divide(result, column, out=result)

    return run


def _bind_log_softmax(context: KernelContext, logits: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return _nothing
    rows, result, column = _rows(context, logits, out)
    powers = context.scratch(result.shape, context.output_types[0].base_dtype)
    largest = partial(rows.max, 1, column, True)
    total = partial(powers.sum, 1, None, column, True)

    def run() -> None:
        largest()
        np.subtract(rows, column, out=result)
        np.exp(result, out=powers)
        total()
        np.log(column, out=column)
        np.subtract(result, column, out=result)

    return run


_LAST = np.array([-1], np.int32)


def _softmax_back(op: Any, dy: Any) -> Any:
    y = op.outputs[0]
    mean = raw_ops.Sum(raw_ops.Mul(dy, y), _LAST, keep_dims=True)
    return raw_ops.Mul(raw_ops.Sub(dy, mean), y)


def _log_softmax_back(op: Any, dy: Any) -> Any:
    total = raw_ops.Sum(dy, _LAST, keep_dims=True)
    return raw_ops.Sub(dy, raw_ops.Mul(total, raw_ops.Exp(op.outputs[0])))


_softmax_op = op(
    "Softmax",
    inputs="logits: T",
    outputs="softmax: T",
    attrs={"T": FLOATING},
    infer=_infer,
    cpu=Call(make=_bind_softmax),
    gpu=Call(make=_bind_softmax),
    grad=_softmax_back,
    doc="exp(logits) / sum(exp(logits)) along the last axis.",
)

_log_softmax_op = op(
    "LogSoftmax",
    inputs="logits: T",
    outputs="logsoftmax: T",
    attrs={"T": FLOATING},
    infer=_infer,
    cpu=Call(make=_bind_log_softmax),
    gpu=Call(make=_bind_log_softmax),
    grad=_log_softmax_back,
    doc="logits - log(sum(exp(logits))) along the last axis.",
)


def last_axis_swapped(tensor: Tensor, axis: int) -> Any:
    """`tensor` with `axis` and the last one swapped; doing it twice undoes it."""
    rank = tensor.shape.rank
    if rank is not None:
        order: Any = np.arange(rank, dtype=np.int32)
        order[axis], order[rank - 1] = rank - 1, axis % rank
        return raw_ops.Transpose(tensor, order)
    last = raw_ops.Sub(raw_ops.Rank(tensor), 1)
    axes = raw_ops.Range(0, raw_ops.Rank(tensor), 1)
    place = raw_ops.FloorMod(np.array(axis, np.int32), raw_ops.Rank(tensor))
    at_axis = raw_ops.Mul(
        raw_ops.Cast(raw_ops.Equal(axes, place), DstT=axes.dtype), raw_ops.Sub(last, place)
    )
    at_last = raw_ops.Mul(
        raw_ops.Cast(raw_ops.Equal(axes, last), DstT=axes.dtype), raw_ops.Sub(place, last)
    )
    return raw_ops.Transpose(tensor, raw_ops.Add(raw_ops.Add(axes, at_axis), at_last))


def _along(function: Any, logits: Any, axis: int | None, name: str | None) -> Tensor:
    source = convert_to_tensor(logits, name="logits")
    rank = source.shape.rank
    chosen = -1 if axis is None else int(axis)
    if rank is not None and not -rank <= chosen < rank:
        raise InvalidArgumentError(
            None, None, f"Dimension ({chosen}) must be in the range [{-rank}, {rank})"
        )
    made: Tensor
    if chosen == -1 or (rank is not None and chosen == rank - 1):
        made = function(source, name=name)
        return made
    op_def: OpDef = function.op_def
    with op_scope(name, op_def.name, source) as scope:
        swapped = function(last_axis_swapped(source, chosen))
        made = last_axis_swapped(swapped, chosen)
        made.set_shape(source.shape)
        made = raw_ops.Identity(made, name=scope)
        return made


def _one_of(axis: Any, dim: Any) -> Any:
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'.")
    return dim if axis is None else axis


def softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """exp(logits) / sum(exp(logits)) along `axis` (older: `dim`), by default the last.

    InvalidArgumentError for an axis outside [-rank, rank).
    """
    return _along(_softmax_op, logits, _one_of(axis, dim), name)


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """logits - log(sum(exp(logits))) along `axis` (older: `dim`), by default the last.

    InvalidArgumentError for an axis outside [-rank, rank).
    """
    return _along(_log_softmax_op, logits, _one_of(axis, dim), name)
