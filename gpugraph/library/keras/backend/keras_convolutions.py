"""Convolutions, pooling and other functions of images, with Keras's names and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.array_functions import (
    batch_dot,
    known_format,
    repeat_elements,
    temporal_padding,
)
from gpugraph.library.keras.backend.keras_variables import int_shape, ndim, place_of_axis
from gpugraph.library.keras.backend.random_values import random_seed
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.image.resize_ops import resize_bilinear, resize_nearest_neighbor
from gpugraph.ops.nn.activations import dropout as dropout_ops
from gpugraph.ops.nn.convolution import conv2d_functions
from gpugraph.ops.nn.convolution.convolution_of_any_rank import convolution
from gpugraph.ops.nn.normalization import bias_and_moments
from gpugraph.ops.nn.pooling.pool_functions import pool

_AXES = {1: "W", 2: "HW", 3: "DHW"}


def order_of_axes(data_format: Any, rank: int) -> str:
    """Return the data format that ops use, such as "NHWC", for inputs with `rank` spatial axes.

    Raises ValueError unless `rank` is 1, 2 or 3.
    """
    if rank not in _AXES:
        raise ValueError(f"Images have 1 to 3 axes of space, with a size for each, not {rank}")
    axes = _AXES[rank]
    return f"NC{axes}" if known_format(data_format) == "channels_first" else f"N{axes}C"


def known_padding(padding: str) -> str:
    """Return "SAME" for "same" and "VALID" for "valid". Raises ValueError for any other padding."""
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding: {padding}; it is same or valid")
    return padding.upper()


def conv1d(
    x: Any,
    kernel: Any,
    strides: int = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: int = 1,
) -> Tensor:
    """Convolve [n, steps, channels] with a kernel [size, channels, filters].

    The padding "causal" adds zeros only before the first step, so that no output depends on a later
    input.
    """
    data_format = known_format(data_format)
    if padding == "causal":
        before = dilation_rate * (kernel.shape.as_list()[0] - 1)
        x = (
            temporal_padding(x, (before, 0))
            if data_format == "channels_last"
            else transpose(temporal_padding(transpose(x, (0, 2, 1)), (before, 0)), (0, 2, 1))
        )
        padding = "valid"
    return _convolved(x, kernel, (strides,), padding, data_format, (dilation_rate,))


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """Convolve images with a kernel [rows, columns, channels, filters].

    Args:
      x: [n, rows, columns, channels], or [n, channels, rows, columns] for "channels_first".
    """
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate)


def conv3d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = (1, 1, 1),
) -> Tensor:
    """Convolve volumes [n, depth, rows, columns, channels], or [n, channels, depth, rows, columns]
    for "channels_first".
    """
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate)


def _convolved(
    x: Any, kernel: Any, strides: Any, padding: str, data_format: Any, dilation_rate: Any
) -> Tensor:
    return convolution(
        x,
        kernel,
        padding=known_padding(padding),
        strides=tuple(strides),
        dilation_rate=tuple(dilation_rate),
        data_format=order_of_axes(data_format, len(strides)),
    )


def _by_axis(values: Sequence[int], data_format: Any) -> list[int]:
    """Return a stride or dilation for each axis of a tensor. The result is one of `values` for a
    spatial axis, and 1 for any other axis.
    """
    if known_format(data_format) == "channels_first":
        return [1, 1, *values]
    return [1, *values, 1]


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """Apply a transposed convolution, the gradient of `conv2d` with respect to its input.

    Args:
      kernel: [rows, columns, output channels, input channels].
      output_shape: the shape of the result.
    """
    sizes = stack(list(output_shape)) if isinstance(output_shape, (tuple, list)) else output_shape
    return conv2d_functions.conv2d_transpose(
        x,
        kernel,
        sizes,
        _by_axis(strides, data_format),
        padding=known_padding(padding),
        data_format=order_of_axes(data_format, 2),
        dilations=_by_axis(dilation_rate, data_format),
    )


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """Convolve each channel separately with its own kernels.

    Args:
      depthwise_kernel: [rows, columns, channels, multiplier]. The result has channels * multiplier
        channels.
    """
    return conv2d_functions.depthwise_conv2d(
        x,
        depthwise_kernel,
        strides=_by_axis(strides, data_format),
        padding=known_padding(padding),
        rate=tuple(dilation_rate),
        data_format=order_of_axes(data_format, 2),
    )


def separable_conv2d(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """Convolve each channel separately (`depthwise_conv2d`), then mix the channels with a 1 x 1
    kernel.
    """
    return conv2d_functions.separable_conv2d(
        x,
        depthwise_kernel,
        pointwise_kernel,
        strides=_by_axis(strides, data_format),
        padding=known_padding(padding),
        rate=tuple(dilation_rate),
        data_format=order_of_axes(data_format, 2),
    )


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: Any = None,
    pool_mode: str = "max",
) -> Tensor:
    """Return the maximum of each window of images. If `pool_mode` is "avg", return the mean of each
    window.
    """
    return _pooled(x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: Any = None,
    pool_mode: str = "max",
) -> Tensor:
    """Return the maximum of each window of volumes. If `pool_mode` is "avg", return the mean of
    each window.
    """
    return _pooled(x, pool_size, strides, padding, data_format, pool_mode)


def _pooled(
    x: Any, pool_size: Any, strides: Any, padding: str, data_format: Any, pool_mode: str
) -> Tensor:
    if pool_mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: {pool_mode}; it is max or avg")
    return pool(
        x,
        tuple(pool_size),
        pool_mode.upper(),
        known_padding(padding),
        strides=tuple(strides),
        data_format=order_of_axes(data_format, len(pool_size)),
    )


def local_conv1d(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, data_format: Any = None
) -> Tensor:
    """Convolve [n, steps, channels], with a different kernel for each output step.

    Args:
      kernel: [output steps, kernel_size * channels, filters].
      kernel_size: a tuple with one number.
    """
    steps = kernel.shape[place_of_axis(kernel, 0)].value
    return local_conv(inputs, kernel, kernel_size, strides, (steps,), data_format)


def local_conv2d(
    inputs: Any,
    kernel: Any,
    kernel_size: Any,
    strides: Any,
    output_shape: Any,
    data_format: Any = None,
) -> Tensor:
    """Convolve images, with a different kernel for each output position and no padding.

    Args:
      kernel: [output rows * output columns, kernel rows * kernel columns * channels, filters].
      output_shape: the numbers of rows and columns of the outputs.
    """
    return local_conv(inputs, kernel, kernel_size, strides, output_shape, data_format)


def local_conv(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, sizes: Any, data_format: Any
) -> Tensor:
    """Convolve along any number of axes, with a different kernel for each position.

    For the other arguments, see `local_conv2d`.

    Args:
      sizes: the sizes of the output's spatial axes.
    """
    is_first = known_format(data_format) == "channels_first"
    _, length, filters = int_shape(kernel) or ()
    windows = []
    for place in product(*(range(size) for size in sizes)):
        spans = [
            slice(index * stride, index * stride + size)
            for index, stride, size in zip(place, strides, kernel_size)
        ]
        whole = slice(None)
        window = inputs[(whole, whole, *spans) if is_first else (whole, *spans, whole)]
        windows.append(reshape(window, (1, -1, length)))
    products = batch_dot(concat(windows, axis=0), kernel)  # [positions, n, filters]
    spaced = reshape(products, (*sizes, -1, filters))
    rank = len(sizes)
    space = list(range(rank))
    return transpose(spaced, [rank, rank + 1, *space] if is_first else [rank, *space, rank + 1])


def bias_add(x: Any, bias: Any, data_format: Any = None) -> Tensor:
    """Add `bias` to each example of `x`.

    Raises ValueError if the rank of `bias` is not 1 or the rank of an example.

    Args:
      bias: a vector with one element for each channel, or a tensor that has the rank of an example,
        with the channels as its last axis.
    """
    is_first = known_format(data_format) == "channels_first"
    sizes = [size if size is not None else -1 for size in int_shape(bias) or ()]
    rank = int(ndim(x) or 0)
    if len(sizes) not in (1, rank - 1):
        raise ValueError(
            f"Unexpected bias dimensions {len(sizes)}, expect to be 1 or {rank - 1} dimensions"
        )
    if len(sizes) == 1:
        order = None if rank < 3 else order_of_axes(data_format, rank - 2)
        return bias_and_moments.bias_add(x, bias, data_format=order)
    channels_first = [1, sizes[-1], *sizes[:-1]]
    return x + reshape(bias, channels_first if is_first else [1, *sizes])


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Enlarge images by integer factors.

    Raises ValueError if `interpolation` is neither "nearest" nor "bilinear".

    Args:
      interpolation: "nearest" or "bilinear".
    """
    functions = {"nearest": resize_nearest_neighbor, "bilinear": resize_bilinear}
    if interpolation not in functions:
        raise ValueError('interpolation should be one of "nearest" or "bilinear".')
    is_first = known_format(data_format) == "channels_first"
    if is_first:
        x = transpose(x, [0, 2, 3, 1])
    known = x.shape.as_list()[1:3]
    sizes = shape(x)[1:3] * stack([height_factor, width_factor])
    resized = functions[interpolation](x, sizes, half_pixel_centers=True)
    factors = (height_factor, width_factor)
    static = [None if size is None else size * factor for size, factor in zip(known, factors)]
    resized.set_shape([x.shape[0], *static, x.shape[3]])
    return transpose(resized, [0, 3, 1, 2]) if is_first else resized


