"""`tf.layers`: layers as classes and as functions. A layer is an object that owns variables.

Each class derives from a class of `gpugraph.keras.layers` and from
`gpugraph.layers.base_layer.Layer`. `layer_functions.layer_function` generates each function from
its class.
"""

from __future__ import annotations

from gpugraph.library.keras.engine.input_spec import InputSpec as InputSpec
from gpugraph.library.layers import keras_style as keras_style
from gpugraph.library.layers.base_layer import Layer as Layer
from gpugraph.library.layers.layer_classes import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D,
    BatchNormalization as BatchNormalization,
    Conv1D as Conv1D,
    Conv2D as Conv2D,
    Conv2DTranspose as Conv2DTranspose,
    Conv3D as Conv3D,
    Conv3DTranspose as Conv3DTranspose,
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
    SeparableConv1D as SeparableConv1D,
    SeparableConv2D as SeparableConv2D,
    average_pooling1d as average_pooling1d,
    average_pooling2d as average_pooling2d,
    average_pooling3d as average_pooling3d,
    batch_normalization as batch_normalization,
    conv1d as conv1d,
    conv2d as conv2d,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    conv3d_transpose as conv3d_transpose,
    dense as dense,
    dropout as dropout,
    flatten as flatten,
    max_pooling1d as max_pooling1d,
    max_pooling2d as max_pooling2d,
    max_pooling3d as max_pooling3d,
    separable_conv1d as separable_conv1d,
    separable_conv2d as separable_conv2d,
)

experimental = keras_style
