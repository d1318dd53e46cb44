"""Transposed convolution layers, and separable ones: channel by channel first."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.layers.convolution_layers import Convolution
from gpugraph.layers.layer_arguments import ZEROS, layer_function
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.nn.convolution.conv2d_functions import (
    conv2d_transpose as conv2d_transpose_of,
    separable_conv2d as separable_conv2d_of,
)
from gpugraph.ops.nn.convolution.conv_transpose import conv3d_transpose as conv3d_transpose_of


class Transposed(Convolution):
    """A transposed convolution: inputs [n, ..., channels] become larger with `strides`.

    With padding "same" sizes are multiplied by the strides; with "valid" outputs are larger by
    what windows exceed the strides. `kernel` is [..., filters, channels]. All else as of
    `Convolution`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, 1, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            activity_regularizer, kernel_constraint, bias_constraint, trainable, name, **kwargs,
        )  # fmt: skip

    def add_kernels(self, channels: int) -> None:
        """Adds the kernel [..., filters, channels]."""
        shape = [*self.kernel_size, self.filters, channels]
        self.kernel = self.add_parameter("kernel", shape)

    def convolve(self, inputs: Tensor) -> Tensor:
        """The transposed convolution of the inputs, with its static shape."""
        sizes, static = shape(inputs), inputs.shape.as_list()
        batch, padding = sizes[0], self.padding.upper()
        axes = range(2 if self.first else 1, self.dimensions + (2 if self.first else 1))
        lengths = [
            _length(sizes[axis] if static[axis] is None else static[axis], kernel, stride, padding)
            for axis, kernel, stride in zip(axes, self.kernel_size, self.strides)
        ]
        rest = [self.filters, *lengths] if self.first else [*lengths, self.filters]
        outputs = self.convolution(
            inputs, self.kernel, stack([batch, *rest]), self.strides, padding,
            data_format=self.layout,
        )  # fmt: skip
        known = [None if isinstance(size, Tensor) else size for size in rest]
        outputs.set_shape([static[0], *known])
        return outputs


class Conv2DTranspose(Transposed):
    __doc__ = Transposed.__doc__

    convolution = staticmethod(conv2d_transpose_of)


class Conv3DTranspose(Transposed):
    __doc__ = Transposed.__doc__

    dimensions = 3
    convolution = staticmethod(conv3d_transpose_of)


def _length(size: Any, kernel: int, stride: int, padding: str) -> Any:
    """The size of the output's axis for an input's `size`, which may be a tensor."""
    length = size * stride
    return length + max(kernel - stride, 0) if padding == "VALID" else length


class Separable(Convolution):
    """A convolution channel by channel, then one of single pixels over all channels.

    depth_multiplier: the number of channels from each before they are mixed, by `depthwise_kernel`
      [..., channels, depth_multiplier]; `pointwise_kernel` is [1, ..., channels *
      depth_multiplier, filters]. All else as of `Convolution`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, None, bias_initializer, None, bias_regularizer, activity_regularizer, None,
            bias_constraint, trainable, name, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = whole_number("depth_multiplier", depth_multiplier)
        self.depthwise_initializer, self.pointwise_initializer = (
            depthwise_initializer, pointwise_initializer,
        )  # fmt: skip
        self.depthwise_regularizer, self.pointwise_regularizer = (
            depthwise_regularizer, pointwise_regularizer,
        )  # fmt: skip
        self.depthwise_constraint, self.pointwise_constraint = (
            depthwise_constraint, pointwise_constraint,
        )  # fmt: skip
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def add_kernels(self, channels: int) -> None:
        """Adds the depthwise and the pointwise kernel."""
        inner = channels * self.depth_multiplier
        self.depthwise_kernel = self.add_parameter(
            "depthwise_kernel",
            [*self.kernel_size, channels, self.depth_multiplier],
            options="depthwise",
        )
        self.pointwise_kernel = self.add_parameter(
            "pointwise_kernel", [*[1] * self.dimensions, inner, self.filters], options="pointwise"
        )


class SeparableConv2D(Separable):
    __doc__ = Separable.__doc__

    def convolve(self, inputs: Tensor) -> Tensor:
        """The separable convolution of images."""
        strides = [1, 1, *self.strides] if self.first else [1, *self.strides, 1]
        return separable_conv2d_of(
            inputs, self.depthwise_kernel, self.pointwise_kernel, strides, self.padding.upper(),
            self.dilation_rate, data_format=self.layout,
        )  # fmt: skip


class SeparableConv1D(Separable):
    __doc__ = Separable.__doc__

    dimensions = 1

    def convolve(self, inputs: Tensor) -> Tensor:
        """The separable convolution of sequences as images one pixel high."""
        axis, stride = (2 if self.first else 1), self.strides[0]
        strides = [1, 1, stride, stride] if self.first else [1, stride, stride, 1]
        return separable_conv2d_of(
            expand_dims(inputs, axis),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            strides,
            self.padding.upper(),
            [1, *self.dilation_rate],
            data_format="NCHW" if self.first else "NHWC",
        )

    def reshape_outputs(self, outputs: Tensor) -> Tensor:
        """The images as sequences."""
        return squeeze(outputs, [2 if self.first else 1])


conv2d_transpose = layer_function(Conv2DTranspose, strides=(1, 1))
conv3d_transpose = layer_function(Conv3DTranspose, strides=(1, 1, 1))
separable_conv1d = layer_function(SeparableConv1D)
separable_conv2d = layer_function(SeparableConv2D, strides=(1, 1), dilation_rate=(1, 1))
