"""Layers: functions with variables of their own, as classes and as functions.

`core`, `convolutional`, `more_convolutional`, `pooling` and `normalization` have them; `making`
is what they have in common. All are `gpugraph.layers.base_layer.Layer`s.
"""

from __future__ import annotations

from gpugraph.layers.base_layer import Layer
from gpugraph.layers.batch_normalization_layer import BatchNormalization, batch_normalization
from gpugraph.layers.convolution_layers import Conv1D, Conv2D, Conv3D, conv1d, conv2d, conv3d
from gpugraph.layers.dense_dropout_flatten import Dense, Dropout, Flatten, dense, dropout, flatten
from gpugraph.layers.input_spec import InputSpec
from gpugraph.layers.pooling_layers import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
    average_pooling1d,
    average_pooling2d,
    average_pooling3d,
    max_pooling1d,
    max_pooling2d,
    max_pooling3d,
)
from gpugraph.layers.separable_and_transposed_layers import (
    Conv2DTranspose,
    Conv3DTranspose,
    SeparableConv1D,
    SeparableConv2D,
    conv2d_transpose,
    conv3d_transpose,
    separable_conv1d,
    separable_conv2d,
)

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "BatchNormalization",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "Dropout",
    "Flatten",
    "InputSpec",
    "Layer",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "SeparableConv1D",
    "SeparableConv2D",
    "average_pooling1d",
    "average_pooling2d",
    "average_pooling3d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
    "max_pooling3d",
    "separable_conv1d",
    "separable_conv2d",
]
