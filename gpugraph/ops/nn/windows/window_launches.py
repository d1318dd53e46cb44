"""Launches of the CUDA kernels of windows over images and volumes (window_geometry.cuh).

An image is a volume of depth 1: `of_images` and `of_volumes` say the geometry of both alike. What
all these kernels are told is it, and the macros GG_VOLUME, GG_LAST and PLACE.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, prod
from typing import NamedTuple

from gpugraph.base.dtypes import bfloat16, float16, float64
from gpugraph.base.shapes import TensorShape
from gpugraph.kernel import Arg, Call, Launch, Scratch, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, wide_type
from gpugraph.ops.nn.windows.volume_geometry import axes_of, spatial_of, volumes
from gpugraph.ops.nn.windows.window_geometry import (
    Axis,
    channels_last,
    images,
    plan_axes,
    spatial,
    text,
)

_MANY = (1 << 31) - (1 << 24)
"""Elements from which places need 64 bits."""
_ONE = Axis(1, 1, 1, 1, 0, 1)
_BLOCKS = 264
"""Blocks that keep a GPU busy: below, sums are cut in parts."""
_STEPS = 32  # of the longest tile, which a part has a multiple of
_MOST_LAYERS = 65535  # blocks along a grid's third axis

Shape = tuple[int, ...]


class Geometry(NamedTuple):
    """Windows over a batch of images or volumes. axes: depth, height and width."""

    batch: int
    channels: int
    axes: tuple[Axis, Axis, Axis]
    last: bool
    volume: bool

    @property
    def numbers(self) -> list[int]:
        """The parameters GG_AXES."""
        return [number for axis in self.axes for number in axis]

    @property
    def places(self) -> int:
        """How many windows there are in the batch."""
        return self.batch * prod(axis.out for axis in self.axes)

    @property
    def pixels(self) -> int:
        return self.batch * prod(axis.size for axis in self.axes)

    @property
    def window(self) -> int:
        """The elements of a window."""
        return prod(axis.window for axis in self.axes)

    def macros(self, *counts: int) -> dict[str, str | int]:
        """The macros; `counts` are elements of arrays beside the images."""
        large = max(self.pixels * self.channels, self.places * self.channels, *counts, 0)
        return {
            "GG_LAST": int(self.last),
            "GG_VOLUME": int(self.volume),
            "PLACE": "int64_t" if large >= _MANY else "int32_t",
        }

    def pack(self, channels: int | None = None, most: int = 4) -> int:
        """How many channels are loaded as one."""
        return packed(self.channels if channels is None else channels, most) if self.last else 1


def packed(count: int, most: int) -> int:
    """As how many so many elements can be loaded at once: 4, or 8 if so many are allowed, or 1."""
    return next((each for each in (8, 4) if each <= most and count % each == 0), 1)


Geometries = Callable[[Signature, Shape, Sequence[int] | None], Geometry]


def of_images(signature: Signature, shape: Shape, window: Sequence[int] | None) -> Geometry:
    """Of images of this shape; the windows' sizes are those of attr ksize by default."""
    attrs = signature.attrs
    image = images(TensorShape.of(shape), attrs)
    sizes = spatial(attrs, "ksize") if window is None else tuple(window[:2])
    y, x = plan_axes(attrs, (image.height, image.width), sizes)
    assert y is not None and x is not None and image.batch is not None
    assert image.channels is not None
    return Geometry(image.batch, image.channels, (_ONE, y, x), channels_last(attrs), False)


def of_volumes(signature: Signature, shape: Shape, window: Sequence[int] | None) -> Geometry:
    """Of volumes of this shape; the windows' sizes are those of attr ksize by default."""
    attrs = signature.attrs
    volume = volumes(TensorShape.of(shape), attrs)
    sizes = spatial_of(attrs, "ksize") if window is None else tuple(window[:3])
    z, y, x = axes_of(attrs, volume.places, sizes)
    assert z is not None and y is not None and x is not None
    assert volume.batch is not None and volume.channels is not None
    last = text(attrs["data_format"]) == "NDHWC"
    return Geometry(volume.batch, volume.channels, (z, y, x), last, True)


# -- convolution


class _Tiles(NamedTuple):
    """The tile of a block, and that of each of its threads, or `lanes` of them."""

    rows: int
    columns: int
    own_rows: int
    own_columns: int
    lanes: int = 1

    @property
    def threads(self) -> int:
        return self.rows // self.own_rows * (self.columns // self.own_columns) * self.lanes

    def blocks(self, rows: int, columns: int) -> int:
        return ceil(rows / self.rows) * ceil(columns / self.columns)


class _Choice(NamedTuple):
    """The tiles of one way to multiply."""

    large: _Tiles
    high: _Tiles
    slim: _Tiles
    small: _Tiles

    def tiles(self, rows: int, columns: int, is_heavy: bool) -> _Tiles:
        """The largest tiles that are mostly full and leave no processor idle. is_heavy: an
        element, or its load, takes more registers than larger tiles leave."""
        if is_heavy:
            return self.small
        if columns <= 32:
            return self.slim
        if columns > 64 and self.large.blocks(rows, columns) >= _BLOCKS // 2:
            return self.large
        return self.high if self.high.blocks(rows, columns) >= _BLOCKS // 2 else self.small


