"""Sums, extremes, positions of extremes, running sums, histograms, norms."""

from gpugraph.ops.reductions import (
    argmax_and_argmin,
    axis_launches,
    clip_by_norm,
    composed_reductions,
    histograms,
    ranges_and_running_sums,
    reduction_functions,
    reduction_gradients,
    reduction_ops,
)
