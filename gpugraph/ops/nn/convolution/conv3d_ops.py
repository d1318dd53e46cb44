"""Convolution of volumes and its two gradients, one volume after the other.

What each window of a volume sees is laid out as a row of a matrix, and the product with the filter
is the result, as `convolution` says of images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING, DType, float16, float32, int32, int64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import do_nothing
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, shape_of
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.volume_geometry import (
    VOLUME_FORMAT,
    axes_of,
    check_volume_places,
    in_volume_format,
    last_volume_channels,
    out_volume,
    steps_of,
    volumes,
)
from gpugraph.ops.nn.windows.window_geometry import PADDING, check_equal
from gpugraph.ops.nn.windows.window_launches import convolution_gpu, of_volumes

_ATTRS = {
    "strides": Attr("list(int)", required=True),
    "padding": PADDING,
    "data_format": VOLUME_FORMAT,
    "dilations": Attr("list(int)", [1, 1, 1, 1, 1]),
}


class _Windows:
    """What the windows of one volume after the other see, as rows of a matrix."""

    def __init__(self, context: KernelContext, source: Any, weights: Any, result: Any) -> None:
        self.context = context
        dtype = context.output_types[0].base_dtype
        self.dtype: DType = float32 if dtype is float16 else dtype
        axes: list[Any] = list(axes_of(context.attrs, source.shape[1:4], weights.shape[:3]))
        self.depth, self.outputs = prod(weights.shape[:4]), weights.shape[4]
        self.count = prod(result.shape[1:4])
        self.rows = self.scratch(self.count, self.depth)
        shaped = self.rows.reshape(*result.shape[1:4], *weights.shape[:4])
        self.seen = [
            (shaped[(*places, *element)], pixels) for element, places, pixels in steps_of(axes)
        ]
        self.reaches_out = any(axis.reaches_out for axis in axes)

    def scratch(self, *shape: int) -> Any:
        return self.context.scratch(shape, self.dtype)

    def lay_out(self, volume: Any) -> None:
        """Fills the rows with what windows of the volume see."""
        if self.reaches_out:
            self.rows.fill(0)
        for into, pixels in self.seen:
            np.copyto(into, volume[pixels])

    def spread(self, volume: Any) -> None:
        """Adds the rows to the pixels that windows see."""
        for row, pixels in self.seen:
            np.add(volume[pixels], row, volume[pixels])


def _channels_last(context: KernelContext, *arrays: Any) -> list[Any]:
    return [last_volume_channels(context.attrs, each) for each in arrays]


def _bind_forward(context: KernelContext, source: Any, weights: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    if weights.size == 0:
        return lambda: out.fill(0)
    source, out = _channels_last(context, source, out)
    work = _Windows(context, source, weights, out)
    matrix, result = work.scratch(work.depth, work.outputs), work.scratch(work.count, work.outputs)
    flat = weights.reshape(work.depth, work.outputs)

    def run() -> None:
        np.copyto(matrix, flat)
        for volume, made in zip(source, out):
            work.lay_out(volume)
            np.matmul(work.rows, matrix, result)
            np.copyto(made, result.reshape(made.shape), casting="same_kind")

    return run


def _bind_back_input(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    weights, dy, out = arrays[-3:]
    if out.size == 0:
        return do_nothing
    if dy.size == 0 or weights.size == 0:
        return lambda: out.fill(0)
    dy, out = _channels_last(context, dy, out)
    work = _Windows(context, out, weights, dy)
    matrix, slope = work.scratch(work.depth, work.outputs), work.scratch(work.count, work.outputs)
    total = work.scratch(*out.shape[1:])
    flat = weights.reshape(work.depth, work.outputs)

    def run() -> None:
        np.copyto(matrix, flat)
        for given, made in zip(dy, out):
            np.copyto(slope.reshape(given.shape), given)
            np.matmul(slope, matrix.T, work.rows)
            total.fill(0)
            work.spread(total)
            np.copyto(made, total, casting="same_kind")

    return run


def _bind_back_filter(context: KernelContext, source: Any, dy: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    if dy.size == 0:
        return lambda: out.fill(0)
    source, dy = _channels_last(context, source, dy)
    work = _Windows(context, source, out, dy)
    part, total = work.scratch(work.depth, work.outputs), work.scratch(work.depth, work.outputs)
    slope = work.scratch(work.count, work.outputs)

    def run() -> None:
        total.fill(0)
        for volume, given in zip(source, dy):
            work.lay_out(volume)
            np.copyto(slope.reshape(given.shape), given)
            np.matmul(work.rows.T, slope, part)
            np.add(total, part, total)
        np.copyto(out, total.reshape(out.shape), casting="same_kind")

    return run


# -- shapes and gradients


def _infer_forward(context: InferContext) -> Sequence[TensorShape]:
    attrs, source = context.attrs, volumes(context.shapes[0], context.attrs)
    *window, depth, outputs = of_rank(context.shapes[1], 5, "filter")
    check_equal(source.channels, depth, "the volumes' channels and the filter's")
    places = out_volume(attrs, source.places, window)
    return [in_volume_format(attrs, source.batch, places, outputs)]


def _check(context: InferContext, source: Any, weights: Sequence[Any], at: int) -> None:
    slope = volumes(context.shapes[at], context.attrs, "out_backprop")
    check_equal(source.channels, weights[3], "the volumes' channels and the filter's")
    check_equal(slope.channels, weights[4], "the gradient's channels and the filter's outputs")
    check_equal(source.batch, slope.batch, "the volumes and the gradient's")
    check_volume_places(context.attrs, source.places, weights[:3], slope.places)


def _infer_back_input(context: InferContext) -> Sequence[TensorShape]:
    source = volumes(context.value_as_shape(0), context.attrs, "input_sizes")
    _check(context, source, of_rank(context.shapes[1], 5, "filter"), 2)
    return [in_volume_format(context.attrs, source.batch, source.places, source.channels)]


def _infer_back_filter(context: InferContext) -> Sequence[TensorShape]:
    sizes = of_rank(context.value_as_shape(1), 5, "filter_sizes")
    _check(context, volumes(context.shapes[0], context.attrs), sizes, 2)
    return [TensorShape.of(sizes)]


def _back(op: Any, dy: Any) -> list[Any]:
    source, weights = op.inputs
    attrs = attrs_of(op, _ATTRS)
    return [
        raw_ops.Conv3DBackpropInputV2(shape_of(source), weights, dy, **attrs),
        raw_ops.Conv3DBackpropFilterV2(source, shape_of(weights), dy, **attrs),
    ]


def _back_input_back(op: Any, ddx: Any) -> list[Any]:
    _, weights, dy = op.inputs
    attrs = attrs_of(op, _ATTRS)
    return [
        None,
        raw_ops.Conv3DBackpropFilterV2(ddx, shape_of(weights), dy, **attrs),
        raw_ops.Conv3D(ddx, weights, **attrs),
    ]


def _back_filter_back(op: Any, ddw: Any) -> list[Any]:
    source, _, dy = op.inputs
    attrs = attrs_of(op, _ATTRS)
    return [
        raw_ops.Conv3DBackpropInputV2(shape_of(source), ddw, dy, **attrs),
        None,
        raw_ops.Conv3D(source, ddw, **attrs),
    ]


conv3d_op = op(
    "Conv3D",
    inputs="input: T, filter: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_forward,
    cpu=Call(make=_bind_forward),
    gpu=convolution_gpu(Call(make=_bind_forward), 0, of_volumes),
    grad=_back,
    doc="Each window of the volumes (n, d, h, w, c) times the filter (kd, kh, kw, c, outputs).",
)

op(
    "Conv3DBackpropInputV2",
    inputs="input_sizes: Tshape, filter: T, out_backprop: T",
    outputs="output: T",
    attrs={"T": FLOATING, "Tshape": (int32, int64), **_ATTRS},
    infer=_infer_back_input,
    host=[0],
    cpu=Call(make=_bind_back_input),
    gpu=convolution_gpu(Call(make=_bind_back_input), 1, of_volumes),
    grad=_back_input_back,
    doc="The gradient of Conv3D by its volumes, of the sizes `input_sizes`.",
)

op(
    "Conv3DBackpropFilterV2",
    inputs="input: T, filter_sizes: int32, out_backprop: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_back_filter,
    host=[1],
    cpu=Call(make=_bind_back_filter),
    gpu=convolution_gpu(Call(make=_bind_back_filter), 2, of_volumes),
    grad=_back_filter_back,
    doc="The gradient of Conv3D by its filter, of the sizes `filter_sizes`.",
)
