"""Layers: functions with variables of their own, as classes and as functions.

`core`, `convolutional`, `more_convolutional`, `pooling` and `normalization` have them; `making`
is what they have in common. All are `gpugraph.layer.Layer`s.
"""

from __future__ import annotations

from gpugraph.layer import Layer
from gpugraph.layers.convolutional import Conv1D, Conv2D, Conv3D, conv1d, conv2d, conv3d
from gpugraph.layers.core import Dense, Dropout, Flatten, dense, dropout, flatten
from gpugraph.layers.more_convolutional import (
    Conv2DTranspose,
    Conv3DTranspose,
    SeparableConv1D,
    SeparableConv2D,
    conv2d_transpose,
    conv3d_transpose,
    separable_conv1d,
    separable_conv2d,
)
from gpugraph.layers.normalization import BatchNormalization, batch_normalization
from gpugraph.layers.pooling import (
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