def resize_volumes(
    x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Tensor:
    """Enlarge volumes by integer factors. Each element is repeated along the three spatial axes."""
    first = 2 if known_format(data_format) == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        x = repeat_elements(x, factor, axis)
    return x


def dropout(x: Any, level: float, noise_shape: Any = None, seed: int | None = None) -> Tensor:
    """Set a random fraction `level` of the elements to 0, and divide the remaining elements by 1 -
    `level`.

    Args:
      noise_shape: the shape of the random mask, which is broadcast to the shape of `x`. The default
        is the shape of `x`.
    """
    return dropout_ops.dropout(x, rate=level, noise_shape=noise_shape, seed=random_seed(seed))


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Tensor:
    """Return (x - mean) / sqrt(var + epsilon) * gamma + beta.

    The vectors mean, var, beta and gamma are along `axis`. `beta` and `gamma` may be None.
    """
    place = place_of_axis(x, axis)
    sizes: Any = [1] * int(ndim(x) or 0)
    sizes[place] = -1
    return _normalized(x, (mean, var, beta, gamma), sizes, epsilon)


def _normalized(x: Any, parts: Sequence[Any], sizes: Any, epsilon: float) -> Tensor:
    """Normalize `x`.

    Args:
      parts: the mean, variance, offset and scale.
      sizes: the shape to which the parts that are vectors are reshaped.
    """
    mean, variance, beta, gamma = (
        reshape(part, sizes) if part is not None and ndim(part) == 1 else part for part in parts
    )
    return bias_and_moments.batch_normalization(x, mean, variance, beta, gamma, epsilon)


def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Any, epsilon: float = 1e-3
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (normalized `x`, mean, variance). The mean and variance are over `reduction_axes`."""
    reduced = sorted(place_of_axis(x, axis) for axis in reduction_axes)
    mean, variance = bias_and_moments.moments(x, reduced)
    dynamic = shape(x)
    sizes = stack([1 if axis in reduced else dynamic[axis] for axis in range(int(ndim(x) or 0))])
    return _normalized(x, (mean, variance, beta, gamma), sizes, epsilon), mean, variance