_BY_THREADS = _Choice(
    _Tiles(128, 128, 8, 8), _Tiles(128, 64, 8, 4), _Tiles(128, 32, 8, 4), _Tiles(64, 64, 4, 4)
)
_BY_WARPS = _Choice(
    *2 * (_Tiles(128, 64, 64, 32, 32),),  # three of these blocks fit where one of 128 x 128 would
    _Tiles(128, 32, 32, 32, 32),
    _Tiles(64, 64, 32, 32, 32),
)


def _parts(blocks: int, steps: int) -> tuple[int, int]:
    """(parts, steps of each) of sums over `steps`, when so many blocks make all of them."""
    most = max(1, min(ceil(_BLOCKS / blocks), steps // 256, 64))
    each = ceil(ceil(steps / most) / _STEPS) * _STEPS
    return max(1, ceil(steps / max(each, 1))), max(each, _STEPS)


def convolution_gpu(
    host: Call,
    mode: int,
    geometry: Geometries = of_images,
    cut: Callable[[Signature], int] | None = None,
) -> Source:
    """Of convolution.cu: forward (mode 0), or a gradient by images (1), by filter (2);
    float16 and bfloat16 by convolution_mma.cu where there are tensor cores.

    cut: with a bias, which is the input before the output; the number of what follows it.
    """
    how = mode, geometry, cut
    return Source(
        "convolution.cu", partial(_convolve, *how), host, tensor_cores=partial(_by_warps, *how)
    )


def _shapes(mode: int, signature: Signature) -> Sequence[Shape]:
    """Of images, filter and results."""
    inputs, output = list(signature.input_shapes), signature.output_shapes[0]
    if mode == 0:
        return inputs[0], inputs[1], output
    return (output, *inputs[1:]) if mode == 1 else (inputs[0], output, inputs[2])


class _Way(NamedTuple):
    """One way to multiply. most: elements of a load."""

    name: str
    choice: _Choice
    most: int

    def packs(self, mode: int, work: Geometry, outputs: int) -> tuple[int, int]:
        """Elements of a load: of the images, and of the filter or the result's gradient."""
        images = work.pack(outputs if mode == 1 else work.channels, self.most)
        return images, packed(outputs, self.most) if mode < 2 or work.last else 1


_THREADS = _Way("convolution", _BY_THREADS, 4)
_WARPS = _Way("convolution_mma", _BY_WARPS, 8)


def _by_warps(
    mode: int, geometry: Geometries, cut: Callable[[Signature], int] | None, signature: Signature
) -> list[Launch]:
    """By tensor cores, of dtypes that they don't round."""
    if signature.output_types[0].base_dtype not in (float16, bfloat16):
        return []
    return _convolve(mode, geometry, cut, signature, _WARPS)


def _convolve(
    mode: int,
    geometry: Geometries,
    cut: Callable[[Signature], int] | None,
    signature: Signature,
    way: _Way = _THREADS,
) -> list[Launch]:
    given, filter, results = _shapes(mode, signature)
    dtype = signature.output_types[0].base_dtype
    work = geometry(signature, given, filter)
    outputs, elements = filter[-1], work.window * (filter[-1] if mode == 1 else work.channels)
    phases = prod(axis.stride for axis in work.axes) if mode == 1 else 1
    pixels = work.batch * prod(
        ceil(axis.size / axis.stride) if mode == 1 else axis.out for axis in work.axes
    )
    rows, steps = (elements, pixels) if mode == 2 else (pixels, elements)
    columns = work.channels if mode == 1 else outputs
    packs = way.packs(mode, work, outputs)
    is_heavy = min(packs) < way.most if way is _WARPS else dtype is float64
    tiles = way.choice.tiles(rows, columns, is_heavy)
    blocks = tiles.blocks(rows, columns)
    dense = mode == 2 or (work.last and phases == 1)
    parts, each = _parts(blocks, steps) if dense else (1, max(_STEPS, steps))
    if parts * phases > _MOST_LAYERS:
        raise NotImplementedError(f"strides that cut images in {phases} phases")
    sums = Scratch("parts", parts * rows * columns, wide_type(dtype)) if parts > 1 else 0
    defines = {
        **work.macros(prod(filter), prod(results)),
        "GG_MODE": mode,
        "GG_PACK_A": packs[0],
        "GG_PACK_B": packs[1],
        "GG_ROWS": tiles.rows,
        "GG_COLUMNS": tiles.columns,
        "GG_OWN_ROWS": tiles.own_rows,
        "GG_OWN_COLUMNS": tiles.own_columns,
        "GG_BIAS": int(cut is not None),
        "GG_CUT": cut(signature) if cut is not None else 0,
        **({"BRAIN": int(dtype is bfloat16)} if way is _WARPS else {}),
    }
    source, other = (Arg(1), Arg(0)) if mode == 1 else (Arg(0), Arg(1))
    out, bias = (Arg(2), 0) if cut is None else (Arg(3), Arg(2))
    sizes = (work.batch, work.channels, outputs, parts, each, *work.numbers)
    launch = partial(Launch, types={"T": dtype}, defines=defines, file=f"{way.name}.cu")
    made = [
        launch(
            f"gg_{way.name}",
            (blocks, 1, parts * phases),
            (tiles.threads, 1, 1),
            (source, other, out, bias, sums, *sizes),
        )
    ]
    if parts > 1:
        count = rows * columns
        summed = (sums, out, bias, count, columns, parts)
        made.append(launch("gg_sum_parts", grid_of(count), (THREADS, 1, 1), summed))
    return made
