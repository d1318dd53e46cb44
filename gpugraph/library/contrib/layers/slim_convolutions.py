"""Convolutions as functions: the convolutions of `tf.layers`, and depthwise convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.named_function import named
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_collections import collections_of, pair
from gpugraph.library.contrib.layers.layer_options import (
    LayerOptions,
    apply_layer,
    finish,
    with_options,
)
from gpugraph.library.contrib.layers.model_variables import model_variable
from gpugraph.library.layers import (
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    SeparableConv2D,
)
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv2d_functions import depthwise_conv2d
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add

_LAYERS = {
    3: (Conv1D, ("NWC", "NCW")),
    4: (Conv2D, ("NHWC", "NCHW")),
    5: (Conv3D, ("NDHWC", "NCDHW")),
}
"""The layer class and its data formats, by the rank of the inputs."""

_RENAMES = {"kernel": "weights", "bias": "biases"}
_DEPTHWISE = {
    "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights",
    "bias": "biases",
}  # fmt: skip
"""The names of variables here, by their names in the layers of `tf.layers`."""


def checked_format(data_format: str | None, formats: tuple[str, ...]) -> str:
    """Return "channels_first" or "channels_last" for a format such as "NCHW".

    Raises ValueError if the format is not one of `formats`.

    Args:
      formats: the allowed formats.
    """
    if data_format is not None and data_format not in formats:
        last, first = formats
        raise ValueError(
            f"data_format has to be either {first} or {last}. Invalid data_format: {data_format!r}"
        )
    return "channels_first" if str(data_format).startswith("NC") else "channels_last"


_CONVOLUTION = """Return activation_fn(convolution(inputs, weights) + biases), for {of}.

    kernel_size, stride, rate: a number, or one for each axis.
    data_format: {formats} for inputs [n, channels, ...].
    normalizer_fn: `f(outputs, **normalizer_params)`, in place of the biases.
    biases_initializer: None for no biases.
    variables_collections: the collections of `weights` and `biases`, or a dict of collections.

    Raises ValueError for another data format, for inputs of another rank or with unknown channels,
    and if both stride and rate are greater than 1.
    """


def _convolve(
    dimensions: int | None, inputs: Any, num_outputs: int, kernel_size: Any, stride: Any,
    padding: str, data_format: str | None, rate: Any, options: LayerOptions,
) -> Tensor:  # fmt: skip
    """Apply a convolution along `dimensions` axes. None allows any number of axes."""
    source = convert_to_tensor(inputs)
    rank = source.shape.rank
    if dimensions is not None and rank != dimensions + 2:
        raise ValueError(
            f"Convolution expects input with rank {dimensions + 2}, got {rank}: {source}"
        )
    if rank not in _LAYERS:
        raise ValueError(f"Convolution not supported for input with rank {rank}: {source}")
    layer_class, known = _LAYERS[rank]
    layout = checked_format(data_format, known)
    if _largest(rate) > 1 and _largest(stride) > 1:
        raise ValueError(f"A rate {rate} does not go with a stride {stride}: one of them must be 1")
    return apply_layer(
        layer_class, source, "Conv", options, _RENAMES, filters=num_outputs,
        kernel_size=kernel_size, strides=stride, padding=padding, data_format=layout,
        dilation_rate=rate, **options.of_weights("kernel"),
    )  # fmt: skip


@with_options()
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    options: LayerOptions = LayerOptions(),  # noqa: B008
    conv_dims: int | None = None,
) -> Tensor:
    """Return activation_fn(convolution(inputs, weights) + biases), for 1 to 3 spatial axes.

    For the other arguments and the errors, see `convolution2d`.

    Args:
      conv_dims: the number of spatial axes, or None for the rank of the inputs minus 2.
    """
    return _convolve(
        conv_dims, inputs, num_outputs, kernel_size, stride, padding, data_format, rate, options
    )


def _convolution(name: str, dimensions: int, of: str, formats: str) -> Any:
    """Return the function `name`: a convolution along `dimensions` axes.

    Args:
      of, formats: phrases for the docstring of this function.
    """

    @with_options()
    @named(name, _CONVOLUTION.format(of=of, formats=formats))
    def layer(
        inputs: Any,
        num_outputs: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str | None = None,
        rate: Any = 1,
        options: LayerOptions = LayerOptions(),  # noqa: B008
    ) -> Tensor:
        return _convolve(
            dimensions, inputs, num_outputs, kernel_size, stride, padding, data_format, rate,
            options,
        )  # fmt: skip

    return layer


def _largest(value: Any) -> int:
    return max(value) if isinstance(value, (list, tuple)) else int(value)


convolution1d = _convolution("convolution1d", 1, "sequences [n, steps, channels]", '"NCW"')
convolution2d = _convolution("convolution2d", 2, "images [n, h, w, channels]", '"NCHW"')
convolution3d = _convolution("convolution3d", 3, "volumes [n, d, h, w, channels]", '"NCDHW"')


def _transposed(name: str, scope: str, layer_class: Callable[..., Any], rank: int) -> Any:
    last = _LAYERS[rank][1][0]

    @with_options()
    @named(
        name,
        """Apply a transposed convolution, then biases and activation; see `tf.layers`.

    kernel_size, stride: a number, or one for each axis. Raises ValueError for another data format.
    """,
    )
    def layer(
        inputs: Any,
        num_outputs: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str = last,
        options: LayerOptions = LayerOptions(),  # noqa: B008
    ) -> Tensor:
        return apply_layer(
            layer_class, inputs, scope, options, _RENAMES, filters=num_outputs,
            kernel_size=kernel_size, strides=stride, padding=padding,
            data_format=checked_format(data_format, _LAYERS[rank][1]),
            **options.of_weights("kernel"),
        )  # fmt: skip

    return layer


convolution2d_transpose = _transposed(
    "convolution2d_transpose", "Conv2d_transpose", Conv2DTranspose, 4
)
convolution3d_transpose = _transposed(
    "convolution3d_transpose", "Conv3d_transpose", Conv3DTranspose, 5
)


@with_options(pointwise=True)
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    options: LayerOptions = LayerOptions(),  # noqa: B008
) -> Tensor:
    """Apply a depthwise convolution, then a pointwise convolution. For the other arguments, see
    `tf.layers`.

    The fields of `LayerOptions` are passed as separate arguments. `pointwise_initializer` is by
    default the initializer of the depthwise convolution. Raises ValueError for an unsupported data
    format, and TypeError for inputs that are not floating point.

    Args:
      num_outputs: the number of channels of the result. If `num_outputs` is None, only the
        depthwise convolution is applied.
    """
    layout = checked_format(data_format, ("NHWC", "NCHW"))
    if num_outputs is None:
        return _depthwise(
            inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate, options
        )
    pointwise = options.pointwise_initializer
    arguments = options.of_weights("depthwise", "pointwise")
    if pointwise is not None:
        arguments["pointwise_initializer"] = pointwise
    return apply_layer(
        SeparableConv2D, inputs, "SeparableConv2d", options, _DEPTHWISE, filters=num_outputs,
        kernel_size=kernel_size, strides=stride, padding=padding, data_format=layout,
        dilation_rate=pair(rate, "rate"), depth_multiplier=depth_multiplier, **arguments,
    )  # fmt: skip


def _depthwise(
    inputs: Any, kernel_size: Any, multiplier: int, stride: Any, padding: str, layout: str,
    rate: Any, options: LayerOptions,
) -> Tensor:  # fmt: skip
    """Apply a depthwise convolution without a pointwise convolution, then biases and activation."""
    with variable_scope(options.scope, "SeparableConv2d", [inputs], reuse=options.reuse) as within:
        source = convert_to_tensor(inputs)
        channels = _channels(source, layout)
        size, steps = pair(kernel_size, "kernel_size"), pair(stride, "stride")
        weights = _variable(
            "depthwise_weights", [*size, channels, multiplier], source, options, is_bias=False
        )
        strides = [1, *steps, 1] if layout == "NHWC" else [1, 1, *steps]
        outputs = depthwise_conv2d(
            source, weights, strides, padding.upper(), pair(rate, "rate"), data_format=layout
        )
        if options.use_bias:
            biases = _variable("biases", [channels * multiplier], source, options, is_bias=True)
            outputs = bias_add(outputs, biases, data_format=layout)
        return finish(outputs, options, within.name)


@with_options()
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    options: LayerOptions = LayerOptions(),  # noqa: B008
) -> Tensor:
    """Convolve each channel of images [n, h, w, channels] with the same weights [h, w].

    Args:
      kernel_size, stride: a number, or a pair (height, width).
    """
    with variable_scope(options.scope, "ConvInPlane", [inputs], reuse=options.reuse) as within:
        source = convert_to_tensor(inputs)
        channels = _channels(source, "NHWC")
        shape = [*pair(kernel_size, "kernel_size"), 1, 1]
        weights = _variable("weights", shape, source, options, is_bias=False)
        kernel = tile(weights, [1, 1, channels, 1])
        strides = [1, *pair(stride, "stride"), 1]
        outputs = depthwise_conv2d(source, kernel, strides, padding.upper())
        if options.use_bias:
            biases = _variable("biases", [channels], source, options, is_bias=True)
            outputs = bias_add(outputs, biases)
        return finish(outputs, options, within.name)


def _variable(
    name: str, shape: list[int], source: Tensor, options: LayerOptions, *, is_bias: bool
) -> Any:
    """Create the variable `name`, which holds weights or biases, with the initializer in
    `options`.
    """
    return model_variable(
        name,
        shape=shape,
        dtype=source.dtype.base_dtype,
        initializer=options.biases_initializer if is_bias else options.weights_initializer,
        regularizer=options.biases_regularizer if is_bias else options.weights_regularizer,
        trainable=options.trainable,
        collections=collections_of(options.variables_collections, name),
    )


def _channels(inputs: Tensor, layout: str) -> int:
    channels = inputs.shape.with_rank(4)[3 if layout == "NHWC" else 1].value
    if channels is None:
        raise ValueError(
            f"The channel dimension of the inputs should be defined, but they are {inputs.shape}"
        )
    return int(channels)


conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d
conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose
conv2d_in_plane, separable_conv2d = convolution2d_in_plane, separable_convolution2d
