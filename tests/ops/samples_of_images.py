"""Samples of the ops on images: other sizes, blocks, patches, colours."""

from __future__ import annotations

import colorsys
import math
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case, i32, representatives

__all__ = ["IN_SINGLE"]

IN_SINGLE = {
    "CropAndResize",
    "ResizeBicubic",
    "ResizeBicubicGrad",
    "ResizeBilinear",
    "ResizeBilinearGrad",
}
"""Ops with float32 results or gradients of any input, too coarse for differences."""

FLOATS = representatives((dtypes.float64, dtypes.float32))
ALL_TYPES = representatives(dtypes.ALL)

# -- sizes


def _places(size: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    scale = (size - 1) / (new - 1) if align_corners and new > 1 else size / new
    shift = 0.5 if half_pixel_centers else 0.0
    return (np.arange(new) + shift) * scale - shift


def _taps(kind: str, size: int, new: int, align: bool, half: bool) -> list[Any]:
    """Of each new pixel, the (pixel, weight) pairs that it is made of."""
    result = []
    for place in _places(size, new, align, half):
        low = int(np.floor(place))
        part = place - low
        if kind == "Bilinear":
            taps = [(low, 1 - part), (low + 1, part)]
        else:
            a, part = (-0.5 if half else -0.75), round(part * 1024) / 1024
            taps = []
            for index in range(-1, 3):
                x = abs(index - part)
                near = ((a + 2) * x - (a + 3)) * x * x + 1
                far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                taps.append((low + index, near if x <= 1 else far))
            if half:
                taps = [(p, w) for p, w in taps if 0 <= p < size]
                taps = [(p, w / sum(item for _, item in taps)) for p, w in taps]
        result.append([(min(max(p, 0), size - 1), w) for p, w in taps])
    return result


def _matrix(kind: str, size: int, new: int, align: bool, half: bool) -> Any:
    matrix = np.zeros((new, size))
    for row, taps in enumerate(_taps(kind, size, new, align, half)):
        for pixel, weight in taps:
            matrix[row, pixel] += weight
    return matrix


def _matrices(kind: str, sizes: Any, news: Any, align: bool, half: bool) -> list[Any]:
    return [_matrix(kind, size, new, align, half) for size, new in zip(sizes, news)]


def _resized(
    kind: str, x: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    modes = align_corners, half_pixel_centers
    rows, columns = _matrices(kind, x.shape[1:3], size, *modes)
    return np.einsum("rh,cw,bhwd->brcd", rows, columns, x).astype(np.float32)


def _resized_back(
    kind: str, dy: Any, x: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    modes = align_corners, half_pixel_centers
    rows, columns = _matrices(kind, x.shape[1:3], dy.shape[1:3], *modes)
    return np.einsum("rh,cw,brcd->bhwd", rows, columns, dy).astype(x.dtype)


for _kind in ("Bilinear", "Bicubic"):
    add(
        f"Resize{_kind}",
        lambda v: case(v(2, 2, 3, 2), i32(4, 5)),
        lambda v: case(v(1, 4, 4, 1), i32(3, 2), align_corners=True),
        lambda v: case(v(1, 4, 4, 1), i32(6, 8), half_pixel_centers=True),
        lambda v: case(v(0, 2, 2, 1), i32(2, 2)),
        reference=lambda x, size, kind=_kind, **modes: _resized(kind, x, size, **modes),
        tolerance=8,
    )
    add(
        f"Resize{_kind}Grad",
        lambda v: case(np.float32(v(1, 4, 5, 2)), v(1, 2, 3, 2)),
        lambda v: case(np.float32(v(1, 3, 2, 1)), v(1, 4, 4, 1), align_corners=True),
        lambda v: case(np.float32(v(1, 6, 8, 1)), v(1, 4, 4, 1), half_pixel_centers=True),
        lambda v: case(np.float32(v(0, 2, 2, 1)), v(0, 2, 2, 1)),
        types=[*FLOATS, dtypes.float16, dtypes.bfloat16] if _kind == "Bilinear" else FLOATS,
        reference=lambda dy, x, kind=_kind, **modes: _resized_back(kind, dy, x, **modes),
        tolerance=8,
    )


def _area(x: Any, size: Any, align_corners: bool = False) -> Any:
    matrices = []
    for old, new in zip(x.shape[1:3], size):
        scale = (old - 1) / (new - 1) if align_corners and new > 1 else old / new
        fine = np.zeros((new, old))
        steps = 1000
        for row in range(new):
            for place in (row + (np.arange(steps) + 0.5) / steps) * scale:
                fine[row, min(int(place), old - 1)] += 1 / steps
        matrices.append(fine)
    return np.einsum("rh,cw,bhwd->brcd", *matrices, x).astype(np.float32)


add(
    "ResizeArea",
    lambda v: case(v(2, 4, 2, 2), i32(2, 4)),
    lambda v: case(v(1, 5, 4, 1), i32(2, 1)),
    lambda v: case(v(1, 5, 4, 1), i32(3, 4), align_corners=True),
    lambda v: case(v(0, 2, 2, 1), i32(2, 2)),
    reference=_area,
    tolerance=2000,
)


def _nearest(size: int, new: int, align: bool, half: bool) -> Any:
    scale = (size - 1) / (new - 1) if align and new > 1 else size / new
    places = (np.arange(new) + (0.5 if half else 0.0)) * scale
    result = np.floor(places + (0.5 if align and not half else 0.0)).astype(int)
    return np.minimum(result, size - 1)


def _nearest_resized(
    x: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    modes = align_corners, half_pixel_centers
    rows, columns = (_nearest(old, new, *modes) for old, new in zip(x.shape[1:3], size))
    return x[:, rows][:, :, columns]


def _nearest_back(
    dy: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    modes = align_corners, half_pixel_centers
    out = np.zeros((dy.shape[0], *size, dy.shape[3]), dy.dtype)
    rows, columns = (_nearest(old, new, *modes) for old, new in zip(size, dy.shape[1:3]))
    for index, row in enumerate(rows):
        for place, column in enumerate(columns):
            out[:, row, column] += dy[:, index, place]
    return out


_MODES: list[dict[str, bool]] = [{}, {"align_corners": True}, {"half_pixel_centers": True}]
add(
    "ResizeNearestNeighbor",
    *[lambda v, m=m: case(v(2, 3, 2, 2), i32(5, 4), **m) for m in _MODES],
    lambda v: case(v(0, 2, 2, 1), i32(2, 2)),
    reference=_nearest_resized,
)
add(
    "ResizeNearestNeighborGrad",
    *[lambda v, m=m: case(v(2, 5, 4, 2), i32(3, 2), **m) for m in _MODES],
    lambda v: case(v(0, 2, 2, 1), i32(2, 2)),
    reference=_nearest_back,
)

# -- blocks


def _to_depth(x: Any, block_size: int, data_format: str = "NHWC") -> Any:
    n = block_size
    if data_format == "NCHW":
        return _to_depth(x.transpose(0, 2, 3, 1), n).transpose(0, 3, 1, 2)
    return np.concatenate([x[:, i::n, j::n] for i in range(n) for j in range(n)], 3)


def _to_space(x: Any, block_size: int, data_format: str = "NHWC") -> Any:
    n = block_size
    if data_format == "NCHW":
        return _to_space(x.transpose(0, 2, 3, 1), n).transpose(0, 3, 1, 2)
    batch, height, width, depth = x.shape
    inner = depth // n // n
    out = np.empty((batch, height * n, width * n, inner), x.dtype)
    for index in range(n * n):
        out[:, index // n :: n, index % n :: n] = x[..., index * inner : (index + 1) * inner]
    return out


add(
    "SpaceToDepth",
    lambda v: case(v(2, 4, 2, 3), block_size=2),
    lambda v: case(v(1, 2, 4, 6), block_size=2, data_format="NCHW"),
    lambda v: case(v(0, 3, 3, 1), block_size=3),
    types=ALL_TYPES,
    reference=_to_depth,
)
add(
    "DepthToSpace",
    lambda v: case(v(2, 2, 1, 12), block_size=2),
    lambda v: case(v(1, 8, 2, 3), block_size=2, data_format="NCHW"),
    lambda v: case(v(0, 1, 1, 9), block_size=3),
    types=ALL_TYPES,
    reference=_to_space,
)


def _to_batch(x: Any, block: Any, paddings: Any) -> Any:
    around = [(0, 0), *map(tuple, paddings), *[(0, 0)] * (x.ndim - 1 - len(block))]
    fill = b"" if x.dtype == object else 0
    padded = np.pad(x, around, constant_values=fill)
    return np.concatenate(
        [
            padded[(slice(None), *(slice(i, None, n) for i, n in zip(index, block)))]
            for index in np.ndindex(*block)
        ]
    )


def _to_blocks(x: Any, block: Any, crops: Any) -> Any:
    count = int(np.prod(block))
    batch = x.shape[0] // count
    whole = [n * by for n, by in zip(x.shape[1:], block)]
    out = np.empty((batch, *whole, *x.shape[1 + len(block) :]), x.dtype)
    for number, index in enumerate(np.ndindex(*block)):
        out[(slice(None), *(slice(i, None, n) for i, n in zip(index, block)))] = x[
            number * batch : (number + 1) * batch
        ]
    return out[(slice(None), *(slice(a, n - b) for (a, b), n in zip(crops, whole)))]


_EDGES = np.array([[1, 0], [0, 2]], np.int32)
add(
    "SpaceToBatchND",
    lambda v: case(v(2, 3, 4, 2), i32(2, 3), _EDGES),
    lambda v: case(v(1, 4, 2), i32(2), np.array([[1, 1]])),
    lambda v: case(v(0, 2, 2), i32(2, 1), np.zeros((2, 2), np.int32)),
    types=ALL_TYPES,
    reference=_to_batch,
)
add(
    "BatchToSpaceND",
    lambda v: case(v(12, 2, 2, 2), i32(2, 3), _EDGES),
    lambda v: case(v(2, 3, 2), i32(2), np.array([[1, 1]])),
    lambda v: case(v(0, 2, 2), i32(2, 1), np.zeros((2, 2), np.int32)),
    types=ALL_TYPES,
    reference=_to_blocks,
)


def _patches(x: Any, ksizes: Any, strides: Any, rates: Any, padding: str) -> Any:
    spans = [(k - 1) * r + 1 for k, r in zip(ksizes[1:3], rates[1:3])]
    pads = [(0, 0), (0, 0)]
    if padding == "SAME":
        totals = [
            max((-(-size // step) - 1) * step + span - size, 0)
            for size, step, span in zip(x.shape[1:3], strides[1:3], spans)
        ]
        pads = [(total // 2, total - total // 2) for total in totals]
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    counts = [
        (size - span) // step + 1 for size, span, step in zip(x.shape[1:3], spans, strides[1:3])
    ]
    out = []
    for row in range(ksizes[1]):
        for column in range(ksizes[2]):
            rows = row * rates[1] + np.arange(counts[0]) * strides[1]
            columns = column * rates[2] + np.arange(counts[1]) * strides[2]
            out.append(x[:, rows][:, :, columns])
    return np.concatenate(out, 3)


def _window(k: tuple[int, int], s: tuple[int, int], r: tuple[int, int], p: str) -> dict[str, Any]:
    return {"ksizes": [1, *k, 1], "strides": [1, *s, 1], "rates": [1, *r, 1], "padding": p}


add(
    "ExtractImagePatches",
    lambda v: case(v(2, 4, 5, 2), **_window((2, 3), (1, 2), (1, 1), "VALID")),
    lambda v: case(v(1, 5, 4, 1), **_window((3, 2), (2, 1), (1, 1), "SAME")),
    lambda v: case(v(1, 6, 5, 2), **_window((2, 2), (2, 1), (2, 3), "VALID")),
    lambda v: case(v(0, 3, 3, 1), **_window((2, 2), (1, 1), (1, 1), "SAME")),
    reference=_patches,
)


def _volume_patches(volumes: Any, ksizes: Any, strides: Any, padding: str) -> Any:
    """Return each place's patch, one after the other."""
    sizes, steps = ksizes[1:4], strides[1:4]
    counts = [
        -(-(size if padding == "SAME" else size - window + 1) // step)
        for size, window, step in zip(volumes.shape[1:4], sizes, steps)
    ]
    over = [
        max((count - 1) * step + window - size, 0)
        for count, step, window, size in zip(counts, steps, sizes, volumes.shape[1:4])
    ]
    wide = np.pad(volumes, [(0, 0), *((item // 2, item - item // 2) for item in over), (0, 0)])
    out = np.zeros((len(volumes), *counts, math.prod(sizes) * volumes.shape[4]), volumes.dtype)
    for z, y, x in np.ndindex(*counts):
        seen = [slice(a * s, a * s + k) for a, s, k in zip((z, y, x), steps, sizes)]
        out[:, z, y, x] = wide[(slice(None), *seen)].reshape(out[:, z, y, x].shape)
    return out


def _cuts(sizes: tuple[int, ...], strides: tuple[int, ...], padding: str) -> dict[str, Any]:
    return {"ksizes": [1, *sizes, 1], "strides": [1, *strides, 1], "padding": padding}


add(
    "ExtractVolumePatches",
    lambda v: case(v(2, 2, 3, 3, 2), **_cuts((2, 1, 2), (1, 1, 1), "VALID")),
    lambda v: case(v(1, 3, 2, 4, 1), **_cuts((2, 2, 1), (2, 1, 3), "SAME")),
    lambda v: case(v(1, 2, 2, 2, 1), **_cuts((3, 1, 1), (1, 1, 1), "VALID")),
    lambda v: case(v(0, 2, 2, 2, 1), **_cuts((2, 1, 1), (1, 1, 1), "SAME")),
    reference=_volume_patches,
)

# -- colours


def _apart(function: Any, x: Any) -> Any:
    flat = x.reshape(-1, 3).tolist()
    return np.array([function(*item) for item in flat], x.dtype).reshape(x.shape)


def _changed(x: Any, change: Any) -> Any:
    def one(*rgb: float) -> Any:
        return colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*rgb)))

    return _apart(one, x)


_COLORS: dict[str, Any] = {"low": 0.1, "high": 0.9, "signed": False}
_FACTOR = np.array(0.3, np.float32)
for _name, _function in (("RGBToHSV", colorsys.rgb_to_hsv), ("HSVToRGB", colorsys.hsv_to_rgb)):
    add(
        _name,
        lambda v: case(v(2, 2, 3)),
        lambda v: case(v(3)),
        lambda v: case(v(0, 3)),
        reference=lambda x, f=_function: _apart(f, x),
        tolerance=8,
        **_COLORS,
    )
add(
    "AdjustContrastv2",
    lambda v: case(v(2, 3, 2, 3), _FACTOR),
    lambda v: case(v(0, 2, 2, 1), _FACTOR),
    reference=lambda x, f: (
        (x - x.mean((-3, -2), keepdims=True)) * f + x.mean((-3, -2), keepdims=True)
    ),
    tolerance=8,
    **_COLORS,
)
add(
    "AdjustSaturation",
    lambda v: case(v(2, 3, 3), _FACTOR),
    lambda v: case(v(2, 3, 3), _FACTOR * 9),
    lambda v: case(v(0, 3), _FACTOR),
    reference=lambda x, f: _changed(x, lambda h, s, value: (h, min(s * f, 1.0), value)),
    tolerance=16,
    **_COLORS,
)
add(
    "AdjustHue",
    lambda v: case(v(2, 3, 3), _FACTOR),
    lambda v: case(v(2, 3, 3), _FACTOR - 1),
    lambda v: case(v(0, 3), _FACTOR),
    reference=lambda x, f: _changed(x, lambda h, s, value: ((h + f) % 1.0, s, value)),
    tolerance=16,
    **_COLORS,
)
