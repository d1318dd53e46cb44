"""Depthwise convolution, which treats each channel separately, and its two gradients.

For each element (i, j) of the window, one NumPy product multiplies a strided view of the images by
the filter's weights [i, j], for all positions of the window at once. Results are viewed as (n, oh,
ow, channels, output channels per input channel).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.kernel_helpers import run_all
from gpugraph.ops.nn.convolution.convolution_declaration import ConvolutionOp, declare_convolution
from gpugraph.ops.nn.convolution.depthwise_launches import (
    depthwise_filter_gradient_gpu,
    depthwise_gpu,
    depthwise_input_gradient_gpu,
)
from gpugraph.ops.nn.windows.native_window_sources import depthwise_source
from gpugraph.ops.nn.windows.window_geometry import (
    CONV_ATTRS,
    IMAGES,
    Size,
    sum_dtype,
    sum_target,
    unless_empty,
)
from gpugraph.ops.nn.windows.window_launches import (
    filter_gradient_shapes,
    forward_shapes,
    input_gradient_shapes,
)

_ATTRS = {key: attr for key, attr in CONV_ATTRS.items() if key != "use_cudnn_on_gpu"}


class _Depthwise:
    """The views of the arrays of one depthwise convolution. float16 images are summed in
    float32.
    """

    def __init__(self, context: KernelContext, image: Any, sizes: Any, result: Any) -> None:
        self.context = context
        (self.image,) = IMAGES.last_channels(context.attrs, image)
        self.result = _by_channel(context.attrs, result, sizes[2], sizes[3])
        self.y, self.x = IMAGES.axes(context.attrs, self.image.shape[1:3], sizes[:2])
        self.dtype = sum_dtype(context)
        self.part = self.scratch(self.result.shape)

    def scratch(self, shape: Sequence[int]) -> Any:
        """Allocate scratch memory of this shape, with the dtype in which sums are computed."""
        return self.context.scratch(tuple(shape), self.dtype)

    def product(self, one: Any, other: Any, piece: Any) -> Callable[[], Any]:
        """Return the call that computes piece = one * other in the dtype of the sums."""
        return partial(np.multiply, one, other, piece, dtype=self.dtype.as_numpy_dtype)

    def steps(self, image: Any, result: Any) -> list[tuple[Any, Any, Any, int, int]]:
        """Return (view of the image, of the result, of scratch, i, j) for each element of the
        window.

        The views for element (i, j) select only the windows in which this element is inside the
        image. They are the pixels at this element, the results of the windows, and memory for
        products.
        """
        return [
            (image[:, rows, columns], result[:, down, across], self.part[:, down, across], i, j)
            for i, down, rows in self.y.elements()
            for j, across, columns in self.x.elements()
        ]


def _by_channel(attrs: Any, array: Any, channels: int, times: int) -> Any:
    """Return a view of the results as (n, oh, ow, channels, times), where `times` is the number of
    output channels per input channel.
    """
    if IMAGES.channels_last(attrs):
        return array.reshape((*array.shape[:3], channels, times))
    split = array.reshape((array.shape[0], channels, times, *array.shape[2:]))
    return split.transpose(0, 3, 4, 1, 2)


@unless_empty
def _bind_forward(context: KernelContext, image: Any, weights: Any, out: Any) -> Callable[[], Any]:
    work = _Depthwise(context, image, weights.shape, out)
    total, finish = sum_target(context, work.result)
    calls: list[Callable[[], Any]] = [partial(total.fill, 0)]
    for seen, into, piece, i, j in work.steps(work.image, total):
        calls.append(work.product(seen[..., None], weights[i, j], piece))
        calls.append(partial(np.add, into, piece, into))
    return run_all([*calls, *finish])


@unless_empty
def _bind_input_gradient(
    context: KernelContext, weights: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    work = _Depthwise(context, out, weights.shape, dy)
    total, finish = sum_target(context, work.image)
    single = weights.shape[3] == 1
    sums = None if single else work.scratch(work.result.shape[:4])
    calls: list[Callable[[], Any]] = [partial(total.fill, 0)]
    for into, slope, piece, i, j in work.steps(total, work.result):
        calls.append(work.product(slope, weights[i, j], piece))
        if sums is None:
            added = piece[..., 0]
        else:
            added = sums[: into.shape[0], : into.shape[1], : into.shape[2]]
            calls.append(partial(piece.sum, -1, None, added))
        calls.append(partial(np.add, into, added, into))
    return run_all([*calls, *finish])


@unless_empty
def _bind_filter_gradient(
    context: KernelContext, image: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    work = _Depthwise(context, image, out.shape, dy)
    total, finish = sum_target(context, out)
    calls: list[Callable[[], Any]] = [partial(total.fill, 0)]
    for seen, slope, piece, i, j in work.steps(work.image, work.result):
        calls.append(work.product(seen[..., None], slope, piece))
        calls.append(partial(piece.sum, (0, 1, 2), None, total[i, j]))
    return run_all([*calls, *finish])


def _outputs_of(sizes: Sequence[Size]) -> Size:
    """Return the number of output channels of a filter (kh, kw, c, m): c * m."""
    channels, multiplier = sizes[-2:]
    return None if channels is None or multiplier is None else channels * multiplier


depthwise_op = declare_convolution(
    IMAGES,
    _ATTRS,
    ConvolutionOp(
        "DepthwiseConv2dNative", _bind_forward, depthwise_gpu,
        depthwise_source("gg_depthwise", forward_shapes, (0, 2)),
    ),
    ConvolutionOp(
        "DepthwiseConv2dNativeBackpropInput", _bind_input_gradient, depthwise_input_gradient_gpu,
        depthwise_source("gg_depthwise_back_input", input_gradient_shapes, (1, 2)),
    ),
    ConvolutionOp(
        "DepthwiseConv2dNativeBackpropFilter", _bind_filter_gradient, depthwise_filter_gradient_gpu,
        depthwise_source("gg_depthwise_back_filter", filter_gradient_shapes, (0, 1)),
    ),
    doc="The convolution of each channel with separate filters (kh, kw, c, m): c * m channels.",
    outputs_of=_outputs_of,
)  # fmt: skip
