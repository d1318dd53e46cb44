"""Convolutions with a kernel of its own for each place of the outputs."""

from __future__ import annotations

from math import prod
from typing import Any

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.keras.backend.keras_convolutions import bias_add, local_conv
from gpugraph.keras.engine.input_spec import InputSpec
from gpugraph.keras.layers.configured_layer import ConfiguredLayer, format_of, numbers, padding_of


class _LocallyConnected(ConfiguredLayer):
    """activation(a sum over each window by the kernel of its place, + bias of its place).

    filters: the number of output channels. kernel_size, strides: the size of windows and their
      distance. padding: "valid" only. implementation: 1; others are kept, and compute the same.
    use_bias: whether there is a `bias` [..., filters], of the outputs' places.
    *_initializer, *_regularizer, *_constraint: of `kernel` and `bias`.

    ValueError for inputs whose sizes are unknown, and for other paddings.
    """

    dimensions = 1

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = numbers(kernel_size, self.dimensions, "kernel_size")
        self.strides = numbers(strides, self.dimensions, "strides")
        self.padding = padding_of(padding)
        if self.padding != "valid":
            raise ValueError(
                f"Invalid border mode for {type(self).__name__} (only 'valid' is supported if "
                f"implementation is 1): {padding}"
            )
        self.data_format = format_of(data_format)
        self.implementation = implementation
        self.keep_arguments(locals())
        self.input_spec = InputSpec(ndim=self.dimensions + 2)
        self.kernel: Any = None
        self.bias: Any = None

    def _space(self, input_shape: Any) -> tuple[list[Any], Any]:
        """The sizes of the outputs' space, None where unknown, and the channels of the inputs."""
        sizes = as_shape(input_shape).as_list()
        if self.data_format == "channels_first":
            channels, space = sizes[1], sizes[2:]
        else:
            channels, space = sizes[-1], sizes[1:-1]
        return [
            None if size is None else (size - window) // stride + 1
            for size, window, stride in zip(space, self.kernel_size, self.strides)
        ], channels

    def build(self, input_shape: Any) -> None:
        """Adds the kernels and the biases."""
        space, channels = self._space(input_shape)
        if None in (*space, channels):
            raise ValueError(
                f"The spatial dimensions of the inputs to {type(self).__name__} should be fully-"
                f"defined, but layer received the inputs shape {input_shape}"
            )
        length = prod(self.kernel_size) * channels
        self.kernel = self.add_parameter("kernel", [prod(space), length, self.filters])
        if self.use_bias:
            self.bias = self.add_parameter("bias", [*space, self.filters])
        axis = 1 if self.data_format == "channels_first" else -1
        self.input_spec = InputSpec(ndim=self.dimensions + 2, axes={axis: channels})
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[n, ..., filters], or with the channels second."""
        space, _ = self._space(input_shape)
        batch = as_shape(input_shape).as_list()[0]
        if self.data_format == "channels_first":
            return TensorShape([batch, self.filters, *space])
        return TensorShape([batch, *space, self.filters])

    def call(self, inputs: Any) -> Tensor:
        """activation(sums + biases)."""
        space, _ = self._space(inputs.shape)
        outputs = local_conv(
            inputs, self.kernel, self.kernel_size, self.strides, space, self.data_format
        )
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, self.data_format)
        activated: Tensor = self.activation(outputs)
        return activated


class LocallyConnected1D(_LocallyConnected):
    __doc__ = _LocallyConnected.__doc__


class LocallyConnected2D(_LocallyConnected):
    __doc__ = _LocallyConnected.__doc__

    dimensions = 2
