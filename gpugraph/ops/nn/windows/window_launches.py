"""The geometry of windows as integers, for launches of CUDA kernels (window_geometry.cuh).

An image is treated as a volume of depth 1. `geometry_of` describes images and volumes by integers
and by the macros GG_VOLUME (volumes or images), GG_LAST (channels last) and PLACE (C type of
offsets).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from gpugraph.base.shapes import TensorShape
from gpugraph.kernel import Signature
from gpugraph.ops.nn.windows.window_geometry import Layout, WindowAxis

_MANY = (1 << 31) - (1 << 24)
"""The number of elements from which an array needs 64-bit offsets."""
_ONE = WindowAxis(1, 1, 1, 1, 0, 1)

Shape = tuple[int, ...]


class WindowBatch(NamedTuple):
    """Windows over a batch of images or volumes.

    Args:
      axes: depth, height and width.
      last: whether the channels are last.
      volume: whether the batch has volumes. Otherwise it has images.
    """

    batch: int
    channels: int
    axes: tuple[WindowAxis, WindowAxis, WindowAxis]
    last: bool
    volume: bool

    @property
    def numbers(self) -> list[int]:
        """The values of the kernels' parameters GG_AXES: the six fields of the `WindowAxis` for
        depth, then the fields for height, then the fields for width.
        """
        return [number for axis in self.axes for number in axis]

    @property
    def places(self) -> int:
        """The number of windows in the batch."""
        return self.batch * prod(axis.out for axis in self.axes)

    @property
    def pixels(self) -> int:
        """The number of pixels in the batch."""
        return self.batch * prod(axis.size for axis in self.axes)

    @property
    def window(self) -> int:
        """The number of elements of a window."""
        return prod(axis.window for axis in self.axes)

    def macros(self, *counts: int) -> dict[str, str | int]:
        """Return the macros for the compiler.

        Args:
          counts: the numbers of elements of additional arrays.
        """
        large = max(self.pixels * self.channels, self.places * self.channels, *counts, 0)
        return {
            "GG_LAST": int(self.last),
            "GG_VOLUME": int(self.volume),
            "PLACE": place_type(large),
        }

    def pack(self, channels: int | None = None, max_width: int = 4) -> int:
        """Return the number of channels that are loaded from memory at once. If channels are not
        last, this number is 1.
        """
        return (
            pack_width(self.channels if channels is None else channels, max_width)
            if self.last
            else 1
        )


def place_type(count: int) -> str:
    """Return the C type for offsets in arrays of `count` elements, which is the value of the macro
    PLACE.
    """
    return "int64_t" if count >= _MANY else "int32_t"


def pack_width(count: int, max_width: int) -> int:
    """Return the number of elements that are loaded at once. It is 8, 4 or 1: the largest of these
    numbers that divides `count` and is at most `max_width`.
    """
    return next((width for width in (8, 4) if width <= max_width and count % width == 0), 1)


def geometry_of(
    layout: Layout, signature: Signature, shape: Shape, window: Sequence[int] | None = None
) -> WindowBatch:
    """Return the geometry of windows over images or volumes of `shape`.

    Args:
      window: the sizes of the window. By default, they are the attr ksize of a pooling op.
    """
    attrs = signature.attrs
    if window is None and layout.pools_depth(attrs):
        raise NotImplementedError("pooling across channels has no CUDA function")
    batch, spatial, channels = layout.sizes(TensorShape.of(shape), attrs)
    assert batch is not None and channels is not None
    axes = layout.axes(attrs, spatial, None if window is None else window[: layout.num_axes])
    z, y, x = [_ONE] * (3 - len(axes)) + axes
    return WindowBatch(
        batch, channels, (z, y, x), layout.channels_last(attrs), layout.num_axes == 3
    )


def forward_shapes(signature: Signature) -> Sequence[Shape]:
    """Return the shapes of the images, the filter and the results of a convolution."""
    return *signature.input_shapes[:2], signature.output_shapes[0]


def input_gradient_shapes(signature: Signature) -> Sequence[Shape]:
    """Return the shapes of the images, the filter and the results for the op that computes the
    gradient of the images.
    """
    return signature.output_shapes[0], *signature.input_shapes[1:]


def filter_gradient_shapes(signature: Signature) -> Sequence[Shape]:
    """Return the shapes of the images, the filter and the results for the op that computes the
    gradient of the filter.
    """
    return signature.input_shapes[0], signature.output_shapes[0], signature.input_shapes[2]
