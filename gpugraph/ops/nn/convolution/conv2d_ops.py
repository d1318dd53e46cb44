"""Convolution of images and its two gradients, computed as matrix products.

The windows are processed in tiles. For each tile, there is a matrix of columns (im2col). Each row
of it has the elements under one window. The filter is viewed as a matrix (window elements x
channels, outputs). The product of these two matrices is the tile's output. The two gradients are
products of the output's gradient with the columns and with the filter. A tile is sized to stay in
the cache.

    images (n, h, w, c) --columns--> (places, kh kw c) @ filter (kh kw c, out) --> (places, out)

A place is one position of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.kernel_helpers import do_nothing, run_all
from gpugraph.ops.nn.convolution.convolution_declaration import ConvolutionOp, declare_convolution
from gpugraph.ops.nn.convolution.convolution_launches import (
    convolution_gpu,
    filter_gradient_gpu,
    input_gradient_gpu,
)
from gpugraph.ops.nn.windows.native_window_sources import convolution_source
from gpugraph.ops.nn.windows.window_geometry import (
    CONV_ATTRS,
    IMAGES,
    sum_dtype,
    sum_target,
    unless_empty,
)
from gpugraph.ops.nn.windows.window_launches import (
    filter_gradient_shapes,
    forward_shapes,
    input_gradient_shapes,
)

_TILE_BYTES = 1 << 20
"""The maximum bytes of a matrix of columns: about the size of a core's second-level cache."""


