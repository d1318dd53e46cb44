"""Sums and extremes of the parts of a tensor that share a number."""

from gpugraph.ops.segments import (
    segment_functions,
    segment_gradients,
    segment_launches,
    segment_ops,
    sparse_segment_sum,
)
