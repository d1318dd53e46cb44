"""The public functions of segment reductions, `segment_sum`, `unsorted_segment_sum` and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.division import truediv
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.segments.segment_ops import SORTED, UNSORTED

segment_sum: Callable[..., Tensor] = public_function(SORTED["Sum"])
segment_mean: Callable[..., Tensor] = public_function(SORTED["Mean"])
segment_prod: Callable[..., Tensor] = public_function(SORTED["Prod"])
segment_max: Callable[..., Tensor] = public_function(SORTED["Max"])
segment_min: Callable[..., Tensor] = public_function(SORTED["Min"])
unsorted_segment_sum: Callable[..., Tensor] = public_function(UNSORTED["Sum"])
unsorted_segment_prod: Callable[..., Tensor] = public_function(UNSORTED["Prod"])
unsorted_segment_max: Callable[..., Tensor] = public_function(UNSORTED["Max"])
unsorted_segment_min: Callable[..., Tensor] = public_function(UNSORTED["Min"])


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """Return the mean of each segment, or 0 for an empty segment.

    See `unsorted_segment_sum` for the arguments. The mean of integers is floating-point, as with
    Python's `/`.
    """
    with op_scope(name, "UnsortedSegmentMean"):
        total, count = _sums_and_counts(data, segment_ids, num_segments)
        return truediv(total, count, name="truediv")


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """Return the sum of each segment, divided by the square root of the number of its slices.

    See `unsorted_segment_sum` for the arguments.
    """
    with op_scope(name, "UnsortedSegmentSqrtN"):
        total, count = _sums_and_counts(data, segment_ids, num_segments)
        return raw_ops.RealDiv(total, raw_ops.Sqrt(count), name="truediv")


def _sums_and_counts(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Tensor, Tensor]:
    """Return the sum of each segment, and the number of slices in each segment, or 1 if the segment
    is empty.

    The numbers have the shape (num_segments, 1, ..., 1), which broadcasts to the shape of the sums.
    """
    tensor, ids, number = map(convert_to_tensor, (data, segment_ids, num_segments))
    one = np.array(1, tensor.dtype.as_numpy_dtype)
    counts = unsorted_segment_sum(raw_ops.Fill(raw_ops.Shape(ids), one), ids, number)
    further = raw_ops.Sub(raw_ops.Rank(tensor), raw_ops.Rank(ids))
    lone = raw_ops.Fill(raw_ops.ExpandDims(further, 0), np.array(1, number.dtype.as_numpy_dtype))
    shape = raw_ops.ConcatV2([raw_ops.ExpandDims(number, 0), lone], 0)
    count = raw_ops.Maximum(raw_ops.Reshape(counts, shape), one)
    return unsorted_segment_sum(tensor, ids, num_segments), count
