"""Biases, moments, batch normalization, local response normalization."""

from gpugraph.ops.nn.normalization import (
    batch_norm_gradients,
    batch_norm_launches,
    bias_and_moments,
    fused_batch_norm,
    l2_normalize,
    local_response_normalization,
)
