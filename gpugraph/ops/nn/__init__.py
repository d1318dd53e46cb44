"""Neural networks, op by op."""

from gpugraph.ops.nn import (
    activations,
    convolution,
    losses,
    normalization,
    pooling,
    recurrent,
    windows,
)
