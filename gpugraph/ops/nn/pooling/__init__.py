"""Pooling of images and volumes."""

from gpugraph.ops.nn.pooling import max_pool_with_argmax, pool2d_ops, pool3d_ops, pool_launches
