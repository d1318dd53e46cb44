"""Convolution layers along one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.layers.base_layer import Layer
from gpugraph.layers.layer_arguments import ZEROS, applied, channels_first, numbers, padding_of
from gpugraph.ops.nn.convolution.conv1d import conv1d as conv1d_of
from gpugraph.ops.nn.convolution.conv2d_functions import conv2d as conv2d_of
from gpugraph.ops.nn.convolution.conv3d_functions import conv3d as conv3d_of
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add

_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


class Convolution(Layer):
    """activation(convolution(inputs, kernel) + bias), for inputs [n, ..., channels].

    filters: how many channels come out. kernel_size, strides, dilation_rate: a number, or one for
      each dimension: how large windows are, how far they and their elements are apart.
    padding: "valid" or "same". data_format: "channels_first" for inputs [n, channels, ...].
    use_bias: whether there is a `bias` [filters].
    *_initializer, *_regularizer, *_constraint: of `kernel` [..., channels, filters] and `bias`.

    ValueError for inputs of another rank, whose channels are unknown or other than those of the
    first ones, and for windows larger than they are.
    """

    dimensions = 2

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
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
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.input_rank = self.dimensions + 2
        self.filters = int(filters)
        self.kernel_size = numbers(kernel_size, self.dimensions, "kernel_size")
        self.strides = numbers(strides, self.dimensions, "strides")
        self.dilation_rate = numbers(dilation_rate, self.dimensions, "dilation_rate")
        self.padding = padding_of(padding)
        self.data_format = data_format
        self.first = channels_first(data_format)
        self.activation = activation
        self.use_bias = use_bias
        self._kernel = kernel_initializer, kernel_regularizer, kernel_constraint
        self._bias = bias_initializer, bias_regularizer, bias_constraint
        self.kernel: Any = None
        self.bias: Any = None

    @property
    def layout(self) -> str:
        """The data format as ops say it."""
        return _LAYOUTS[self.dimensions][self.first]

    def build(self, inputs_shape: Any) -> None:
        self.make_kernels(self.channels(inputs_shape))
        if self.use_bias:
            self.bias = self.variable("bias", [self.filters], self._bias)

    def channels(self, inputs_shape: Any) -> int:
        """How many channels the inputs have, which from now on they must have."""
        axis = 1 if self.first else -1
        sizes = inputs_shape.sizes
        if sizes is None or sizes[axis] is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. Found `None` in "
                f"{inputs_shape} (layer {self.name})."
            )
        self.input_axes = {axis: int(sizes[axis])}
        return int(sizes[axis])

    def make_kernels(self, channels: int) -> None:
        """Makes the filters, of so many channels."""
        shape = [*self.kernel_size, channels, self.filters]
        self.kernel = self.variable("kernel", shape, self._kernel)

    def variable(self, name: str, shape: Sequence[int], how: tuple[Any, Any, Any]) -> Any:
        """A variable with this (initializer, regularizer, constraint)."""
        initializer, regularizer, constraint = how
        return self.add_weight(
            name,
            list(shape),
            initializer=initializer,
            regularizer=regularizer,
            constraint=constraint,
        )

    def convolved(self, inputs: Tensor) -> Tensor:
        """What the filters make of the inputs."""
        raise NotImplementedError

    def shaped(self, outputs: Tensor) -> Tensor:
        """What was convolved, with its bias, in the shape of the layer's outputs."""
        return outputs

    def call(self, inputs: Tensor) -> Tensor:
        outputs = self.convolved(inputs)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, "NCHW" if self.first else "NHWC")
        outputs = self.shaped(outputs)
        return outputs if self.activation is None else self.activation(outputs)


class Conv1D(Convolution):
    __doc__ = Convolution.__doc__

    dimensions = 1

    def convolved(self, inputs: Tensor) -> Tensor:
        return conv1d_of(
            inputs, self.kernel, self.strides[0], self.padding,
            data_format=self.layout, dilations=self.dilation_rate[0],
        )  # fmt: skip


class Conv2D(Convolution):
    __doc__ = Convolution.__doc__

    def convolved(self, inputs: Tensor) -> Tensor:
        return conv2d_of(
            inputs, self.kernel, self.strides, self.padding,
            data_format=self.layout, dilations=self.dilation_rate,
        )  # fmt: skip


class Conv3D(Convolution):
    __doc__ = Convolution.__doc__

    dimensions = 3

    def convolved(self, inputs: Tensor) -> Tensor:
        return conv3d_of(
            inputs, self.kernel, self.strides, self.padding,
            data_format=self.layout, dilations=self.dilation_rate,
        )  # fmt: skip


def conv1d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = 1,
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
    """A new `Conv1D` layer, applied to inputs [n, steps, channels].

    name: of its scope; with `reuse` it takes the variables that are there.
    """
    return applied(Conv1D, locals())


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
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
    """A new `Conv2D` layer, applied to images [n, h, w, channels].

    name: of its scope; with `reuse` it takes the variables that are there.
    """
    return applied(Conv2D, locals())


def conv3d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1, 1),
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
    """A new `Conv3D` layer, applied to volumes [n, d, h, w, channels].

    name: of its scope; with `reuse` it takes the variables that are there.
    """
    return applied(Conv3D, locals())
