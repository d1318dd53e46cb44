"""Convolution of images and its two gradients, by products of matrices.

For a tile of windows, `columns` lays out what each window sees as one row of a matrix; the product
with the filter, a matrix of (window elements x channels, outputs), is the tile's output, and the
same two matrices and the output's gradient give both gradients. A tile is as much as stays in the
cache.

    images (n, h, w, c) --columns--> (places, kh kw c) @ filter (kh kw c, out) --> (places, out)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING, DType, float16, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import do_nothing, run_all
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, shape_of
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.native_window_sources import convolution_source
from gpugraph.ops.nn.windows.window_geometry import (
    CONV_ATTRS,
    Axis,
    check_equal,
    check_places,
    images,
    in_format,
    last_channels,
    out_sizes,
    pieces,
    plan_axes,
)
from gpugraph.ops.nn.windows.window_launches import convolution_gpu

_TILE_BYTES = 1 << 20
"""Of a matrix of columns: about what a core's second cache holds."""


class _Convolution:
    """One convolution's matrices, bound to arrays with their channels last.

    image: (n, h, w, c). weights: (kh, kw, c, out). result: (n, oh, ow, out).
    """

    def __init__(self, context: KernelContext, image: Any, weights: Any, result: Any) -> None:
        self.context, self.image, self.result = context, image, result
        self.attrs = context.attrs
        y, x = plan_axes(self.attrs, image.shape[1:3], weights.shape[:2])
        assert y is not None and x is not None
        self.y: Axis = y
        self.x: Axis = x
        self.depth = int(np.prod(weights.shape[:3]))
        self.outputs = weights.shape[3]
        dtype = context.output_types[0].base_dtype
        self.dtype: DType = float32 if dtype is float16 else dtype
        row = self.depth * self.dtype.as_numpy_dtype().itemsize * x.out
        rows = max(1, _TILE_BYTES // max(1, row))  # rows of windows a tile
        self.batch_step = max(1, rows // max(1, y.out))
        self.row_step = min(rows, y.out)
        self.most = min(self.batch_step, image.shape[0]) * self.row_step * x.out

    def scratch(self, *shape: int) -> Any:
        return self.context.scratch(shape, self.dtype)

    def wide(self, array: Any) -> tuple[Any, Callable[[], Any]]:
        """The array in the dtype of the work, and what brings it there at each run."""
        if np.dtype(array.dtype) == self.dtype.as_numpy_dtype and array.flags.c_contiguous:
            return array, do_nothing
        copy = self.scratch(*array.shape)
        return copy, lambda: np.copyto(copy, array)

    def tiles(self) -> Iterator[tuple[slice, int, int]]:
        """(images, first row of windows, the row after the last) of each tile."""
        for first, last in pieces(self.image.shape[0], self.batch_step):
            for start, stop in pieces(self.y.out, self.row_step):
                yield slice(first, last), start, stop

    @property
    def is_plain(self) -> bool:
        """Whether windows are single elements, side by side: the image is its own columns."""
        return (
            self.y.window == self.x.window == self.y.stride == self.x.stride == 1
            and not (self.y.reaches_out or self.x.reaches_out)
            and self.image.flags.c_contiguous
            and np.dtype(self.image.dtype) == self.dtype.as_numpy_dtype
        )

    def columns(self, buffer: Any, batch: slice, start: int, stop: int) -> Any:
        """The tile's view of `buffer`, as (n, rows, ow, kh, kw, c)."""
        shape = (
            batch.stop - batch.start, stop - start, self.x.out, self.y.window, self.x.window,
            self.image.shape[3],
        )  # fmt: skip
        return buffer[: int(np.prod(shape[:3]))].reshape(shape)

    def steps(self, tile: Any, batch: slice, start: int, stop: int) -> list[tuple[Any, Any]]:
        """Pairs of views: of the columns, and of the image where they see it."""
        image = self.image[batch]
        return [
            (tile[:, rows, across, i, j], image[:, down, along])
            for i, rows, down in self.y.elements(start, stop)
            for j, across, along in self.x.elements()
        ]

    @property
    def reaches_out(self) -> bool:
        return self.y.reaches_out or self.x.reaches_out


# -- forward


def bind_convolution(
    context: KernelContext, image: Any, weights: Any, out: Any
) -> Callable[[], Any]:
    """What convolves `image` with `weights` into `out`, as the context's attrs say."""
    if out.size == 0:
        return do_nothing
    if weights.size == 0:  # nothing is summed up
        return lambda: out.fill(0)
    image, out = (last_channels(context.attrs, each) for each in (image, out))
    work = _Convolution(context, image, weights, out)
    matrix, prepare = work.wide(weights.reshape(work.depth, work.outputs))
    direct = out.flags.c_contiguous and np.dtype(out.dtype) == work.dtype.as_numpy_dtype
    if work.is_plain and direct:
        rows, places = image.reshape(-1, work.depth), out.reshape(-1, work.outputs)
        return lambda: np.matmul(rows, matrix, places)
    buffer = work.scratch(work.most, work.depth)
    result = None if direct else work.scratch(work.most, work.outputs)
    return run_all(
        [prepare, *(_conv_tile(work, each, matrix, buffer, result) for each in work.tiles())]
    )


def _conv_tile(
    work: _Convolution, tile: tuple[slice, int, int], matrix: Any, buffer: Any, result: Any
) -> Callable[[], Any]:
    batch, start, stop = tile
    columns = work.columns(buffer, *tile)
    steps = work.steps(columns, *tile)
    flat = columns.reshape(-1, work.depth)
    target = work.result[batch, start:stop]
    out = (target if result is None else result[: len(flat)]).reshape(-1, work.outputs)
    shaped = out.reshape(target.shape)
    fill = work.reaches_out

    def run() -> None:
        if fill:
            flat.fill(0)
        for into, seen in steps:
            np.copyto(into, seen)
        np.matmul(flat, matrix, out)
        if result is not None:
            np.copyto(target, shaped, casting="same_kind")

    return run


# -- the gradient by the images


def _bind_back_input(context: KernelContext, weights: Any, dy: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    if dy.size == 0 or weights.size == 0:
        return lambda: out.fill(0)
    dx, dy = (last_channels(context.attrs, each) for each in (out, dy))
    narrow = context.output_types[0].base_dtype is float16
    total = context.scratch(dx.shape, float32) if narrow else dx
    work = _Convolution(context, total, weights, dy)
    matrix, prepare = work.wide(weights.reshape(work.depth, work.outputs))
    slope, prepare_slope = work.wide(dy)
    buffer = work.scratch(work.most, work.depth)
    calls: list[Callable[[], Any]] = [prepare, prepare_slope, lambda: total.fill(0)]
    for tile in work.tiles():
        calls.append(_back_input_tile(work, tile, matrix.T, slope, buffer))
    if total is not dx:
        calls.append(lambda: np.copyto(dx, total, casting="same_kind"))
    return run_all(calls)


def _back_input_tile(
    work: _Convolution, tile: tuple[slice, int, int], turned: Any, slope: Any, buffer: Any
) -> Callable[[], Any]:
    batch, start, stop = tile
    columns = work.columns(buffer, *tile)
    steps = work.steps(columns, *tile)
    flat = columns.reshape(-1, work.depth)
    given = slope[batch, start:stop]
    rows = given.reshape(-1, work.outputs)

    def run() -> None:
        np.matmul(rows, turned, flat)
        for column, seen in steps:
            np.add(seen, column, seen)

    return run


# -- the gradient by the filter


def _bind_back_filter(context: KernelContext, image: Any, dy: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    if dy.size == 0:
        return lambda: out.fill(0)
    image, dy = (last_channels(context.attrs, each) for each in (image, dy))
    work = _Convolution(context, image, out, dy)
    slope, prepare = work.wide(dy)
    buffer = work.scratch(work.most, work.depth)
    part = work.scratch(work.depth, work.outputs)
    total = work.scratch(work.depth, work.outputs)
    calls: list[Callable[[], Any]] = [prepare, lambda: total.fill(0)]
    for tile in work.tiles():
        calls.append(_back_filter_tile(work, tile, slope, buffer, part, total))
    target = out.reshape(work.depth, work.outputs)
    calls.append(lambda: np.copyto(target, total, casting="same_kind"))
    return run_all(calls)


def _back_filter_tile(
    work: _Convolution, tile: tuple[slice, int, int], slope: Any, buffer: Any, part: Any, total: Any
) -> Callable[[], Any]:
    batch, start, stop = tile
    columns = work.columns(buffer, *tile)
    steps = work.steps(columns, *tile)
    flat = columns.reshape(-1, work.depth)
    rows = slope[batch, start:stop].reshape(-1, work.outputs)
    fill = work.reaches_out

    def run() -> None:
        if fill:
            flat.fill(0)
        for into, seen in steps:
            np.copyto(into, seen)
        np.matmul(flat.T, rows, part)
        np.add(total, part, total)

    return run


# -- declarations


def infer_convolution(context: InferContext) -> Sequence[TensorShape]:
    """The shape that images (input 0) convolved with a filter (input 1) have."""
    attrs = context.attrs
    image = images(context.shapes[0], attrs)
    height, width, depth, outputs = of_rank(context.shapes[1], 4, "filter")
    check_equal(image.channels, depth, "the images' channels and the filter's")
    down, across = out_sizes(attrs, (image.height, image.width), (height, width))
    return [in_format(attrs, image.batch, down, across, outputs)]


def _infer_back_input(context: InferContext) -> Sequence[TensorShape]:
    attrs = context.attrs
    image = images(context.value_as_shape(0), attrs, "input_sizes")
    height, width, depth, outputs = of_rank(context.shapes[1], 4, "filter")
    slope = images(context.shapes[2], attrs, "out_backprop")
    check_equal(image.channels, depth, "the images' channels and the filter's")
    check_equal(slope.channels, outputs, "the gradient's channels and the filter's outputs")
    check_equal(image.batch, slope.batch, "the images and the gradient's")
    check_places(attrs, (image.height, image.width), (height, width), slope[1:3])
    return [in_format(attrs, *image)]


def _infer_back_filter(context: InferContext) -> Sequence[TensorShape]:
    attrs = context.attrs
    image = images(context.shapes[0], attrs)
    sizes = of_rank(context.value_as_shape(1), 4, "filter_sizes")
    slope = images(context.shapes[2], attrs, "out_backprop")
    check_equal(image.channels, sizes[2], "the images' channels and the filter's")
    check_equal(slope.channels, sizes[3], "the gradient's channels and the filter's outputs")
    check_equal(image.batch, slope.batch, "the images and the gradient's")
    check_places(attrs, (image.height, image.width), sizes[:2], slope[1:3])
    return [TensorShape.of(sizes)]


def _conv_back(op: Any, dy: Any) -> list[Any]:
    image, weights = op.inputs
    attrs = attrs_of(op, CONV_ATTRS)
    return [
        raw_ops.Conv2DBackpropInput(shape_of(image), weights, dy, **attrs),
        raw_ops.Conv2DBackpropFilter(image, shape_of(weights), dy, **attrs),
    ]


def _back_input_back(op: Any, ddx: Any) -> list[Any]:
    _, weights, dy = op.inputs
    attrs = attrs_of(op, CONV_ATTRS)
    return [
        None,
        raw_ops.Conv2DBackpropFilter(ddx, shape_of(weights), dy, **attrs),
        raw_ops.Conv2D(ddx, weights, **attrs),
    ]


def _back_filter_back(op: Any, ddw: Any) -> list[Any]:
    image, _, dy = op.inputs
    attrs = attrs_of(op, CONV_ATTRS)
    return [
        raw_ops.Conv2DBackpropInput(shape_of(image), ddw, dy, **attrs),
        None,
        raw_ops.Conv2D(image, ddw, **attrs),
    ]


conv2d_op = op(
    "Conv2D",
    inputs="input: T, filter: T",
    outputs="output: T",
    attrs={"T": FLOATING, **CONV_ATTRS},
    infer=infer_convolution,
    cpu=Call(make=bind_convolution),
    gpu=convolution_gpu(Call(make=bind_convolution), 0),
    native=convolution_source(
        "gg_conv2d", lambda given: (*given.input_shapes, given.output_shapes[0])
    ),
    grad=_conv_back,
    doc="Each window of the images (n, h, w, c) times the filter (kh, kw, c, outputs), summed up.",
)

op(
    "Conv2DBackpropInput",
    inputs="input_sizes: int32, filter: T, out_backprop: T",
    outputs="output: T",
    attrs={"T": FLOATING, **CONV_ATTRS},
    infer=_infer_back_input,
    host=[0],
    cpu=Call(make=_bind_back_input),
    gpu=convolution_gpu(Call(make=_bind_back_input), 1),
    native=convolution_source(
        "gg_conv2d_back_input", lambda given: (given.output_shapes[0], *given.input_shapes[1:])
    ),
    grad=_back_input_back,
    doc="The gradient of Conv2D by its images, of the sizes `input_sizes`.",
)

op(
    "Conv2DBackpropFilter",
    inputs="input: T, filter_sizes: int32, out_backprop: T",
    outputs="output: T",
    attrs={"T": FLOATING, **CONV_ATTRS},
    infer=_infer_back_filter,
    host=[1],
    cpu=Call(make=_bind_back_filter),
    gpu=convolution_gpu(Call(make=_bind_back_filter), 2),
    native=convolution_source(
        "gg_conv2d_back_filter",
        lambda given: (given.input_shapes[0], given.output_shapes[0], given.input_shapes[2]),
    ),
    grad=_back_filter_back,
    doc="The gradient of Conv2D by its filter, of the sizes `filter_sizes`.",
)
