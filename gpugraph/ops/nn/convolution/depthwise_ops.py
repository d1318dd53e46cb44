"""Convolution of each channel by itself, and its two gradients.

Each element of the window is one product of a strided view of the images with its weights, for
all places at once. Results are seen as (n, oh, ow, channels, outputs a channel).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING, float16, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import do_nothing, run_all
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, shape_of
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.convolution.depthwise_launches import (
    back_filter_gpu,
    back_input_gpu,
    forward_gpu,
)
from gpugraph.ops.nn.windows.native_window_sources import depthwise_source
from gpugraph.ops.nn.windows.window_geometry import (
    CONV_ATTRS,
    channels_last,
    check_equal,
    check_places,
    images,
    in_format,
    last_channels,
    out_sizes,
    plan_axes,
)

_ATTRS = {key: attr for key, attr in CONV_ATTRS.items() if key != "use_cudnn_on_gpu"}


class _Depthwise:
    """Views of a convolution's arrays; sums of float16 are kept in float32."""

    def __init__(self, context: KernelContext, image: Any, sizes: Any, result: Any) -> None:
        self.context = context
        self.image = last_channels(context.attrs, image)
        self.result = _by_channel(context.attrs, result, sizes[2], sizes[3])
        y, x = plan_axes(context.attrs, self.image.shape[1:3], sizes[:2])
        assert y is not None and x is not None
        self.y, self.x = y, x
        dtype = context.output_types[0].base_dtype
        self.narrow = dtype is float16
        self.dtype = float32 if self.narrow else dtype
        self.part = self.scratch(self.result.shape)

    def scratch(self, shape: Sequence[int]) -> Any:
        return self.context.scratch(tuple(shape), self.dtype)

    def total_of(self, target: Any) -> tuple[Any, list[Callable[[], Any]]]:
        """What sums go into, and the call that brings them to `target`, if it is another."""
        if not self.narrow:
            return target, []
        wide = self.scratch(target.shape)
        return wide, [partial(np.copyto, target, wide, casting="same_kind")]

    def product(self, one: Any, other: Any, piece: Any) -> Callable[[], Any]:
        return partial(np.multiply, one, other, piece, dtype=self.dtype.as_numpy_dtype)

    def steps(self, image: Any, result: Any) -> list[tuple[Any, Any, Any, int, int]]:
        """(view of the image, of the result, of scratch like it, i, j) for elements (i, j)."""
        return [
            (image[:, rows, columns], result[:, down, across], self.part[:, down, across], i, j)
            for i, down, rows in self.y.elements()
            for j, across, columns in self.x.elements()
        ]


def _by_channel(attrs: Any, array: Any, channels: int, times: int) -> Any:
    """The results as (n, oh, ow, channels, times)."""
    if channels_last(attrs):
        return array.reshape((*array.shape[:3], channels, times))
    split = array.reshape((array.shape[0], channels, times, *array.shape[2:]))
    return split.transpose(0, 3, 4, 1, 2)


