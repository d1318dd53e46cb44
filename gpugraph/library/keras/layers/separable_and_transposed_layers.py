"""Layers of transposed convolution and of separable convolution.

A separable convolution first convolves each channel separately, and then combines the channels.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.configured_layer import numbers
from gpugraph.library.keras.layers.convolution_layers import Convolution
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.nn.convolution.conv2d_functions import (
    conv2d_transpose as conv2d_transpose_of,
    depthwise_conv2d as depthwise_conv2d_of,
    separable_conv2d as separable_conv2d_of,
)
from gpugraph.ops.nn.convolution.conv_transpose import conv3d_transpose as conv3d_transpose_of

_DEPTHWISE = (
    "depth_multiplier", "depthwise_initializer", "depthwise_regularizer", "depthwise_constraint",
)  # fmt: skip


class Transposed(Convolution):
    """A transposed convolution, which enlarges inputs [n, ..., channels] by `strides`.

    With the padding "same", an output axis has size * stride elements, where `size` is the size of
    the input axis. With "valid", the output axis has max(kernel size - stride, 0) more elements.
    `kernel` is [..., filters, channels]. For the other arguments, see `Convolution`.

    Args:
      output_padding: if it is passed, an output axis has (size - 1) * stride + kernel size +
        output_padding elements, or 2 * (kernel size // 2) fewer with the padding "same".
        `output_padding` must be less than the stride.
    """

    has_rate_op = False

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            activity_regularizer, kernel_constraint, bias_constraint, **kwargs,
        )  # fmt: skip
        self.output_padding: Any = None
        if output_padding is not None:
            self.output_padding = numbers(output_padding, self.dimensions, "output_padding")
            for stride, further in zip(self.strides, self.output_padding):
                if further >= stride:
                    raise ValueError(
                        f"Stride {self.strides} must be greater than output padding "
                        f"{self.output_padding} (layer {self.name})"
                    )
        self.keep_arguments({"output_padding": output_padding})

    def add_kernels(self, channels: int) -> None:
        """Create the kernel [..., filters, channels]."""
        shape = [*self.kernel_size, self.filters, channels]
        self.kernel = self.add_parameter("kernel", shape)

    def convolve(self, inputs: Tensor) -> Tensor:
        """Return the transposed convolution of the inputs, with its static shape set."""
        sizes, static = shape(inputs), inputs.shape.as_list()
        batch, padding = sizes[0], self.padding.upper()
        axes = range(2 if self.first else 1, self.dimensions + (2 if self.first else 1))
        lengths = [sizes[axis] for axis in axes]
        rest = [self._length(place, length) for place, length in enumerate(lengths)]
        rest.insert(0 if self.first else self.dimensions, self.filters)
        output_shape = stack([batch, *rest])
        if self.dimensions == 2:
            output_shape[0]  # TensorFlow 1 reads the batch size: seeds count the ops of a graph
        outputs = self.convolution(
            inputs, self.kernel, output_shape, self.strides, padding,
            data_format=self.layout, **self._dilations(),
        )  # fmt: skip
        known: list[Any] = [
            None if static[axis] is None else self._length(place, static[axis])
            for place, axis in enumerate(axes)
        ]
        known.insert(0 if self.first else self.dimensions, self.filters)
        outputs.set_shape([static[0], *known])
        return outputs

    def _dilations(self) -> dict[str, Any]:
        if set(self.dilation_rate) == {1}:
            return {}
        rates = self.dilation_rate
        return {"dilations": [1, 1, *rates] if self.first else [1, *rates, 1]}

    def _length(self, place: int, size: Any) -> Any:
        """Return the size of an output axis.

        Args:
          place: the index of the axis among the spatial axes, from 0.
          size: the size of the input axis, an int or a tensor.
        """
        stride = self.strides[place]
        window = (self.kernel_size[place] - 1) * self.dilation_rate[place] + 1
        if self.output_padding is not None:
            before = 0 if self.padding == "valid" else window // 2
            return (size - 1) * stride + window - 2 * before + self.output_padding[place]
        length = size * stride
        return length + max(window - stride, 0) if self.padding == "valid" else length


class Conv2DTranspose(Transposed):
    __doc__ = Transposed.__doc__

    convolution = staticmethod(conv2d_transpose_of)


class Conv3DTranspose(Transposed):
    __doc__ = Transposed.__doc__

    dimensions = 3
    convolution = staticmethod(conv3d_transpose_of)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor except `dilation_rate`."""
        return {n: value for n, value in super().get_config().items() if n != "dilation_rate"}


class Separable(Convolution):
    """A layer that convolves each channel separately, and then mixes the channels with a pointwise
    convolution.

    For the other arguments, see `Convolution`. `pointwise_kernel` is [1, ..., channels *
    depth_multiplier, filters].

    Args:
      depth_multiplier: the number of channels that `depthwise_kernel` [..., channels,
        depth_multiplier] computes from each input channel.
    """

    has_rate_op = False

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = whole_number("depth_multiplier", depth_multiplier)
        self.keep_arguments(locals())
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def add_kernels(self, channels: int) -> None:
        """Create `depthwise_kernel` and `pointwise_kernel`."""
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
        """Return the separable convolution of images."""
        strides = [1, 1, *self.strides] if self.first else [1, *self.strides, 1]
        return separable_conv2d_of(
            inputs, self.depthwise_kernel, self.pointwise_kernel, strides, self.padding.upper(),
            self.dilation_rate, data_format=self.layout,
        )  # fmt: skip


class SeparableConv1D(Separable):
    __doc__ = Separable.__doc__

    dimensions = 1
    further_paddings = ("causal",)

    def convolve(self, inputs: Tensor) -> Tensor:
        """Return the separable convolution of sequences. The sequences are treated as images of
        height 1.
        """
        inputs, padding = self.padded(inputs)
        axis, stride = (2 if self.first else 1), self.strides[0]
        strides = [1, 1, stride, stride] if self.first else [1, stride, stride, 1]
        return separable_conv2d_of(
            expand_dims(inputs, axis),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            strides,
            padding,
            [1, *self.dilation_rate],
            data_format="NCHW" if self.first else "NHWC",
        )

    def reshape_outputs(self, outputs: Tensor) -> Tensor:
        """Remove the axis of height 1 from the images."""
        return squeeze(outputs, [2 if self.first else 1])


class DepthwiseConv2D(Convolution):
    """A layer that convolves each channel separately into `depth_multiplier` output channels.

    `depthwise_kernel` is [rows, columns, channels, depth_multiplier]. For the other arguments, see
    `Convolution`.
    """

    has_rate_op = False

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        rate = kwargs.pop("dilation_rate", 1)
        super().__init__(
            0, kernel_size, strides, padding, data_format, rate, activation, use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = whole_number("depth_multiplier", depth_multiplier)
        left_out = ("filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint")
        self._argument_names = tuple(n for n in self._argument_names if n not in left_out)
        self.keep_arguments({name: value for name, value in locals().items() if name in _DEPTHWISE})
        self.depthwise_kernel: Any = None

    def add_kernels(self, channels: int) -> None:
        """Create `depthwise_kernel`."""
        self.filters = channels * self.depth_multiplier
        shape = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self.add_parameter("depthwise_kernel", shape, options="depthwise")

    def convolve(self, inputs: Tensor) -> Tensor:
        """Convolve each channel separately, and return the results."""
        strides = [1, 1, *self.strides] if self.first else [1, *self.strides, 1]
        return depthwise_conv2d_of(
            inputs, self.depthwise_kernel, strides, self.padding.upper(), self.dilation_rate,
            data_format=self.layout,
        )  # fmt: skip
