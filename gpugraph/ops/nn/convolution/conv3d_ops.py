"""Convolution of volumes and its two gradients, one volume at a time.

The elements under each window of a volume are copied to a row of a matrix. The product of this
matrix and the filter is the result. (`conv2d_ops` uses the same method for images.)
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32, int64
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.nn.convolution.convolution_declaration import ConvolutionOp, declare_convolution
from gpugraph.ops.nn.convolution.convolution_launches import (
    convolution_gpu,
    filter_gradient_gpu,
    input_gradient_gpu,
)
from gpugraph.ops.nn.windows.native_volume_sources import (
    CONVOLUTION,
    FILTER_GRADIENT,
    INPUT_GRADIENT,
)
from gpugraph.ops.nn.windows.window_geometry import (
    PADDING,
    VOLUMES,
    sum_dtype,
    unless_empty,
    window_steps,
)

_ATTRS = {
    "strides": Attr("list(int)", required=True, minimum=5),
    "padding": PADDING,
    "data_format": VOLUMES.format,
    "dilations": Attr("list(int)", [1, 1, 1, 1, 1]),
}


class _Windows:
    """A matrix whose rows are the elements under the windows of one volume. The memory is the same
    for all volumes.
    """

    def __init__(self, context: KernelContext, source: Any, weights: Any, result: Any) -> None:
        self.context = context
        self.dtype = sum_dtype(context)
        axes = VOLUMES.axes(context.attrs, source.shape[1:4], weights.shape[:3])
        self.depth, self.outputs = prod(weights.shape[:4]), weights.shape[4]
        self.count = prod(result.shape[1:4])
        self.rows = self.scratch(self.count, self.depth)
        shaped = self.rows.reshape(*result.shape[1:4], *weights.shape[:4])
        self.seen = [
            (shaped[(*places, *element)], pixels) for element, places, pixels in window_steps(axes)
        ]
        self.reaches_out = any(axis.reaches_out for axis in axes)

    def scratch(self, *shape: int) -> Any:
        """Allocate scratch memory of this shape, with the dtype in which sums are computed."""
        return self.context.scratch(shape, self.dtype)

    def filter_scratch(self) -> Any:
        """Allocate scratch memory for a filter, as a matrix (window elements x channels,
        outputs).
        """
        return self.scratch(self.depth, self.outputs)

    def lay_out(self, volume: Any) -> None:
        """Copy the elements under each window into the rows, with 0 outside the volume."""
        if self.reaches_out:
            self.rows.fill(0)
        for into, pixels in self.seen:
            np.copyto(into, volume[pixels])

    def add_to_pixels(self, volume: Any) -> None:
        """Add each element of the rows to the element of `volume` to which it belongs. This is the
        transpose of `lay_out`.
        """
        for row, pixels in self.seen:
            np.add(volume[pixels], row, volume[pixels])


@unless_empty
def _bind_forward(context: KernelContext, source: Any, weights: Any, out: Any) -> Callable[[], Any]:
    source, out = VOLUMES.last_channels(context.attrs, source, out)
    work = _Windows(context, source, weights, out)
    matrix, result = work.filter_scratch(), work.scratch(work.count, work.outputs)
    flat = weights.reshape(work.depth, work.outputs)

    def run() -> None:
        np.copyto(matrix, flat)
        for volume, target in zip(source, out):
            work.lay_out(volume)
            np.matmul(work.rows, matrix, result)
            np.copyto(target, result.reshape(target.shape), casting="same_kind")

    return run


@unless_empty
def _bind_input_gradient(
    context: KernelContext, weights: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    dy, out = VOLUMES.last_channels(context.attrs, dy, out)
    work = _Windows(context, out, weights, dy)
    matrix, slope = work.filter_scratch(), work.scratch(work.count, work.outputs)
    total = work.scratch(*out.shape[1:])
    flat = weights.reshape(work.depth, work.outputs)

    def run() -> None:
        np.copyto(matrix, flat)
        for gradient, target in zip(dy, out):
            np.copyto(slope.reshape(gradient.shape), gradient)
            np.matmul(slope, matrix.T, work.rows)
            total.fill(0)
            work.add_to_pixels(total)
            np.copyto(target, total, casting="same_kind")

    return run


@unless_empty
def _bind_filter_gradient(
    context: KernelContext, source: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    source, dy = VOLUMES.last_channels(context.attrs, source, dy)
    work = _Windows(context, source, out, dy)
    part, total = work.filter_scratch(), work.filter_scratch()
    slope = work.scratch(work.count, work.outputs)

    def run() -> None:
        total.fill(0)
        for volume, gradient in zip(source, dy):
            work.lay_out(volume)
            np.copyto(slope.reshape(gradient.shape), gradient)
            np.matmul(work.rows.T, slope, part)
            np.add(total, part, total)
        np.copyto(out, total.reshape(out.shape), casting="same_kind")

    return run


conv3d_op = declare_convolution(
    VOLUMES,
    _ATTRS,
    ConvolutionOp("Conv3D", _bind_forward, convolution_gpu, CONVOLUTION),
    ConvolutionOp(
        "Conv3DBackpropInputV2", _bind_input_gradient, input_gradient_gpu, INPUT_GRADIENT
    ),
    ConvolutionOp(
        "Conv3DBackpropFilterV2", _bind_filter_gradient, filter_gradient_gpu, FILTER_GRADIENT
    ),
    doc="The convolution of volumes (n, d, h, w, c) with a filter (kd, kh, kw, c, outputs).",
    size_types=(int32, int64),
)
