"""The classes of `tf.layers`: Keras's layers with variables from variable scopes.

Some default arguments also differ from Keras's default arguments.
"""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers import (
    batch_normalization_layer as normalization,
    convolution_layers as convolution,
    dense_dropout_flatten as core,
    pooling_layers as pooling,
    separable_and_transposed_layers as further,
)
from gpugraph.library.layers.base_layer import Layer
from gpugraph.library.layers.layer_functions import layer_function, with_defaults
from gpugraph.ops.random.variable_initializers import Ones, Zeros

_ONES, _ZEROS = Ones(), Zeros()
"""The initializers that layers use if neither the caller nor the variable scope passes one."""

_LAST = {"data_format": "channels_last"}
_BY_SCOPE = {"kernel_initializer": None, "bias_initializer": _ZEROS}
_CONVOLUTION = {**_BY_SCOPE, **_LAST, "strides": 1, "dilation_rate": 1}
_TRANSPOSED = {**_BY_SCOPE, **_LAST, "strides": 1}
_SEPARABLE = {
    **_LAST, "strides": 1, "dilation_rate": 1, "bias_initializer": _ZEROS,
    "depthwise_initializer": None, "pointwise_initializer": None,
}  # fmt: skip
_NORMALIZATION = {
    "beta_initializer": _ZEROS, "gamma_initializer": _ONES,
    "moving_mean_initializer": _ZEROS, "moving_variance_initializer": _ONES,
}  # fmt: skip
_POOLING = {**_LAST, "pool_size": Parameter.empty, "strides": Parameter.empty}


@with_defaults(_BY_SCOPE)
class Dense(core.Dense, Layer):
    __doc__ = core.Dense.__doc__


@with_defaults({"rate": 0.5})
class Dropout(core.Dropout, Layer):
    __doc__ = core.Dropout.__doc__

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """Apply dropout if `training` is true: a bool, or a bool tensor that each run evaluates."""
        return super().call(inputs, training)


@with_defaults(_LAST, "name")
class Flatten(core.Flatten, Layer):
    __doc__ = core.Flatten.__doc__


@with_defaults(_CONVOLUTION)
class Conv1D(convolution.Conv1D, Layer):
    __doc__ = convolution.Conv1D.__doc__


@with_defaults(_CONVOLUTION)
class Conv2D(convolution.Conv2D, Layer):
    __doc__ = convolution.Conv2D.__doc__


@with_defaults(_CONVOLUTION)
class Conv3D(convolution.Conv3D, Layer):
    __doc__ = convolution.Conv3D.__doc__


@with_defaults(_TRANSPOSED, "output_padding dilation_rate")
class Conv2DTranspose(further.Conv2DTranspose, Layer):
    __doc__ = further.Conv2DTranspose.__doc__


@with_defaults(_TRANSPOSED, "output_padding dilation_rate")
class Conv3DTranspose(further.Conv3DTranspose, Layer):
    __doc__ = further.Conv3DTranspose.__doc__


@with_defaults(_SEPARABLE)
class SeparableConv1D(further.SeparableConv1D, Layer):
    __doc__ = further.SeparableConv1D.__doc__


@with_defaults(_SEPARABLE)
class SeparableConv2D(further.SeparableConv2D, Layer):
    __doc__ = further.SeparableConv2D.__doc__


@with_defaults(_POOLING)
class MaxPooling1D(pooling.MaxPooling1D, Layer):
    __doc__ = pooling.MaxPooling1D.__doc__


@with_defaults(_POOLING)
class MaxPooling2D(pooling.MaxPooling2D, Layer):
    __doc__ = pooling.MaxPooling2D.__doc__


@with_defaults(_POOLING)
class MaxPooling3D(pooling.MaxPooling3D, Layer):
    __doc__ = pooling.MaxPooling3D.__doc__


@with_defaults(_POOLING)
class AveragePooling1D(pooling.AveragePooling1D, Layer):
    __doc__ = pooling.AveragePooling1D.__doc__


@with_defaults(_POOLING)
class AveragePooling2D(pooling.AveragePooling2D, Layer):
    __doc__ = pooling.AveragePooling2D.__doc__


@with_defaults(_POOLING)
class AveragePooling3D(pooling.AveragePooling3D, Layer):
    __doc__ = pooling.AveragePooling3D.__doc__


@with_defaults(_NORMALIZATION)
class BatchNormalization(normalization.BatchNormalization, Layer):
    __doc__ = normalization.BatchNormalization.__doc__

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """Normalize the inputs.

        Args:
          training: a bool, or a tensor or variable that each run evaluates.
        """
        return super().call(inputs, training)


dense = layer_function(Dense)
dropout = layer_function(Dropout, "rate noise_shape seed training name", reuse=False)
flatten = layer_function(Flatten, "name data_format", reuse=False)
conv1d = layer_function(Conv1D)
conv2d = layer_function(Conv2D, strides=(1, 1), dilation_rate=(1, 1))
conv3d = layer_function(Conv3D, strides=(1, 1, 1), dilation_rate=(1, 1, 1))
conv2d_transpose = layer_function(Conv2DTranspose, strides=(1, 1))
conv3d_transpose = layer_function(Conv3DTranspose, strides=(1, 1, 1))
separable_conv1d = layer_function(SeparableConv1D)
separable_conv2d = layer_function(SeparableConv2D, strides=(1, 1), dilation_rate=(1, 1))
max_pooling1d = layer_function(MaxPooling1D, reuse=False)
max_pooling2d = layer_function(MaxPooling2D, reuse=False)
max_pooling3d = layer_function(MaxPooling3D, reuse=False)
average_pooling1d = layer_function(AveragePooling1D, reuse=False)
average_pooling2d = layer_function(AveragePooling2D, reuse=False)
average_pooling3d = layer_function(AveragePooling3D, reuse=False)
batch_normalization = layer_function(
    BatchNormalization,
    "axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer "
    "moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint "
    "gamma_constraint training trainable name renorm renorm_clipping renorm_momentum fused "
    "virtual_batch_size adjustment",
)
