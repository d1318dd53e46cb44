"""Convolution of images and its two gradients, by products of matrices.

For a tile of windows, `columns` lays out what each window sees as one row of a matrix; the product
with the filter, a matrix of (window elements x channels, outputs), is the tile's output, and the
same two matrices and the output's gradient give both gradients. A tile is as much as stays in the
cache.

    images (n, h, w, c) --columns--> (places, kh kw c) @ filter (kh kw c, out) --> (places, out)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, float16, float32
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.identity_and_shape import run_all
from gpugraph.ops.nn.activations.softmax import do_nothing
from gpugraph.ops.nn.convolution.convolution_declaration import ConvolutionOp, declare_convolution
from gpugraph.ops.nn.convolution.convolution_launches import (
    convolution_gpu,
    filter_gradient_gpu,
    input_gradient_gpu,
)
from gpugraph.ops.nn.windows.native_window_sources import convolution_source
from gpugraph.ops.nn.windows.window_geometry import CONV_ATTRS, IMAGES, unless_empty
from gpugraph.ops.nn.windows.window_launches import (
    filter_gradient_shapes,
    forward_shapes,
    input_gradient_shapes,
)

_TILE_BYTES = 1 << 20
"""Of a matrix of columns: about what a core's second cache holds."""


def _pieces(count: int, step: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of pieces of `count`, of at most `step` each."""
    for start in range(0, count, step):
        yield start, min(start + step, count)


class _Convolution:
    """One convolution's matrices, bound to arrays with their channels last.

    image: (n, h, w, c). weights: (kh, kw, c, out). result: (n, oh, ow, out).
    """

    def __init__(self, context: KernelContext, image: Any, weights: Any, result: Any) -> None:
        self.context, self.image, self.result = context, image, result
        self.y, self.x = y, x = IMAGES.axes(context.attrs, image.shape[1:3], weights.shape[:2])
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
        """Memory in the dtype of the work."""
        return self.context.scratch(shape, self.dtype)

    def wide(self, array: Any) -> tuple[Any, Callable[[], Any]]:
        """The array in the dtype of the work, and what brings it there at each run."""
        if np.dtype(array.dtype) == self.dtype.as_numpy_dtype and array.flags.c_contiguous:
            return array, do_nothing
        copy = self.scratch(*array.shape)
        return copy, lambda: np.copyto(copy, array)

    def tiles(self) -> Iterator[tuple[slice, int, int]]:
        """(images, first row of windows, the row after the last) of each tile."""
        for first, last in _pieces(self.image.shape[0], self.batch_step):
            for start, stop in _pieces(self.y.out, self.row_step):
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
        """Whether some window has elements outside."""
        return self.y.reaches_out or self.x.reaches_out


# -- forward


@unless_empty
def bind_convolution(
    context: KernelContext, image: Any, weights: Any, out: Any
) -> Callable[[], Any]:
    """What convolves `image` with `weights` into `out`, as the context's attrs say."""
    image, out = IMAGES.last_channels(context.attrs, image, out)
    work = _Convolution(context, image, weights, out)
    matrix, prepare = work.wide(weights.reshape(work.depth, work.outputs))
    direct = out.flags.c_contiguous and np.dtype(out.dtype) == work.dtype.as_numpy_dtype
    if work.is_plain and direct:
        rows, places = image.reshape(-1, work.depth), out.reshape(-1, work.outputs)
        return lambda: np.matmul(rows, matrix, places)
    buffer = work.scratch(work.most, work.depth)
    result = None if direct else work.scratch(work.most, work.outputs)
    return run_all(
        [prepare, *(_conv_tile(work, tile, matrix, buffer, result) for tile in work.tiles())]
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


@unless_empty
def _bind_input_gradient(
    context: KernelContext, weights: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    dx, dy = IMAGES.last_channels(context.attrs, out, dy)
    narrow = context.output_types[0].base_dtype is float16
    total = context.scratch(dx.shape, float32) if narrow else dx
    work = _Convolution(context, total, weights, dy)
    matrix, prepare = work.wide(weights.reshape(work.depth, work.outputs))
    slope, prepare_slope = work.wide(dy)
    buffer = work.scratch(work.most, work.depth)
    calls: list[Callable[[], Any]] = [prepare, prepare_slope, lambda: total.fill(0)]
    for tile in work.tiles():
        calls.append(_input_gradient_tile(work, tile, matrix.T, slope, buffer))
    if total is not dx:
        calls.append(lambda: np.copyto(dx, total, casting="same_kind"))
    return run_all(calls)


def _input_gradient_tile(
    work: _Convolution, tile: tuple[slice, int, int], turned: Any, slope: Any, buffer: Any
) -> Callable[[], Any]:
    batch, start, stop = tile
    columns = work.columns(buffer, *tile)
    steps = work.steps(columns, *tile)
    flat = columns.reshape(-1, work.depth)
    gradient = slope[batch, start:stop]
    rows = gradient.reshape(-1, work.outputs)

    def run() -> None:
        np.matmul(rows, turned, flat)
        for column, seen in steps:
            np.add(seen, column, seen)

    return run


# -- the gradient by the filter


@unless_empty
def _bind_filter_gradient(
    context: KernelContext, image: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    image, dy = IMAGES.last_channels(context.attrs, image, dy)
    work = _Convolution(context, image, out, dy)
    slope, prepare = work.wide(dy)
    buffer = work.scratch(work.most, work.depth)
    part = work.scratch(work.depth, work.outputs)
    total = work.scratch(work.depth, work.outputs)
    calls: list[Callable[[], Any]] = [prepare, lambda: total.fill(0)]
    for tile in work.tiles():
        calls.append(_filter_gradient_tile(work, tile, slope, buffer, part, total))
    target = out.reshape(work.depth, work.outputs)
    calls.append(lambda: np.copyto(target, total, casting="same_kind"))
    return run_all(calls)


def _filter_gradient_tile(
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


conv2d_op = declare_convolution(
    IMAGES,
    CONV_ATTRS,
    ConvolutionOp(
        "Conv2D",
        bind_convolution,
        partial(convolution_gpu, IMAGES),
        convolution_source("gg_conv2d", forward_shapes),
    ),
    ConvolutionOp(
        "Conv2DBackpropInput",
        _bind_input_gradient,
        partial(input_gradient_gpu, IMAGES),
        convolution_source("gg_conv2d_back_input", input_gradient_shapes),
    ),
    ConvolutionOp(
        "Conv2DBackpropFilter",
        _bind_filter_gradient,
        partial(filter_gradient_gpu, IMAGES),
        convolution_source("gg_conv2d_back_filter", filter_gradient_shapes),
    ),
    doc="Each window of the images (n, h, w, c) times the filter (kh, kw, c, outputs), summed up.",
)
