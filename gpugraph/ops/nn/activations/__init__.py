"""Activations, softmax, dropout, attention."""

from gpugraph.ops.nn.activations import (
    dropout,
    fused_attention,
    relu_and_elu,
    selu_softsign_swish,
    softmax,
)
