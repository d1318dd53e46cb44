"""The public functions of segments, sorted and unsorted, under TensorFlow's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.segments.segment_ops import SORTED, UNSORTED


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The sums of the runs of `data` along axis 0 whose `segment_ids` are equal.

    segment_ids: a vector of data.shape[0] numbers of 0 or more that never fall; ones that are left
    out have 0. Shape: (last id + 1,) + data.shape[1:]. InvalidArgumentError in a run for ids that
    fall or are negative.
    """
    return SORTED["Sum"](data, segment_ids, name=name)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The means of runs of `data`; see `segment_sum`."""
    return SORTED["Mean"](data, segment_ids, name=name)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The products of runs of `data`, 1 of what is left out; see `segment_sum`."""
    return SORTED["Prod"](data, segment_ids, name=name)


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The largest elements of runs of `data`; see `segment_sum`."""
    return SORTED["Max"](data, segment_ids, name=name)


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The smallest elements of runs of `data`; see `segment_sum`."""
    return SORTED["Min"](data, segment_ids, name=name)


def unsorted_segment_sum(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sums of the parts of `data` that share a segment id, a tensor of `num_segments` parts.

    Parts of negative ids are dropped; an id of num_segments or more is an InvalidArgumentError in
    a run. Shape: (num_segments,) + data.shape[segment_ids.rank:].
    """
    return UNSORTED["Sum"](data, segment_ids, num_segments, name=name)


def unsorted_segment_prod(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The products of parts of `data`, 1 of none; see `unsorted_segment_sum`."""
    return UNSORTED["Prod"](data, segment_ids, num_segments, name=name)


def unsorted_segment_max(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The largest of parts of `data`, the lowest number of none; see `unsorted_segment_sum`."""
    return UNSORTED["Max"](data, segment_ids, num_segments, name=name)


def unsorted_segment_min(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The smallest of parts of `data`, the highest number of none; see `unsorted_segment_sum`."""
    return UNSORTED["Min"](data, segment_ids, num_segments, name=name)


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The means of parts of `data`, 0 of none; see `unsorted_segment_sum`."""
    with op_scope(name, "UnsortedSegmentMean"):
        tensor, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _counts(tensor, ids, num_segments)
        total = unsorted_segment_sum(tensor, ids, num_segments)
        return raw_ops.RealDiv(total, count, name="truediv")


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sums of parts of `data` over the roots of how many; see `unsorted_segment_sum`."""
    with op_scope(name, "UnsortedSegmentSqrtN"):
        tensor, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _counts(tensor, ids, num_segments)
        total = unsorted_segment_sum(tensor, ids, num_segments)
        return raw_ops.RealDiv(total, raw_ops.Sqrt(count), name="truediv")


def _counts(data: Tensor, ids: Tensor, num_segments: Any) -> Tensor:
    """How many parts each segment has, 1 at least, in a shape that broadcasts to the sums."""
    number = convert_to_tensor(num_segments)
    ones = raw_ops.Fill(raw_ops.Shape(ids), np.array(1, data.dtype.as_numpy_dtype))
    counts = unsorted_segment_sum(ones, ids, number)
    further = raw_ops.Sub(raw_ops.Rank(data), raw_ops.Rank(ids))
    lone = raw_ops.Fill(raw_ops.ExpandDims(further, 0), np.array(1, number.dtype.as_numpy_dtype))
    shape = raw_ops.ConcatV2([raw_ops.ExpandDims(number, 0), lone], 0)
    return raw_ops.Maximum(raw_ops.Reshape(counts, shape), np.array(1, data.dtype.as_numpy_dtype))
