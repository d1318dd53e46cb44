"""Launches of the CUDA kernels that resize images (kernels/cuda/nn/resize_images.cu)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from gpugraph.base.dtypes import DType, float32, float64, int32
from gpugraph.kernel import Arg, Call, Launch, Scratch, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, item_type

Scale = Callable[[int, int, Any], Any]
"""A function (input size, output size, attrs) that returns the distance in the input between output
pixels.
"""


class _Resize:
    """The launches of a resizing op or of its gradient.

    Args:
      taps: the number of input pixels along each axis from which an output pixel is computed.
      back: whether the op is the gradient. Its output has the sizes of the images before resizing.
    """

    def __init__(self, taps: int, scale: Scale, signature: Signature, back: bool) -> None:
        source, target = signature.input_shapes[0], signature.output_shapes[0]
        small, large = (target, source) if back else (source, target)
        if not prod(source):
            raise NotImplementedError("there are no images")
        self.signature, self.taps, self.scale = signature, taps, scale
        self.lines = list(zip(small[1:3], large[1:3], strict=True))
        self.sizes: tuple[int, ...] = (prod(target), *small[1:3], *large[1:3], target[3])
        self.source = signature.input_types[0].base_dtype
        self.target = signature.output_types[0].base_dtype
        self.real: DType = float64 if float64 in (self.source, self.target) else float32

    @property
    def _mode(self) -> int:
        attrs = self.signature.attrs
        if attrs["half_pixel_centers"]:
            return 1
        return 2 if attrs["align_corners"] else 0

    def launch(self, function: str, count: int, *arguments: Arg | Scratch | int | float) -> Launch:
        """Return a launch of `function` for `count` elements."""
        types = {"T": self.source, "R": self.target, "S": self.real}
        defines: dict[str, str | int] = {"TAPS": self.taps, "ITEM": item_type(self.target)}
        return Launch(function, grid_of(count), (THREADS, 1, 1), arguments, types, defines)

    def tables(self) -> tuple[list[Launch], list[tuple[Scratch, Scratch]]]:
        """Return (launches, tables). There is a pair of tables for each of the two axes, height
        first.

        The launches fill the tables. Each table has an entry for each tap of each resized pixel.
        The first table has the index of an original pixel, and the second has its weight.
        """
        launches: list[Launch] = []
        tables = []
        for name, (size, count) in zip("yx", self.lines):
            index = Scratch(f"{name} index", count * self.taps, int32)
            weight = Scratch(f"{name} weight", count * self.taps, self.real)
            by = float(self.scale(size, count, self.signature.attrs))
            launches.append(
                self.launch("gg_taps", count, index, weight, count, size, by, self._mode)
            )
            tables.append((index, weight))
        return launches, tables

    def starts(self, indices: list[Scratch]) -> tuple[list[Launch], list[Scratch]]:
        """Return launches that invert the tables of indices, and the inverted tables.

        The indices in a table are in ascending order. The inverted table has, for each original
        pixel, the first position of its index in the table.
        """
        launches: list[Launch] = []
        tables = []
        for name, index, (size, count) in zip("yx", indices, self.lines):
            total = self.taps * (size + 1)
            starts = Scratch(f"{name} starts", total, int32)
            launches.append(self.launch("gg_starts", total, index, starts, total, size, count))
            tables.append(starts)
        return launches, tables


def _resize(taps: int, scale: Scale, signature: Signature) -> list[Launch]:
    work = _Resize(taps, scale, signature, False)
    launches, ((y, y_weight), (x, x_weight)) = work.tables()
    count, arrays = work.sizes[0], (Arg(0), Arg(1), y, y_weight, x, x_weight)
    return [*launches, work.launch("gg_resize", count, *arrays, *work.sizes)]


def _nearest(scale: Scale, signature: Signature) -> list[Launch]:
    work = _Resize(1, scale, signature, False)
    launches, ((y, _), (x, _)) = work.tables()
    return [*launches, work.launch("gg_nearest", work.sizes[0], Arg(0), Arg(1), y, x, *work.sizes)]


def _resize_back(taps: int, scale: Scale, out: int, signature: Signature) -> list[Launch]:
    work = _Resize(taps, scale, signature, True)
    launches, ((y, y_weight), (x, x_weight)) = work.tables()
    start_launches, (y_starts, x_starts) = work.starts([y, x])
    count, arrays = work.sizes[0], (Arg(0), Arg(out), y_starts, y_weight, x_starts, x_weight)
    last = work.launch("gg_resize_back", count, *arrays, *work.sizes)
    return [*launches, *start_launches, last]


def resize_gpu(host: Call, taps: int, scale: Scale) -> Source:
    """Return the CUDA kernel for interpolation between `taps` pixels along each axis."""
    return Source("resize_images.cu", partial(_resize, taps, scale), host)


def nearest_gpu(host: Call, scale: Scale) -> Source:
    """Return the CUDA kernel that copies the bits of the nearest pixel."""
    return Source("resize_images.cu", partial(_nearest, scale), host)


def resize_back_gpu(host: Call, taps: int, scale: Scale, out: int) -> Source:
    """Return the CUDA kernel that computes the gradient of interpolation or of copying the nearest
    pixels.

    Args:
      out: the index of the output among the kernel's arguments.
    """
    return Source("resize_images.cu", partial(_resize_back, taps, scale, out), host)
