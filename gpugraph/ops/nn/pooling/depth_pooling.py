"""Max pooling across channels, which returns the largest of several adjacent channels of a pixel.

The channels must be last. They are divided into groups of equal size that do not overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.errors import UnimplementedError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext, Misfit
from gpugraph.kernel import KernelContext
from gpugraph.ops.nn.windows.window_geometry import IMAGES, Size


def _refusal(message: str) -> Misfit:
    return Misfit(message, shapes=[], error_class=UnimplementedError)


def pooled_channels(attrs: Any, channels: Size) -> Size:
    """Return the number of output channels. Raises a Misfit (an error for attrs that do not fit the
    op) if the windows are not supported.

    In a run, the Misfit is an UnimplementedError.
    """
    if not IMAGES.channels_last(attrs):
        raise _refusal("Depthwise max pooling is not yet supported for NCHW: transpose the images")
    (batch, *window, depth), (first, *_, stride) = attrs["ksize"], attrs["strides"]
    if batch != 1 or first != 1:
        raise _refusal("Pooling is not yet supported on the batch dimension.")
    if list(window) != [1, 1]:
        raise _refusal(
            "MaxPooling supports exactly one of pooling across depth or pooling across "
            f"width/height, but ksize is {list(attrs['ksize'])}"
        )
    if depth != stride:
        raise _refusal(
            "Depthwise max pooling requires the depth window to equal the depth stride, but they "
            f"are {depth} and {stride}"
        )
    if channels is not None and channels % depth:
        raise _refusal(
            "Depthwise max pooling requires the depth window to evenly divide the input depth, "
            f"but they are {depth} and {channels}"
        )
    return None if channels is None else channels // depth


def infer_depth_pooling(context: InferContext) -> list[TensorShape]:
    """Return the shape of the pooled images. It is the shape of input 0, with one channel for each
    group of channels.
    """
    batch, spatial, channels = IMAGES.sizes(context.shapes[0], context.attrs)
    strides = context.attrs["strides"][1:3]
    out = [None if size is None else -(-size // step) for size, step in zip(spatial, strides)]
    left = pooled_channels(context.attrs, channels)
    return [IMAGES.shape(context.attrs, batch, out, left)]


def _groups(context: KernelContext, images: Any) -> Any:
    """Return a view of the pixels that the strides select, with each group of channels as a new
    last axis.
    """
    _, y, x, depth = context.attrs["strides"]
    seen = images[:, ::y, ::x]
    return seen.reshape(*seen.shape[:-1], -1, depth)


def bind_depth_max(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    """Return the call that stores the largest element of each group in `out`."""

    def run() -> None:
        np.max(_groups(context, source), axis=-1, out=out)

    return run


def _first_largest(context: KernelContext, source: Any) -> Any:
    return _groups(context, source).argmax(-1)[..., None]


def bind_depth_max_back(
    context: KernelContext, source: Any, largest: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    """Return the call that adds each group's gradient to the group's first largest element."""
    del largest
    _, y, x, _ = context.attrs["strides"]

    def run() -> None:
        groups = np.zeros_like(_groups(context, source))
        np.put_along_axis(groups, _first_largest(context, source), dy[..., None], -1)
        out.fill(0)
        out[:, ::y, ::x] = groups.reshape(*groups.shape[:-2], -1)

    return run


def bind_depth_max_back_back(
    context: KernelContext, source: Any, largest: Any, ddx: Any, out: Any
) -> Callable[[], Any]:
    """Return the call that reads `ddx` at each group's first largest element."""
    del largest

    def run() -> None:
        places = _first_largest(context, source)
        np.copyto(out, np.take_along_axis(_groups(context, ddx), places, -1)[..., 0])

    return run
