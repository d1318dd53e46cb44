"""Other layouts for convolutions on tensor cores, whose kernel loads several channels at once.

Channels that are first, and numbers of channels such as 3, would be loaded one by one. Instead,
copies in scratch memory have the channels last, and padded by zeros to a multiple of 4; results in
scratch memory are copied back (convolution_layouts.cu). A copy reads and writes its array once,
and a convolution reads it once for each element of the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, prod
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.kernel import Arg, Launch, Scratch
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of

Memory = Arg | Scratch

_FILE = "convolution_layouts.cu"
_SIDE, _BLOCK = 32, (32, 8, 1)
_UNIT = 4
"""The numbers of channels that are padded become multiples of this number."""


def padded(channels: int) -> int:
    """Return the number of channels with padding. Up to twice the number is padded; if more would
    be needed, there is no padding.
    """
    wide = ceil(channels / _UNIT) * _UNIT
    return wide if wide <= 2 * channels else channels


class Images(NamedTuple):
    """An array of images: the sizes of its axes, with the number of pixels of an image."""

    batch: int
    pixels: int
    channels: int


class Copies:
    """The copies of one convolution's arrays."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.before: list[Launch] = []
        self.after: list[Launch] = []

    def last(self, array: Arg, images: Images, wide: int, is_last: bool) -> Memory:
        """Return images with channels last, padded to `wide`. If it has this layout, return the
        array itself.
        """
        batch, pixels, channels = images
        if is_last and wide == channels:
            return array
        copy = self._scratch(f"images {array}", batch * pixels * wide)
        if is_last:
            self.before.append(self._widen(array, copy, channels, wide, copy.size))
        else:
            tiles = batch * ceil(pixels / _SIDE) * ceil(wide / _SIDE)
            arguments = (array, copy, channels, pixels, wide)
            self.before.append(self._launch("gg_channels_last", tiles, _BLOCK, arguments))
        return copy

    def result(self, array: Arg, images: Images, is_last: bool) -> Memory:
        """Return memory for resulting images with channels last."""
        batch, pixels, channels = images
        if is_last:
            return array
        copy = self._scratch("result", prod(images))
        tiles = batch * ceil(pixels / _SIDE) * ceil(channels / _SIDE)
        arguments = (copy, array, channels, pixels)
        self.after.append(self._launch("gg_channels_first", tiles, _BLOCK, arguments))
        return copy

    def padded_filter(self, array: Arg, sizes: Sequence[int], wide: int) -> Memory:
        """Return a filter with its channels padded to `wide`."""
        *window, channels, outputs = sizes
        if wide == channels:
            return array
        copy = self._scratch("filter", prod(window) * wide * outputs)
        had, size = channels * outputs, wide * outputs
        self.before.append(self._widen(array, copy, had, size, copy.size))
        return copy

    def cut_filter(self, array: Arg, sizes: Sequence[int], wide: int) -> Memory:
        """Return memory for a resulting filter with `wide` channels, of which those beyond the
        filter's are cut off.
        """
        *window, channels, outputs = sizes
        if wide == channels:
            return array
        copy = self._scratch("result", prod(window) * wide * outputs)
        had, size = wide * outputs, channels * outputs
        self.after.append(self._widen(copy, array, had, size, prod(sizes)))
        return copy

    def _scratch(self, name: str, size: int) -> Scratch:
        return Scratch(name, size, self.dtype)

    def _widen(self, source: Memory, target: Memory, had: int, wide: int, count: int) -> Launch:
        grid = grid_of(count)
        arguments = (source, target, count, had, wide)
        return self._launch("gg_widen", grid[0], (THREADS, 1, 1), arguments)

    def _launch(
        self, function: str, blocks: int, block: tuple[int, int, int], arguments: Sequence[Any]
    ) -> Launch:
        types: Mapping[str, DType] = {"T": self.dtype}
        return Launch(function, (blocks, 1, 1), block, arguments, types, file=_FILE)
