"""Summaries: numbers, histograms, images, recordings and tensors as messages for TensorBoard."""

from gpugraph.ops.summaries import (
    audio_summary_op,
    histogram_buckets,
    image_summary_op,
    merge_summary_op,
    scalar_and_histogram_summary_ops,
    tensor_summary_ops,
)
