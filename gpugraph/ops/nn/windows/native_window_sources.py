"""Native kernels for convolution and pooling of images, with their integer parameters.

The functions are in host_convolution.h, host_depthwise.h and host_pooling.h. host_windows.h names
the parameters for convolution: sizes, strides, dilations and paddings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import bfloat16, float16, float32, float64
from gpugraph.kernel import CSource, Signature
from gpugraph.ops.nn.windows.window_geometry import IMAGES

Shapes = Callable[[Signature], Sequence[tuple[int, ...]]]


def _check(signature: Signature) -> None:
    """Raise NotImplementedError if there is no native function for the dtype."""
    dtype = signature.output_types[0].base_dtype
    if dtype not in (float16, bfloat16, float32, float64):
        raise NotImplementedError(
            f"native windows are over floating-point numbers, not {dtype.name}"
        )


def _transposes(images: Sequence[int], signature: Signature) -> dict[int, tuple[int, ...]]:
    """Return a dict from the indices of arrays to their transpositions. It contains the images if
    their channels are not last.
    """
    if IMAGES.channels_last(signature.attrs):
        return {}
    return dict.fromkeys(images, (0, 2, 3, 1))


def _last(signature: Signature, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of images with channels last, given their shape in the op's data format."""
    if IMAGES.channels_last(signature.attrs):
        return tuple(shape)
    batch, channels, *sizes = shape
    return batch, *sizes, channels


def convolution_source(
    function: str, shapes: Shapes, images: Sequence[int], packed: int | None = None
) -> CSource:
    """Return the native kernel of a convolution or a gradient of it.

    Args:
      shapes: a function that returns the shapes of the images, the filter and the results.
      images: the indices of the arrays that are images. The arrays are the inputs, followed by the
        outputs.
      packed: the index of the filter if the kernel can keep its packed filter, or None.
    """
    parameters = partial(_convolution_parameters, shapes)
    turned = partial(_transposes, images)
    return CSource("host_convolution.h", function, parameters, turned, packed)


class FusedEnd(NamedTuple):
    """The ops that follow a convolution in a fused op.

    by_channel: the number of vectors by channel: 1, a bias, or 4, the scale, offset, mean and
    variance of a batch normalization. addends: 1 if images are then added, and otherwise 0.
    activation: its number in host_product.h.
    """

    by_channel: int
    addends: int
    activation: int
    epsilon: float

    def parameters(self) -> list[int]:
        """Return the integers of the native functions."""
        epsilon = int.from_bytes(np.float64(self.epsilon).tobytes(), "little")
        return [self.by_channel, self.addends, self.activation, epsilon]


def fused_source(function: str, shapes: Shapes, end_of: Callable[[Any], FusedEnd]) -> CSource:
    """Return the native kernel of a convolution with an epilogue.

    Args:
      end_of: a function from the attrs of the op to the ops that follow the convolution.
    """

    def parameters(signature: Signature) -> list[int]:
        images, filter, results = shapes(signature)
        if signature.output_types[0].base_dtype in (float16, bfloat16):
            raise NotImplementedError("numbers are rounded between a convolution and its bias")
        if prod(results) and not prod(images) * prod(filter):
            raise NotImplementedError(
                "native convolutions with a bias need elements in images and filter"
            )
        numbers = _convolution_parameters(shapes, signature)
        return [*numbers, *end_of(signature.attrs).parameters()]

    def turned(signature: Signature) -> dict[int, tuple[int, ...]]:
        end = end_of(signature.attrs)
        return _transposes(
            (0, *range(2 + end.by_channel, 3 + end.by_channel + end.addends)), signature
        )

    return CSource("host_convolution.h", function, parameters, turned, 1)


def depthwise_source(function: str, shapes: Shapes, images: Sequence[int]) -> CSource:
    """Return the native kernel of a depthwise convolution."""
    parameters, turned = partial(_parameters, shapes), partial(_transposes, images)
    return CSource("host_depthwise.h", function, parameters, turned)


def _convolution_parameters(shapes: Shapes, signature: Signature) -> list[int]:
    """Return the parameters of a convolution. If a single window covers an axis, this axis is first
    merged into the channels.
    """
    numbers = _parameters(shapes, signature)
    for axis in (
        1,
        0,
    ):  # the width before the height, because a folded axis must be adjacent to the channels
        size, window, out, before = (numbers[start + axis] for start in (1, 4, 7, 13))
        if not (size == window and out == 1 and before == 0 and numbers[11 + axis] == 1):
            break
        numbers[3] *= size
        numbers[1 + axis] = numbers[4 + axis] = 1
    return numbers


def _parameters(shapes: Shapes, signature: Signature) -> list[int]:
    _check(signature)
    images, filter, results = shapes(signature)
    images, results = _last(signature, images), _last(signature, results)
    y, x = IMAGES.axes(signature.attrs, images[1:3], filter[:2])
    sizes = [*images, filter[0], filter[1], filter[3], results[1], results[2]]
    return [*sizes, y.stride, x.stride, y.dilation, x.dilation, y.before, x.before]


def pooling_source(function: str, shapes: Shapes) -> CSource:
    """Return the native kernel of pooling or a gradient of it.

    Args:
      shapes: a function that returns the shapes of the images and of the results.
    """

    def parameters(signature: Signature) -> list[int]:
        _check(signature)
        if IMAGES.pools_depth(signature.attrs):
            raise NotImplementedError("pooling across channels has no native function")
        images, windows = (_last(signature, shape) for shape in shapes(signature))
        y, x = IMAGES.axes(signature.attrs, images[1:3])
        sizes = [*images, y.window, x.window, windows[1], windows[2]]
        return [*sizes, y.stride, x.stride, y.before, x.before, 0]

    return CSource("host_pooling.h", function, parameters, partial(_transposes, range(4)))
