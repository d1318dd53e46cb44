"""Convolution of one to three dimensions, by channel, transposed, and as functions."""

from gpugraph.ops.nn.convolution import (
    conv1d,
    conv2d_functions,
    conv2d_ops,
    conv3d_functions,
    conv3d_ops,
    conv_bias_activation,
    conv_transpose,
    convolution_declaration,
    convolution_launches,
    convolution_of_any_rank,
    depthwise_launches,
    depthwise_ops,
    morphological_dilation,
)
