"""Convolution layers that go backwards, or channel by channel first."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.layers.convolution_layers import Convolution
from gpugraph.layers.layer_arguments import ZEROS, applied
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.nn.convolution.conv2d_functions import (
    conv2d_transpose as conv2d_transpose_of,
    separable_conv2d as separable_conv2d_of,
)
from gpugraph.ops.nn.convolution.conv_transpose import conv3d_transpose as conv3d_transpose_of


class Transposed(Convolution):
    """A convolution layer backwards: inputs [n, ..., channels] become larger with `strides`.

    With padding "same" sizes are multiplied by the strides; with "valid" windows reach out by
    what they are larger. `kernel` is [..., filters, channels]. All else as of `Convolution`.
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

    def backwards(self, *given: Any, **attrs: Any) -> Tensor:
        """The convolution backwards of so many dimensions."""
        raise NotImplementedError

    def make_kernels(self, channels: int) -> None:
        shape = [*self.kernel_size, self.filters, channels]
        self.kernel = self.variable("kernel", shape, self._kernel)

    def convolved(self, inputs: Tensor) -> Tensor:
        sizes, known = shape(inputs), inputs.shape.as_list()
        places = range(2 if self.first else 1, self.dimensions + (2 if self.first else 1))
        batch = sizes[0]
        out: list[Any] = []
        for place, kernel, stride in zip(places, self.kernel_size, self.strides):
            size = sizes[place] if known[place] is None else known[place]
            out.append(_length(size, kernel, stride, self.padding))
        target = [batch, self.filters, *out] if self.first else [batch, *out, self.filters]
        outputs: Tensor = self.backwards(
            inputs, self.kernel, stack(target), self.strides, self.padding, data_format=self.layout
        )
        static = [None if isinstance(size, Tensor) else size for size in target[1:]]
        outputs.set_shape([known[0], *static])
        return outputs


class Conv2DTranspose(Transposed):
    __doc__ = Transposed.__doc__

    backwards = staticmethod(conv2d_transpose_of)


class Conv3DTranspose(Transposed):
    __doc__ = Transposed.__doc__

    dimensions = 3
    backwards = staticmethod(conv3d_transpose_of)


def _length(size: Any, kernel: int, stride: int, padding: str) -> Any:
    """How many pixels come of `size` of them, which may be a tensor."""
    grown = size * stride
    return grown + max(kernel - stride, 0) if padding == "VALID" else grown


class Separable(Convolution):
    """A convolution channel by channel, then one of single pixels over all channels.

    depth_multiplier: how many channels come of each before they are mixed, by `depthwise_kernel`
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
        self.depth_multiplier = int(depth_multiplier)
        self._depthwise = depthwise_initializer, depthwise_regularizer, depthwise_constraint
        self._pointwise = pointwise_initializer, pointwise_regularizer, pointwise_constraint
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def make_kernels(self, channels: int) -> None:
        times = self.depth_multiplier
        self.depthwise_kernel = self.variable(
            "depthwise_kernel", [*self.kernel_size, channels, times], self._depthwise
        )
        self.pointwise_kernel = self.variable(
            "pointwise_kernel",
            [*[1] * self.dimensions, channels * times, self.filters],
            self._pointwise,
        )


class SeparableConv2D(Separable):
    __doc__ = Separable.__doc__

    def convolved(self, inputs: Tensor) -> Tensor:
        strides = [1, 1, *self.strides] if self.first else [1, *self.strides, 1]
        return separable_conv2d_of(
            inputs, self.depthwise_kernel, self.pointwise_kernel, strides, self.padding,
            self.dilation_rate, data_format=self.layout,
        )  # fmt: skip


class SeparableConv1D(Separable):
    __doc__ = Separable.__doc__

    dimensions = 1

    def convolved(self, inputs: Tensor) -> Tensor:
        axis, stride = (2 if self.first else 1), self.strides[0]
        strides = [1, 1, stride, stride] if self.first else [1, stride, stride, 1]
        return separable_conv2d_of(
            expand_dims(inputs, axis),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            strides,
            self.padding,
            [1, *self.dilation_rate],
            data_format="NCHW" if self.first else "NHWC",
        )

    def shaped(self, outputs: Tensor) -> Tensor:
        return squeeze(outputs, [2 if self.first else 1])


def conv2d_transpose(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
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
    reuse: bool | None = None,
) -> Tensor:
    """A new `Conv2DTranspose` layer, applied to images [n, h, w, channels].

    name: of its scope; with `reuse` it takes the variables that are there.
    """
    return applied(Conv2DTranspose, locals())


def separable_conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
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
    reuse: bool | None = None,
) -> Tensor:
    """A new `SeparableConv2D` layer, applied to images [n, h, w, channels].

    name: of its scope; with `reuse` it takes the variables that are there.
    """
    return applied(SeparableConv2D, locals())


def conv3d_transpose(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1, 1),
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
    reuse: bool | None = None,
) -> Tensor:
    """A new `Conv3DTranspose` layer, applied to volumes [n, d, h, w, channels].

    name: of its scope; with `reuse` it takes the variables that are there.
    """
    return applied(Conv3DTranspose, locals())


def separable_conv1d(
    inputs: Any,
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
    reuse: bool | None = None,
) -> Tensor:
    """A new `SeparableConv1D` layer, applied to sequences [n, steps, channels].

    name: of its scope; with `reuse` it takes the variables that are there.
    """
    return applied(SeparableConv1D, locals())
