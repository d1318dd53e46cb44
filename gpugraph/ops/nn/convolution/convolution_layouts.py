"""Copies of arrays in a layout that suits convolutions on tensor cores. The kernel of these
convolutions loads several channels at once.

If channels are first, or their number is not a multiple of 4, the kernel would load them one by
one. Instead, the arrays are copied to scratch memory, with the channels last and padded with zeros
to a multiple of 4. Results in scratch memory are copied back (convolution_layouts.cu). This pays
off, because a copy reads and writes an array once, while a convolution reads it once for each
element of the window.
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
    """Return the number of channels with padding. If padding would more than double the number,
    return the number itself.
    """
    wide = ceil(channels / _UNIT) * _UNIT
    return wide if wide <= 2 * channels else channels


class Images(NamedTuple):
    """The sizes of an array of images: the number of images, of pixels per image, and of
    channels.
    """

    batch: int
    pixels: int
    channels: int


class Copies:
    """The copies of one convolution's arrays, as launches before and after the convolution."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.before: list[Launch] = []
        self.after: list[Launch] = []

    def last(self, array: Arg, images: Images, wide: int, is_last: bool) -> Memory:
        """Return a copy of `array` with channels last and padded to `wide` channels. If the array
        already has this layout, return the array itself.
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
        """Return memory for a result with channels last. If channels are first in `array`, the
        result is copied to it after the convolution.
        """
        batch, pixels, channels = images
        if is_last:
            return array
        copy = self._scratch("result", prod(images))
        tiles = batch * ceil(pixels / _SIDE) * ceil(channels / _SIDE)
        arguments = (copy, array, channels, pixels)
        self.after.append(self._launch("gg_channels_first", tiles, _BLOCK, arguments))
        return copy

    def padded_filter(self, array: Arg, sizes: Sequence[int], wide: int) -> Memory:
        """Return a copy of a filter with its channels padded to `wide` channels."""
        *window, channels, outputs = sizes
        if wide == channels:
            return array
        copy = self._scratch("filter", prod(window) * wide * outputs)
        had, size = channels * outputs, wide * outputs
        self.before.append(self._widen(array, copy, had, size, copy.size))
        return copy

    def cut_filter(self, array: Arg, sizes: Sequence[int], wide: int) -> Memory:
        """Return memory for a result that is a filter with `wide` channels. After the convolution,
        the channels without the padding are copied to `array`.
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
