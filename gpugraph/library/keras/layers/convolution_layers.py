"""Convolution layers along one, two or three axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import (
    ConfiguredLayer,
    format_of,
    numbers,
    padding_of,
)
from gpugraph.ops.arrays.tile_and_pad import pad
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv1d import conv1d as conv1d_of
from gpugraph.ops.nn.convolution.conv2d_functions import conv2d as conv2d_of
from gpugraph.ops.nn.convolution.conv3d_functions import conv3d as conv3d_of
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add

_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


class Convolution(ConfiguredLayer):
    """A layer that returns activation(convolution(inputs, kernel) + bias), for inputs [n, ...,
    channels].

    The arguments `*_initializer`, `*_regularizer` and `*_constraint` are options of `kernel` [...,
    channels, filters] and `bias`. Raises ValueError if windows are larger than the inputs, if the
    inputs do not have the expected rank, or if the number of channels is unknown or differs from
    that of the layer's first inputs.

    Args:
      filters: the number of output channels.
      kernel_size, strides, dilation_rate: the size of a window, the distance between windows, and
        the distance between the elements of a window. Each is one number, or a number for each
        spatial axis.
      padding: "valid" or "same". `Conv1D` also accepts "causal".
      data_format: "channels_first" for inputs [n, channels, ...].
      use_bias: whether there is a `bias` [filters].
    """

    dimensions = 2
    further_paddings: tuple[str, ...] = ()
    """Paddings that a subclass accepts in addition to "valid" and "same"."""

    convolution: Callable[..., Tensor]
    """The function of `tf.nn` that computes the convolution."""

    has_rate_op = True
    """Whether `build` adds an op of the dilation rates, as in TensorFlow 1. Nothing reads it, but
    the seeds of later random ops count it."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
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
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.input_spec = InputSpec(ndim=self.dimensions + 2)
        self.filters = whole_number("filters", filters)
        self.kernel_size = numbers(kernel_size, self.dimensions, "kernel_size")
        self.strides = numbers(strides, self.dimensions, "strides")
        self.dilation_rate = numbers(dilation_rate, self.dimensions, "dilation_rate")
        self.padding = padding_of(padding, *self.further_paddings)
        self.data_format = format_of(data_format)
        self.first = self.data_format == "channels_first"
        self.keep_arguments(locals())
        self.kernel: Any = None
        self.bias: Any = None

    @property
    def layout(self) -> str:
        """The `data_format` argument for ops, such as "NHWC"."""
        return _LAYOUTS[self.dimensions][self.first]

    def build(self, input_shape: Any) -> None:
        """Create `kernel` and `bias`."""
        self.add_kernels(self.channels(as_shape(input_shape)))
        if self.use_bias:
            self.bias = self.add_parameter("bias", [self.filters])
        if self.has_rate_op:
            convert_to_tensor(self.dilation_rate, dtypes.int32, name="dilation_rate")
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape [n, ..., filters], or [n, filters, ...] for "channels_first"."""
        return self.shape_by_trial(input_shape)

    def channels(self, input_shape: TensorShape) -> int:
        """Return the number of channels of the inputs, and require the same number in all later
        calls.

        Raises ValueError if the number is unknown.
        """
        axis = 1 if self.first else -1
        sizes = input_shape.sizes
        if sizes is None or sizes[axis] is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. Found `None` in "
                f"{input_shape} (layer {self.name})."
            )
        channels = int(sizes[axis] or 0)
        self.input_spec = InputSpec(ndim=self.dimensions + 2, axes={axis: channels})
        return channels

    def add_kernels(self, channels: int) -> None:
        """Create the kernel [..., channels, filters]."""
        shape = [*self.kernel_size, channels, self.filters]
        self.kernel = self.add_parameter("kernel", shape)

    def convolve(self, inputs: Tensor) -> Tensor:
        """Convolve the inputs with the kernel."""
        is_1d = self.dimensions == 1
        inputs, padding = self.padded(inputs)
        return self.convolution(
            inputs,
            self.kernel,
            self.strides[0] if is_1d else self.strides,
            padding,
            data_format=self.layout,
            dilations=self.dilation_rate[0] if is_1d else self.dilation_rate,
        )

    def padded(self, inputs: Tensor) -> tuple[Tensor, str]:
        """Return the inputs and the name of the padding for the convolution op.

        For "causal", (kernel_size - 1) * dilation_rate zeros are added before the first step.
        """
        if self.padding != "causal":
            return inputs, self.padding.upper()
        before = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        paddings = [[0, 0], [0, 0], before] if self.first else [[0, 0], before, [0, 0]]
        return pad(inputs, paddings), "VALID"

    def reshape_outputs(self, outputs: Tensor) -> Tensor:
        """Return the sum of convolution and bias, in the shape of the layer's outputs.

        Subclasses override this method if their convolution returns a different shape.
        """
        return outputs

    def call(self, inputs: Tensor) -> Tensor:
        """Return activation(convolution + bias)."""
        outputs = self.convolve(inputs)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, "NCHW" if self.first else "NHWC")
        outputs = self.reshape_outputs(outputs)
        return self.activation(outputs)


class Conv1D(Convolution):
    __doc__ = Convolution.__doc__

    dimensions = 1
    further_paddings = ("causal",)
    convolution = staticmethod(conv1d_of)


class Conv2D(Convolution):
    __doc__ = Convolution.__doc__

    convolution = staticmethod(conv2d_of)


class Conv3D(Convolution):
    __doc__ = Convolution.__doc__

    dimensions = 3
    convolution = staticmethod(conv3d_of)
