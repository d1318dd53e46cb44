"""`tf.batch_gather` and `tf.repeat`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import normalize_axis
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Gather slices of `params` within each batch entry. All axes of `indices` except the last are
    batch axes.

    Raises ValueError if `indices` is a scalar or of unknown rank.
    """
    with op_scope(name, "BatchGather", params, indices):
        where = convert_to_tensor(indices, name="indices")
        if not where.shape.rank:
            raise ValueError("batch_gather needs indices of known rank, of 1 or more")
        batches = where.shape.rank - 1
        return gather(convert_to_tensor(params, name="params"), where, batch_dims=batches)


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Repeat each slice of `input` along `axis`. If `axis` is None, flatten `input` first.

    Raises ValueError if `input` does not have the axis, or if its rank is unknown.

    Args:
      repeats: the number of repetitions, or a vector with a number for each slice.
    """
    with op_scope(name, "Repeat", input, repeats):
        data = convert_to_tensor(input, name="input")
        if axis is None:
            data, axis = raw_ops.Reshape(data, np.array([-1], np.int32)), 0
        rank = data.shape.rank
        if rank is None:
            raise ValueError("repeat needs an input of known rank")
        position = normalize_axis(axis, rank)
        times = convert_to_tensor(repeats, dtypes.int32, name="repeats")
        one = np.array([1], np.int32)
        size = raw_ops.StridedSlice(
            raw_ops.Shape(data), one * position, one * (position + 1), one, shrink_axis_mask=1
        )
        counts = raw_ops.BroadcastTo(times, raw_ops.ExpandDims(size, 0))
        ends = raw_ops.Cumsum(counts, 0)
        total = raw_ops.Sum(counts, np.array([0], np.int32))
        places = raw_ops.Range(0, total, 1)
        rows = raw_ops.UpperBound(raw_ops.ExpandDims(ends, 0), raw_ops.ExpandDims(places, 0))
        repeated = gather(data, raw_ops.Squeeze(rows, squeeze_dims=[0]), axis=position)
        known, sizes = constant_value(times), list(data.shape.sizes or ())
        parts = sizes[position]
        if known is not None and parts is not None:
            sizes[position] = int(np.broadcast_to(known, parts).sum())
            repeated.set_shape(sizes)
        return repeated
