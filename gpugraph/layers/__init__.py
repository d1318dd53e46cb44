"""Layers: functions with variables of their own, as classes and as functions.

Each class is a `gpugraph.layers.base_layer.Layer`; each function is made of its class by
`layer_arguments.layer_function`.
"""

from __future__ import annotations

from gpugraph.keras.engine.input_spec import InputSpec as InputSpec
from gpugraph.layers import keras_style as keras_style
from gpugraph.layers.base_layer import Layer as Layer
from gpugraph.layers.batch_normalization_layer import (
    BatchNormalization as BatchNormalization,
    batch_normalization as batch_normalization,
)
from gpugraph.layers.convolution_layers import (
    Conv1D as Conv1D,
    Conv2D as Conv2D,
    Conv3D as Conv3D,
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
)
from gpugraph.layers.dense_dropout_flatten import (
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    dense as dense,
    dropout as dropout,
    flatten as flatten,
)
from gpugraph.layers.pooling_layers import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
    average_pooling1d as average_pooling1d,
    average_pooling2d as average_pooling2d,
    average_pooling3d as average_pooling3d,
    max_pooling1d as max_pooling1d,
    max_pooling2d as max_pooling2d,
    max_pooling3d as max_pooling3d,
)
from gpugraph.layers.separable_and_transposed_layers import (
    Conv2DTranspose as Conv2DTranspose,
    Conv3DTranspose as Conv3DTranspose,
    SeparableConv1D as SeparableConv1D,
    SeparableConv2D as SeparableConv2D,
    conv2d_transpose as conv2d_transpose,
    conv3d_transpose as conv3d_transpose,
    separable_conv1d as separable_conv1d,
    separable_conv2d as separable_conv2d,
)

experimental = keras_style