def _pieces(count: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive pieces of range(count), of at most `step` elements."""
    for start in range(0, count, step):
        yield start, min(start + step, count)


def _folded(context: KernelContext, image: Any, weights: Any) -> tuple[Any, Any]:
    """Return `image` and `weights`. If a window covers the whole width, the width axis of both
    arrays is merged into the channels.

    Then the columns can be filled without copies along the width.
    """
    x = IMAGES.axes(context.attrs, image.shape[1:3], weights.shape[:2])[1]
    covers = x.window == x.size and x.out == x.dilation == 1 and not x.before
    if not covers or not image.flags.c_contiguous:
        return image, weights
    batch, height, _, _ = image.shape
    return (
        image.reshape(batch, height, 1, -1),
        weights.reshape(weights.shape[0], 1, -1, weights.shape[3]),
    )


class _Convolution:
    """One convolution's matrices, bound to arrays whose channels are last.

    Args:
      image: an array of shape (n, h, w, c).
      weights: an array of shape (kh, kw, c, out).
      result: an array of shape (n, oh, ow, out).
    """

    def __init__(self, context: KernelContext, image: Any, weights: Any, result: Any) -> None:
        image, weights = _folded(context, image, weights)
        self.context, self.image, self.result = context, image, result
        self.y, self.x = y, x = IMAGES.axes(context.attrs, image.shape[1:3], weights.shape[:2])
        self.depth = int(np.prod(weights.shape[:3]))
        self.outputs = weights.shape[3]
        self.dtype = sum_dtype(context)
        row = self.depth * self.dtype.as_numpy_dtype().itemsize * x.out
        rows = max(1, _TILE_BYTES // max(1, row))  # rows of the output per tile
        self.batch_step = max(1, rows // max(1, y.out))
        self.row_step = min(rows, y.out)
        self.max_windows = (
            min(self.batch_step, image.shape[0]) * self.row_step * x.out
        )  # windows per tile

    def scratch(self, *shape: int) -> Any:
        """Allocate scratch memory of this shape, with the dtype in which sums are computed."""
        return self.context.scratch(shape, self.dtype)

    def wide(self, array: Any) -> tuple[Any, Callable[[], Any]]:
        """Return the array in the dtype of the sums, and a callable that converts the array to this
        dtype if necessary.
        """
        if np.dtype(array.dtype) == self.dtype.as_numpy_dtype and array.flags.c_contiguous:
            return array, do_nothing
        copy = self.scratch(*array.shape)
        return copy, lambda: np.copyto(copy, array)

    @property
    def is_plain(self) -> bool:
        """Whether each window is a single pixel, without strides or padding. The matrix of columns
        is then the image itself.
        """
        return (
            self.y.window == self.x.window == self.y.stride == self.x.stride == 1
            and not (self.y.reaches_out or self.x.reaches_out)
            and self.image.flags.c_contiguous
            and np.dtype(self.image.dtype) == self.dtype.as_numpy_dtype
        )

    def tiles(self) -> list[_Tile]:
        """Return the tiles. They share one buffer for columns, so they must be processed one after
        another.
        """
        buffer = self.scratch(self.max_windows, self.depth)
        return [
            _Tile(self, buffer, slice(*images), *rows)
            for images in _pieces(self.image.shape[0], self.batch_step)
            for rows in _pieces(self.y.out, self.row_step)
        ]


class _Tile:
    """A tile, which consists of the windows of some images, for some consecutive rows of the
    output.

    `columns` has shape (windows, kh kw c). It holds the elements under each window.
    """

    def __init__(
        self, work: _Convolution, buffer: Any, batch: slice, start: int, stop: int
    ) -> None:
        shape = (
            batch.stop - batch.start, stop - start, work.x.out, work.y.window, work.x.window,
            work.image.shape[3],
        )  # fmt: skip
        shaped = buffer[: int(np.prod(shape[:3]))].reshape(shape)
        image = work.image[batch]
        self.columns = shaped.reshape(-1, work.depth)
        self.windows = batch, slice(start, stop)
        self.steps = [
            (shaped[:, rows, across, i, j], image[:, down, along])
            for i, rows, down in work.y.elements(start, stop)
            for j, across, along in work.x.elements()
        ]
        self.reaches_out = work.y.reaches_out or work.x.reaches_out

    def lay_out(self) -> None:
        """Copy the elements under each window into the columns, with 0 outside the image."""
        if self.reaches_out:
            self.columns.fill(0)
        for column, seen in self.steps:
            np.copyto(column, seen)

    def add_to_pixels(self) -> None:
        """Add each element of the columns to the image pixel to which it belongs. This is the
        transpose of `lay_out`.
        """
        for column, seen in self.steps:
            np.add(seen, column, seen)


# -- forward


@unless_empty
def bind_convolution(
    context: KernelContext, image: Any, weights: Any, out: Any
) -> Callable[[], Any]:
    """Return a function that convolves `image` with `weights` into `out`."""
    image, out = IMAGES.last_channels(context.attrs, image, out)
    work = _Convolution(context, image, weights, out)
    matrix, prepare = work.wide(weights.reshape(work.depth, work.outputs))
    direct = out.flags.c_contiguous and np.dtype(out.dtype) == work.dtype.as_numpy_dtype
    if work.is_plain and direct:
        rows, places = image.reshape(-1, work.depth), out.reshape(-1, work.outputs)
        return lambda: np.matmul(rows, matrix, places)
    result = None if direct else work.scratch(work.max_windows, work.outputs)
    return run_all([prepare, *(_forward(work, tile, matrix, result) for tile in work.tiles())])


def _forward(work: _Convolution, tile: _Tile, matrix: Any, result: Any) -> Callable[[], Any]:
    target = work.result[tile.windows]
    out = target if result is None else result[: len(tile.columns)]
    out = out.reshape(-1, work.outputs)
    shaped = out.reshape(target.shape)

    def run() -> None:
        tile.lay_out()
        np.matmul(tile.columns, matrix, out)
        if result is not None:
            np.copyto(target, shaped, casting="same_kind")

    return run


# -- the gradient with respect to the images


@unless_empty
def _bind_input_gradient(
    context: KernelContext, weights: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    dx, dy = IMAGES.last_channels(context.attrs, out, dy)
    total, finish = sum_target(context, dx)
    work = _Convolution(context, total, weights, dy)
    matrix, prepare = work.wide(weights.reshape(work.depth, work.outputs))
    slope, prepare_slope = work.wide(dy)
    calls: list[Callable[[], Any]] = [prepare, prepare_slope, lambda: total.fill(0)]
    for tile in work.tiles():
        rows = slope[tile.windows].reshape(-1, work.outputs)
        calls += [partial(np.matmul, rows, matrix.T, tile.columns), tile.add_to_pixels]
    return run_all([*calls, *finish])


# -- the gradient with respect to the filter


@unless_empty
def _bind_filter_gradient(
    context: KernelContext, image: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    image, dy = IMAGES.last_channels(context.attrs, image, dy)
    work = _Convolution(context, image, out, dy)
    slope, prepare = work.wide(dy)
    part = work.scratch(work.depth, work.outputs)
    total = work.scratch(work.depth, work.outputs)
    calls: list[Callable[[], Any]] = [prepare, lambda: total.fill(0)]
    for tile in work.tiles():
        rows = slope[tile.windows].reshape(-1, work.outputs)
        calls += [
            tile.lay_out,
            partial(np.matmul, tile.columns.T, rows, part),
            partial(np.add, total, part, total),
        ]
    target = out.reshape(work.depth, work.outputs)
    calls.append(lambda: np.copyto(target, total, casting="same_kind"))
    return run_all(calls)


conv2d_op = declare_convolution(
    IMAGES,
    CONV_ATTRS,
    ConvolutionOp(
        "Conv2D", bind_convolution, convolution_gpu,
        convolution_source("gg_conv2d", forward_shapes, (0, 2), packed=1),
    ),
    ConvolutionOp(
        "Conv2DBackpropInput", _bind_input_gradient, input_gradient_gpu,
        convolution_source("gg_conv2d_back_input", input_gradient_shapes, (1, 2)),
    ),
    ConvolutionOp(
        "Conv2DBackpropFilter", _bind_filter_gradient, filter_gradient_gpu,
        convolution_source("gg_conv2d_back_filter", filter_gradient_shapes, (0, 1)),
    ),
    doc="The convolution of images (n, h, w, c) with a filter (kh, kw, c, outputs).",
)  # fmt: skip
