"""The conversion of gather_nd's coordinates within batch entries to coordinates in the whole
tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import size_at
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def whole_coordinates(indices: Any, batch_dims: int) -> Tensor:
    """Convert coordinates within batch entries to coordinates in the whole tensor.

    Raises ValueError unless `batch_dims` is less than the rank of `indices`.

    Args:
      indices: a tensor of shape [..., depth], whose first `batch_dims` axes are batch axes. The
        result has the shape [..., batch_dims + depth].
    """
    tensor = convert_to_tensor(indices, name="indices")
    rank = tensor.shape.rank
    if batch_dims < 0 or (rank is not None and batch_dims >= rank):
        raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices) = {rank}")
    shape, count, one = raw_ops.Shape(tensor), raw_ops.Rank(tensor), np.array(1, np.int32)
    zero, last = np.array(0, np.int32), np.array([-1], np.int32)
    first = raw_ops.StridedSlice(shape, last * 0, last, last * -1, begin_mask=1)
    whole = raw_ops.ConcatV2([first, last * -1], zero)
    parts = []
    for axis in range(batch_dims):
        size = size_at(tensor, axis)
        entries = raw_ops.Cast(raw_ops.Range(zero, size, one), DstT=tensor.dtype)
        along = raw_ops.OneHot(np.array(axis, np.int32), count, raw_ops.Sub(size, one), zero)
        entries = raw_ops.Reshape(entries, raw_ops.AddV2(along, one))
        parts.append(raw_ops.BroadcastTo(entries, whole))
    coordinates: Tensor = raw_ops.ConcatV2([*parts, tensor], np.array(-1, np.int32))
    if tensor.shape.sizes is not None:
        *outer, depth = tensor.shape.sizes
        coordinates.set_shape((*outer, None if depth is None else depth + batch_dims))
    return coordinates
