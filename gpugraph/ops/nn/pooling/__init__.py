"""Pooling of images and volumes."""

from gpugraph.ops.nn.pooling import (
    fractional_pooling,
    max_pool_with_argmax,
    pool_functions,
    pool_launches,
    pool_ops,
)
