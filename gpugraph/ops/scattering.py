"""Elements by their coordinates, and sums by segment: the scattering side of gather.

Positions are checked before anything is written: one that is outside is an InvalidArgumentError.
What is added to one place is added in the order in which it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from gpugraph.ops.arrays import ints, shape_of
from gpugraph.ops.declare import op, raw_ops
from gpugraph.ops.kernels import HostOnly
from gpugraph.ops.shape_functions import UNKNOWN
from gpugraph.shapes import TensorShape

__all__ = ["Coordinates", "combine_rows", "gather_nd", "scatter_nd", "unsorted_segment_sum"]

_ON_HOST = HostOnly("positions are checked, and repeated ones added up in order, on the host")


# -- gather and scatter by coordinates


def _depth(indices: tuple[int | None, ...] | None) -> int | None:
    if indices is None:
        return None
    if not indices:
        raise ValueError("indices must be of rank at least 1 but is a scalar")
    return indices[-1]


def _infer_gather_nd(context: InferContext) -> Sequence[TensorShape]:
    params, indices = context.shapes[0].sizes, context.shapes[1].sizes
    depth = _depth(indices)
    if params is None or indices is None or depth is None:
        return [UNKNOWN]
    if depth > len(params):
        raise ValueError(f"indices has {depth} coordinates for params of rank {len(params)}")
    return [TensorShape.of((*indices[:-1], *params[depth:]))]


class Coordinates:
    """Rows of coordinates as numbers of rows of a tensor of shape (prod(sizes), rest)."""

    def __init__(self, context: KernelContext, indices: Any, sizes: Sequence[int]) -> None:
        depth = indices.shape[-1]
        self.sizes = np.array(sizes[:depth], np.int64)
        self.steps = [prod(sizes[axis + 1 : depth]) for axis in range(depth)]
        self.indices = indices.reshape(prod(indices.shape[:-1]), depth)
        self.rows = context.scratch((self.indices.shape[0],), dtypes.int64)

    def __call__(self) -> Any:
        """The row numbers; InvalidArgumentError for coordinates outside."""
        rows = self.rows
        rows.fill(0)
        for column, (step, size) in enumerate(zip(self.steps, self.sizes.tolist(), strict=True)):
            values = self.indices[:, column]
            if values.size and (values.min() < 0 or values.max() >= size):
                self._refuse()
            rows += values.astype(np.int64) * step
        return rows

    def _refuse(self) -> None:
        outside = ((self.indices < 0) | (self.indices >= self.sizes)).any(axis=1)
        at = int(np.flatnonzero(outside)[0])
        raise InvalidArgumentError(
            None,
            None,
            f"indices[{at}] = {self.indices[at].tolist()} is not inside the shape "
            f"{self.sizes.tolist()}",
        )


def _bind_gather_nd(
    context: KernelContext, params: Any, indices: Any, out: Any
) -> Callable[[], Any]:
    find_rows = Coordinates(context, indices, params.shape)
    count = prod(params.shape[: indices.shape[-1]])
    rest = prod(params.shape[indices.shape[-1] :])
    source = params.reshape(count, rest)
    target = out.reshape(find_rows.rows.size, rest)
    return lambda: np.copyto(target, source[find_rows()])


_gather_nd = op(
    "GatherNd",
    inputs="params: Tparams, indices: Tindices",
    outputs="output: Tparams",
    attrs={"Tparams": ALL, "Tindices": INDEX},
    infer=_infer_gather_nd,
    cpu=Call(make=_bind_gather_nd),
    gpu=_ON_HOST,
    grad=lambda op, dy: [
        raw_ops.ScatterNd(op.inputs[1], dy, shape_of(op.inputs[0], op.inputs[1].dtype)),
        None,
    ],
    doc="The parts of params at the coordinates in the last dimension of `indices`.",
)


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """The parts of `params` at the coordinates that the last dimension of `indices` holds.

    Shape: indices.shape[:-1] + params.shape[indices.shape[-1]:]. InvalidArgumentError in a run
    for coordinates outside; ValueError for `batch_dims`, which aren't supported.
    """
    if batch_dims != 0:
        raise ValueError(f"gather_nd supports no batch_dims, but they are {batch_dims}")
    made: Tensor = _gather_nd(params, indices, name=name)
    return made


def _infer_scatter_nd(context: InferContext) -> Sequence[TensorShape]:
    indices, updates = context.shapes[0].sizes, context.shapes[1].sizes
    shape = context.value_as_shape(2)
    depth = _depth(indices)
    if indices is None or depth is None or shape.sizes is None or updates is None:
        return [shape]
    if depth > len(shape.sizes):
        raise ValueError(f"indices has {depth} coordinates for a shape of rank {len(shape.sizes)}")
    wanted = TensorShape.of((*indices[:-1], *shape.sizes[depth:]))
    if not wanted.is_compatible_with(TensorShape.of(updates)):
        raise ValueError(f"updates must be of shape {wanted}, but are {TensorShape.of(updates)}")
    return [shape]


_LONG_ROW = 256
"""Elements from which on going row by row is faster than going by single elements."""
_BLOCK = 1 << 16


def combine_rows(combine: Any, target: Any, rows: Any, values: Any) -> None:
    """target[rows[i]] = combine(target[rows[i]], values[i]), in order, by a ufunc `combine`.

    target and values are matrices.
    """
    width = values.shape[1]
    if width >= _LONG_ROW:
        for row, value in zip(rows.tolist(), values, strict=True):
            combine(target[row], value, out=target[row])
        return
    if width == 1:
        combine.at(target[:, 0], rows.astype(np.intp), values[:, 0])
        return
    flat, columns = target.reshape(-1), np.arange(width)
    step = max(1, _BLOCK // max(width, 1))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        where = rows[block, None].astype(np.intp) * width + columns
        combine.at(flat, where.reshape(-1), values[block].reshape(-1))


def _bind_scatter_nd(
    context: KernelContext, indices: Any, updates: Any, out: Any
) -> Callable[[], Any]:
    find_rows = Coordinates(context, indices, out.shape)
    count = prod(out.shape[: indices.shape[-1]])
    rest = prod(out.shape[indices.shape[-1] :])
    target = out.reshape(count, rest)
    values = updates.reshape(find_rows.rows.size, rest)

    def run() -> None:
        rows = find_rows()
        out.fill(0)
        combine_rows(np.add, target, rows, values)

    return run


_scatter_nd = op(
    "ScatterNd",
    inputs="indices: Tindices, updates: T, shape: Tindices",
    outputs="output: T",
    attrs={"T": NUMERIC, "Tindices": INDEX},
    infer=_infer_scatter_nd,
    host=[2],
    cpu=Call(make=_bind_scatter_nd),
    gpu=_ON_HOST,
    grad=lambda op, dy: [None, raw_ops.GatherNd(dy, op.inputs[0]), None],
    doc="Zeros of `shape` to which `updates` are added at the coordinates in `indices`.",
)


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of `shape` with `updates` added at the coordinates in the last dimension of `indices`.

    Updates of the same place add up. InvalidArgumentError in a run for coordinates outside.
    """
    made: Tensor = _scatter_nd(indices, updates, shape, name=name)
    return made