def _bind_forward(context: KernelContext, image: Any, weights: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    work = _Depthwise(context, image, weights.shape, out)
    total, finish = work.total_of(work.result)
    calls: list[Callable[[], Any]] = [partial(total.fill, 0)]
    for seen, into, piece, i, j in work.steps(work.image, total):
        calls.append(work.product(seen[..., None], weights[i, j], piece))
        calls.append(partial(np.add, into, piece, into))
    return run_all([*calls, *finish])


def _bind_back_input(context: KernelContext, weights: Any, dy: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    work = _Depthwise(context, out, weights.shape, dy)
    total, finish = work.total_of(work.image)
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


def _bind_back_filter(context: KernelContext, image: Any, dy: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    work = _Depthwise(context, image, out.shape, dy)
    total, finish = work.total_of(out)
    calls: list[Callable[[], Any]] = [partial(total.fill, 0)]
    for seen, slope, piece, i, j in work.steps(work.image, work.result):
        calls.append(work.product(seen[..., None], slope, piece))
        calls.append(partial(piece.sum, (0, 1, 2), None, total[i, j]))
    return run_all([*calls, *finish])


# -- declarations


def _times(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other


def _infer_forward(context: InferContext) -> Sequence[TensorShape]:
    attrs = context.attrs
    image = images(context.shapes[0], attrs)
    height, width, depth, times = of_rank(context.shapes[1], 4, "filter")
    check_equal(image.channels, depth, "the images' channels and the filter's")
    down, across = out_sizes(attrs, (image.height, image.width), (height, width))
    channels = depth if image.channels is None else image.channels
    return [in_format(attrs, image.batch, down, across, _times(channels, times))]


def _check_slope(context: InferContext, image: Any, sizes: Any) -> None:
    attrs = context.attrs
    slope = images(context.shapes[2], attrs, "out_backprop")
    check_equal(image.channels, sizes[2], "the images' channels and the filter's")
    check_equal(
        slope.channels, _times(sizes[2], sizes[3]), "the gradient's channels and the outputs"
    )
    check_equal(image.batch, slope.batch, "the images and the gradient's")
    check_places(attrs, (image.height, image.width), sizes[:2], slope[1:3])


def _infer_back_input(context: InferContext) -> Sequence[TensorShape]:
    image = images(context.value_as_shape(0), context.attrs, "input_sizes")
    _check_slope(context, image, of_rank(context.shapes[1], 4, "filter"))
    return [in_format(context.attrs, *image)]


def _infer_back_filter(context: InferContext) -> Sequence[TensorShape]:
    sizes = of_rank(context.value_as_shape(1), 4, "filter_sizes")
    _check_slope(context, images(context.shapes[0], context.attrs), sizes)
    return [TensorShape.of(sizes)]


def _forward_back(op: Any, dy: Any) -> list[Any]:
    image, weights = op.inputs
    attrs = attrs_of(op, _ATTRS)
    return [
        raw_ops.DepthwiseConv2dNativeBackpropInput(shape_of(image), weights, dy, **attrs),
        raw_ops.DepthwiseConv2dNativeBackpropFilter(image, shape_of(weights), dy, **attrs),
    ]


def _back_input_back(op: Any, ddx: Any) -> list[Any]:
    _, weights, dy = op.inputs
    attrs = attrs_of(op, _ATTRS)
    return [
        None,
        raw_ops.DepthwiseConv2dNativeBackpropFilter(ddx, shape_of(weights), dy, **attrs),
        raw_ops.DepthwiseConv2dNative(ddx, weights, **attrs),
    ]


def _back_filter_back(op: Any, ddw: Any) -> list[Any]:
    image, _, dy = op.inputs
    attrs = attrs_of(op, _ATTRS)
    return [
        raw_ops.DepthwiseConv2dNativeBackpropInput(shape_of(image), ddw, dy, **attrs),
        None,
        raw_ops.DepthwiseConv2dNative(image, ddw, **attrs),
    ]


depthwise_op = op(
    "DepthwiseConv2dNative",
    inputs="input: T, filter: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_forward,
    cpu=Call(make=_bind_forward),
    gpu=forward_gpu(Call(make=_bind_forward)),
    native=depthwise_source(
        "gg_depthwise", lambda given: (*given.input_shapes, given.output_shapes[0])
    ),
    grad=_forward_back,
    doc="Each channel's windows times its own filters (kh, kw, c, m): c * m channels.",
)

op(
    "DepthwiseConv2dNativeBackpropInput",
    inputs="input_sizes: int32, filter: T, out_backprop: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_back_input,
    host=[0],
    cpu=Call(make=_bind_back_input),
    gpu=back_input_gpu(Call(make=_bind_back_input)),
    native=depthwise_source(
        "gg_depthwise_back_input", lambda given: (given.output_shapes[0], *given.input_shapes[1:])
    ),
    grad=_back_input_back,
    doc="The gradient of DepthwiseConv2dNative by its images, of the sizes `input_sizes`.",
)

op(
    "DepthwiseConv2dNativeBackpropFilter",
    inputs="input: T, filter_sizes: int32, out_backprop: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_back_filter,
    host=[1],
    cpu=Call(make=_bind_back_filter),
    gpu=back_filter_gpu(Call(make=_bind_back_filter)),
    native=depthwise_source(
        "gg_depthwise_back_filter",
        lambda given: (given.input_shapes[0], given.output_shapes[0], given.input_shapes[2]),
    ),
    grad=_back_filter_back,
    doc="The gradient of DepthwiseConv2dNative by its filter, of the sizes `filter_sizes`.",
)
