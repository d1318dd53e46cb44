"""Elements picked by position: gather and scatter, segment sums, masks, embeddings.

Positions are checked before anything is written: one that is outside is an InvalidArgumentError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph import dtypes
from gpugraph.dtypes import ALL, NUMERIC
from gpugraph.errors import InvalidArgumentError
from gpugraph.graph.infer import InferContext
from gpugraph.graph.tensor import Tensor
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.array_shapes import INDEX
from gpugraph.ops.arrays import ints, op_scope, shape_of
from gpugraph.ops.convert import convert_to_tensor
from gpugraph.ops.declare import Attr, op, raw_ops
from gpugraph.ops.kernels import HostOnly
from gpugraph.ops.shape_functions import UNKNOWN, normalize_axis
from gpugraph.shapes import TensorShape

__all__ = [
    "boolean_mask",
    "embedding_lookup",
    "gather",
    "gather_nd",
    "scatter_nd",
    "unsorted_segment_sum",
]

_ON_HOST = HostOnly("positions are checked, and repeated ones added up in order, on the host")


def _check_inside(indices: Any, size: int, what: str = "indices") -> None:
    """InvalidArgumentError that names the first of `indices` outside [0, size)."""
    if indices.size == 0 or (indices.min() >= 0 and indices.max() < size):
        return
    outside = np.argwhere((indices < 0) | (indices >= size))[0].tolist()
    at = ",".join(map(str, outside))
    value = indices[tuple(outside)]
    raise InvalidArgumentError(None, None, f"{what}[{at}] = {value} is not in [0, {size})")


# -- gather


def _infer_gather(context: InferContext) -> Sequence[TensorShape]:
    params, indices = context.shapes[0].sizes, context.shapes[1].sizes
    value, batch = context.value(2), context.attrs["batch_dims"]
    if params is not None and not params:
        raise ValueError("params must be of rank at least 1 but is a scalar")
    if indices is None or params is None:
        return [UNKNOWN]
    if not -len(indices) <= batch <= len(indices):
        raise ValueError(f"batch_dims {batch} is not in [-{len(indices)}, {len(indices)}]")
    batch = batch + len(indices) if batch < 0 else batch
    if value is None:
        return [TensorShape.of((None,) * (len(params) + len(indices) - 1 - batch))]
    axis = normalize_axis(ints(value)[0], len(params))
    if batch > axis:
        raise ValueError(f"batch_dims {batch} must be at most axis {axis}")
    shared = TensorShape.of(params[:batch]).merge_with(TensorShape.of(indices[:batch])).sizes
    assert shared is not None
    return [TensorShape.of((*shared, *params[batch:axis], *indices[batch:], *params[axis + 1 :]))]


def _batch_dims(attrs: Any, indices_rank: int) -> int:
    batch: int = attrs["batch_dims"]
    return batch + indices_rank if batch < 0 else batch


def _bind_gather(
    context: KernelContext, params: Any, indices: Any, out: Any
) -> Callable[[], Any]:
    axis = normalize_axis(ints(context.value(2))[0], params.ndim)
    batch = _batch_dims(context.attrs, indices.ndim)
    size = params.shape[axis]
    parts = [
        (params[at], indices[at], out[(*at, ...)]) for at in np.ndindex(*indices.shape[:batch])
    ]

    def run() -> None:
        _check_inside(indices, size)
        for source, where, target in parts:
            np.take(source, where, axis - batch, target, "clip")

    return run


def _gather_back(op: Any, dy: Any) -> list[Any]:
    params, indices, axis = op.inputs
    params_rank, indices_rank = params.shape.rank, indices.shape.rank
    value = op.get_attr("batch_dims")
    chosen = raw_ops_constant(axis)
    if chosen == 0 and value == 0:
        count = raw_ops.StridedSlice(
            raw_ops.Shape(params), [0], [1], [1], shrink_axis_mask=1
        ) if params.shape.sizes is None or params.shape.sizes[0] is None else params.shape.sizes[0]
        dx = raw_ops.UnsortedSegmentSum(dy, indices, count)
        dx.set_shape(params.shape)
        return [dx, None, None]
    if chosen is None or params_rank is None or indices_rank is None:
        raise NotImplementedError
    return [None, None, None]
