"""Cells of recurrent networks, and sequences of them, as single ops."""

from gpugraph.ops.nn.recurrent import block_gru_ops, block_lstm_ops
