"""Gradient functions of reductions by segment.

They are used for sorted and unsorted segments. In this module, a part is a slice of the data that
has one segment id. The gradient of a part is computed from the gradient of its segment. A part with
a negative id is in no segment, so its gradient is 0. Divisions by the number of parts give 0 for an
empty segment, because second gradients would be NaN otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import shape_of


class _Segments:
    """The segments of an op, with the parts of its data as rows."""

    def __init__(self, op: Any) -> None:
        self.data, ids = op.inputs[:2]
        self.is_sorted = len(op.inputs) == 2
        self.count = None if self.is_sorted else op.inputs[2]
        self.nothing = [None] * (len(op.inputs) - 1)
        self.ids = raw_ops.Reshape(ids, np.array([-1], np.int32))
        self.output = op.outputs[0]
        if not self.is_sorted:
            zero = raw_ops.ZerosLike(self.ids)
            self.there = raw_ops.GreaterEqual(self.ids, zero)
            self.rows = raw_ops.Maximum(self.ids, zero)

    def gather(self, values: Any) -> Any:
        """Return, for each part of the data, the row of `values` for the part's segment, or 0 if
        the part has a negative id.
        """
        if self.is_sorted:
            places = raw_ops.Reshape(self.ids, np.array([-1, 1, 1], np.int32))
            return raw_ops.Squeeze(raw_ops.GatherNd(values, places), squeeze_dims=[1])
        sizes = self.output.shape.sizes
        if sizes is None or not sizes[0]:
            return self._gather_of_any_number(values)
        rows = raw_ops.GatherV2(values, self.rows, 0)
        return raw_ops.Select(self.there, rows, raw_ops.ZerosLike(rows))

    def _gather_of_any_number(self, values: Any) -> Any:
        """Return the result of `gather`. This also works if there are no segments.

        Index 0 selects a row of zeros that is inserted in front.
        """
        ones = np.array([1], np.int32)
        zero = values.dtype.base_dtype.as_numpy_dtype(0)
        nothing = raw_ops.Fill(raw_ops.ConcatV2([ones, raw_ops.Shape(values)[1:]], 0), zero)
        whole = raw_ops.ConcatV2([nothing, values], 0)
        places = raw_ops.Maximum(raw_ops.AddV2(self.ids, 1), raw_ops.ZerosLike(self.ids))
        return raw_ops.GatherV2(whole, places, 0)

    def flat(self) -> Any:
        """Return the data with one row for each part."""
        if self.is_sorted:
            return self.data
        rest = raw_ops.Shape(self.output)[1:]
        count = raw_ops.Reshape(raw_ops.Size(self.ids), np.array([1], np.int32))
        return raw_ops.Reshape(self.data, raw_ops.ConcatV2([count, rest], 0))

    def reduce(self, kind: str, rows: Any) -> Any:
        """Return the sums (kind "Sum") or products ("Prod") of `rows` by segment."""
        if self.is_sorted:
            return getattr(raw_ops, f"Segment{kind}")(rows, self.ids)
        return getattr(raw_ops, f"UnsortedSegment{kind}")(rows, self.ids, self.count)

    def result(self, rows: Any) -> list[Any]:
        """Return the gradients of all inputs of the op.

        Args:
          rows: the gradient of the data, with one row for each part.
        """
        if self.is_sorted:
            return [rows, *self.nothing]
        return [raw_ops.Reshape(rows, shape_of(self.data)), *self.nothing]


def sum_gradient(op: Any, dy: Any) -> list[Any]:
    """Return the gradient of the data. For each part, it is dy of the part's segment."""
    segments = _Segments(op)
    return segments.result(segments.gather(dy))


def mean_gradient(op: Any, dy: Any) -> list[Any]:
    """Return the gradient of the data. For each part, it is dy of the part's segment, divided by
    the number of parts in the segment.
    """
    segments = _Segments(op)
    ids = raw_ops.Cast(raw_ops.OnesLike(segments.ids), DstT=dy.dtype.base_dtype)
    counts = raw_ops.SegmentSum(ids, segments.ids)
    rank = raw_ops.Rank(dy)
    ones = raw_ops.Fill(raw_ops.ExpandDims(raw_ops.Sub(rank, 1), 0), np.array(1, np.int32))
    shape = raw_ops.ConcatV2([raw_ops.Shape(counts), ones], 0)
    shared = raw_ops.DivNoNan(dy, raw_ops.Reshape(counts, shape))
    return segments.result(segments.gather(shared))


def extreme_gradient(op: Any, dy: Any) -> list[Any]:
    """Return the gradient of the data for a maximum or minimum. dy of a segment is divided equally
    among the elements that are equal to the result for the segment. The gradient of all other
    elements is 0.
    """
    segments = _Segments(op)
    flat = segments.flat()
    chosen = raw_ops.Equal(flat, segments.gather(segments.output))
    count = segments.reduce("Sum", raw_ops.Cast(chosen, DstT=dy.dtype.base_dtype))
    shared = segments.gather(raw_ops.DivNoNan(dy, count))
    return segments.result(raw_ops.Select(chosen, shared, raw_ops.ZerosLike(shared)))


def prod_gradient(op: Any, dy: Any) -> list[Any]:
    """Return dy times the product of all other elements of the segment.

    For an element x that is not 0, this is dy times the segment's product divided by x. For an
    element that is 0, it is dy times the product of the nonzero elements, times the product of the
    other zeros of the segment. If there is no other zero, the last factor is 1. If there is another
    zero, the last factor is that element. Its value is 0, but it contributes to second gradients.
    """
    segments = _Segments(op)
    flat = segments.flat()
    is_zero = raw_ops.Equal(flat, raw_ops.ZerosLike(flat))
    count = segments.gather(segments.reduce("Sum", raw_ops.Cast(is_zero, DstT=dtypes.int32)))
    one, nothing = raw_ops.OnesLike(flat), raw_ops.ZerosLike(flat)
    zeros = raw_ops.Select(is_zero, flat, nothing)
    other_zero = raw_ops.Sub(segments.gather(segments.reduce("Sum", zeros)), zeros)
    are_two = raw_ops.Equal(count, np.array(2, np.int32))
    factor = raw_ops.Select(are_two, other_zero, nothing)
    factor = raw_ops.Select(raw_ops.Equal(count, np.array(1, np.int32)), one, factor)
    safe = raw_ops.Select(is_zero, one, flat)
    others = raw_ops.Mul(segments.gather(segments.reduce("Prod", safe)), factor)
    whole = raw_ops.RealDiv(segments.gather(segments.output), safe)
    slope = raw_ops.Select(is_zero, others, whole)
    return segments.result(raw_ops.Mul(segments.gather(dy), conj(slope)))