# -- segment sums


def _infer_segments(context: InferContext) -> Sequence[TensorShape]:
    data, ids = context.shapes[0].sizes, context.shapes[1].sizes
    value = context.value(2)
    count = None if value is None else ints(value)[0]
    if count is not None and count < 0:
        raise ValueError(f"num_segments can't be negative, but is {count}")
    if data is None or ids is None:
        return [UNKNOWN]
    if not TensorShape.of(data[: len(ids)]).is_compatible_with(TensorShape.of(ids)):
        raise ValueError(
            f"data's shape {TensorShape.of(data)} must start with that of segment_ids, "
            f"{TensorShape.of(ids)}"
        )
    return [TensorShape.of((count, *data[len(ids) :]))]


def _bind_segment_sum(_: KernelContext, data: Any, segment_ids: Any, out: Any) -> Callable[[], Any]:
    ids = segment_ids.reshape(-1)
    count, rest = out.shape[0], prod(out.shape[1:])
    target, values = out.reshape(count, rest), data.reshape(ids.size, rest)

    def run() -> None:
        if ids.size and ids.max() >= count:
            at = int(np.flatnonzero(ids >= count)[0])
            raise InvalidArgumentError(
                None, None, f"segment_ids[{at}] = {ids[at]} is out of range [0, {count})"
            )
        out.fill(0)
        if ids.size and ids.min() < 0:
            kept = ids >= 0
            combine_rows(np.add, target, ids[kept], values[kept])
        else:
            combine_rows(np.add, target, ids, values)

    return run


def _segment_sum_back(op: Any, dy: Any) -> list[Any]:
    data, ids = op.inputs[:2]
    flat = raw_ops.Reshape(ids, np.array([-1], np.int32))
    zero = raw_ops.ZerosLike(flat)
    rows = raw_ops.GatherV2(dy, raw_ops.Maximum(flat, zero), 0)
    kept = raw_ops.Select(raw_ops.GreaterEqual(flat, zero), rows, raw_ops.ZerosLike(rows))
    return [raw_ops.Reshape(kept, shape_of(data)), None, None]


_unsorted_segment_sum = op(
    "UnsortedSegmentSum",
    inputs="data: T, segment_ids: Tindices, num_segments: Tnumsegments",
    outputs="output: T",
    attrs={"T": NUMERIC, "Tindices": INDEX, "Tnumsegments": INDEX},
    infer=_infer_segments,
    host=[2],
    cpu=Call(make=_bind_segment_sum),
    gpu=_ON_HOST,
    grad=_segment_sum_back,
    doc="output[i] = the sum of data[j] over all j with segment_ids[j] == i.",
)


def unsorted_segment_sum(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sums of the parts of `data` that share a segment id, a tensor of `num_segments` parts.

    Parts of negative ids are dropped; an id of num_segments or more is an InvalidArgumentError in
    a run. Shape: (num_segments,) + data.shape[segment_ids.rank:].
    """
    made: Tensor = _unsorted_segment_sum(data, segment_ids, num_segments, name=name)
    return made
