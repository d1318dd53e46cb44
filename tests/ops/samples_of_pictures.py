"""Samples of ops that choose and draw boxes, cut glimpses out and read image files."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .samples_of_strings import texts
from .sampling import add, case, i32

__all__ = ["bmp_file", "png_file"]

# -- the best boxes

_CORNERS = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2.6, 1, 3.6], [6, 6, 5, 5]]
_SCORES = [0.5, 0.75, 0.25, 0.875, 0.0625]
_NO_BOXES = np.zeros((0, 4), np.float32)


def _shared(one: Any, other: Any) -> float:
    """Return the common part of two boxes, by all that they cover."""
    corners = [np.sort(np.reshape(box, (2, 2)).astype(float), axis=0) for box in (one, other)]
    sides = np.minimum(*[c[1] for c in corners]) - np.maximum(*[c[0] for c in corners])
    both = np.prod(np.maximum(sides, 0))
    areas = [np.prod(c[1] - c[0]) for c in corners]
    return float(both / (sum(areas) - both)) if min(areas) > 0 else 0.0


def _choose(scores: Any, most: int, least: float, limit: float, table: Any, sigma: float) -> Any:
    """Take box and score repeatedly from the remaining boxes, with scores as they are by then."""
    left = {index: float(score) for index, score in enumerate(scores) if score > least}
    chosen: list[tuple[int, float]] = []
    while left and len(chosen) < most:
        index = min(left, key=lambda item: (-left[item], item))
        chosen.append((index, left.pop(index)))
        for other in list(left):
            share = table[index][other]
            if sigma:
                left[other] *= float(np.exp(-share * share / (2 * sigma)))
            if (not sigma and share > limit) or left[other] <= least:
                del left[other]
    return chosen


def _table(boxes: Any) -> Any:
    return [[_shared(one, other) for other in boxes] for one in boxes]


def _of_overlaps(overlaps: Any, scores: Any, most: Any, limit: Any, least: Any) -> Any:
    result = _choose(scores, int(most), float(least), float(limit), overlaps, 0)
    return np.array([index for index, _ in result], np.int32)


def _padded(result: Any, most: Any, pads: bool, dtype: Any) -> Any:
    size = int(most) if pads else len(result)
    indices, values = np.zeros(size, np.int32), np.zeros(size, dtype)
    for place, (index, score) in enumerate(result):
        indices[place], values[place] = index, score
    return indices, values, np.array(len(result), np.int32)


def _v4(
    boxes: Any, scores: Any, most: Any, limit: Any, least: Any, pad_to_max_output_size: bool = False
) -> Any:
    result = _choose(scores, int(most), float(least), float(limit), _table(boxes), 0)
    indices, _, count = _padded(result, most, pad_to_max_output_size, scores.dtype)
    return indices, count


def _v5(
    boxes: Any,
    scores: Any,
    most: Any,
    limit: Any,
    least: Any,
    sigma: Any,
    pad_to_max_output_size: bool = False,
) -> Any:
    result = _choose(scores, int(most), float(least), float(limit), _table(boxes), float(sigma))
    return _padded(result, most, pad_to_max_output_size, scores.dtype)


def _scalar(value: float, dtype: Any = np.float32) -> Any:
    return np.array(value, dtype)


_OVERLAPS = np.float32(_table(_CORNERS))
add(
    "NonMaxSuppressionWithOverlaps",
    lambda _: case(
        _OVERLAPS, np.float32(_SCORES), _scalar(9, np.int32), _scalar(0.5), _scalar(0.1)
    ),
    lambda _: case(
        np.zeros((0, 0), np.float32), np.float32([]), _scalar(2, np.int32), _scalar(0), _scalar(0)
    ),
    reference=_of_overlaps,
)
for _name, _sigmas, _reference in (
    ("NonMaxSuppressionV4", ((), ()), _v4),
    ("NonMaxSuppressionV5", ((0.0,), (0.5,)), _v5),
):
    add(
        _name,
        *[
            lambda v, sigma=sigma, pads=pads: case(
                np.array(_CORNERS, v.dtype.as_numpy_dtype),
                np.array(_SCORES, v.dtype.as_numpy_dtype),
                _scalar(4, np.int32),
                *[_scalar(each, v.dtype.as_numpy_dtype) for each in (0.5, 0.125, *sigma)],
                pad_to_max_output_size=pads,
            )
            for sigma, pads in zip(_sigmas, (True, False))
        ],
        lambda v, sigma=_sigmas[0]: case(
            v(0, 4),
            v(0),
            _scalar(2, np.int32),
            *[_scalar(each, v.dtype.as_numpy_dtype) for each in (0.5, 0, *sigma)],
        ),
        reference=_reference,
    )


def _combined(
    boxes: Any,
    scores: Any,
    each: Any,
    total: Any,
    limit: Any,
    least: Any,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
) -> Any:
    kinds = scores.shape[2]
    size = min(int(total), int(each) * kinds) if pad_per_class else int(total)
    out = [np.zeros((len(boxes), size, *inner), np.float32) for inner in ((4,), (), ())]
    counts = np.zeros(len(boxes), np.int32)
    for index in range(len(boxes)):
        result = []
        for kind in range(kinds):
            mine = boxes[index][:, min(kind, boxes.shape[2] - 1)]
            args = int(each), float(least), float(limit), _table(mine), 0
            result += [(s, kind, mine[box]) for box, s in _choose(scores[index, :, kind], *args)]
        result.sort(key=lambda item: -item[0])
        counts[index] = min(len(result), size)
        for place, (score, kind, box) in enumerate(result[:size]):
            out[0][index, place] = np.clip(box, 0, 1) if clip_boxes else box
            out[1][index, place], out[2][index, place] = score, kind
    return *out, counts


_BY_CLASS = np.float32(np.stack([_CORNERS, _CORNERS[::-1]], 1)[None])
_CLASS_SCORES = np.float32(np.stack([_SCORES, np.array(_SCORES[::-1]) - 0.01], 1)[None])
_HOW_MANY = _scalar(2, np.int32), _scalar(5, np.int32), _scalar(0.5), _scalar(0.2)
add(
    "CombinedNonMaxSuppression",
    lambda _: case(_BY_CLASS, _CLASS_SCORES, *_HOW_MANY),
    lambda _: case(_BY_CLASS[:, :, :1], _CLASS_SCORES, *_HOW_MANY, clip_boxes=False),
    lambda _: case(_BY_CLASS, _CLASS_SCORES, *_HOW_MANY, pad_per_class=True),
    lambda _: case(_BY_CLASS[:0], _CLASS_SCORES[:0], *_HOW_MANY),
    reference=_combined,
)

# -- boxes drawn

_BRIGHT = {3: [[1, 1, 0], [0, 0, 1], [1, 0, 0]], 1: [[1]], 4: [[1, 1, 0, 1], [0, 0, 1, 1]]}


def _drawn(images: Any, boxes: Any, colors: Any = None) -> Any:
    """Pixel by pixel: whether it is on an edge of a box, the last one winning."""
    out = images.copy()
    table = _BRIGHT[images.shape[3]] if colors is None else colors
    most = np.float32([images.shape[1] - 1, images.shape[2] - 1] * 2)
    for image, row, column in np.ndindex(images.shape[:3]):
        for index, box in enumerate(boxes[image]):
            y1, x1, y2, x2 = (int(item) for item in box * most)
            inside = y1 <= row <= y2 and x1 <= column <= x2
            if inside and (row in (y1, y2) or column in (x1, x2)):
                out[image, row, column] = table[index % len(table)][: images.shape[3]]
    return out


_DRAWN = np.float32([[[0.2, 0.2, 0.8, 0.7], [-0.3, 0.5, 0.4, 1.6]], [[0.5, 0.1, 0.2, 0.9]] * 2])
add(
    "DrawBoundingBoxes",
    lambda v: case(v(2, 6, 7, 3), _DRAWN),
    lambda v: case(v(2, 6, 7, 1), _DRAWN),
    lambda v: case(v(2, 5, 4, 4), _DRAWN),
    lambda v: case(v(2, 4, 4, 3), _DRAWN[:, :0]),
    reference=_drawn,
)
add(
    "DrawBoundingBoxesV2",
    lambda v: case(v(2, 6, 7, 3), _DRAWN, np.float32([[0.25, 0.5, 1]])),
    lambda v: case(v(2, 4, 4, 1), _DRAWN[:, :0], np.float32([[0.25], [0.5]])),
    reference=_drawn,
)

# -- glimpses


def _glimpses(
    images: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    noise: str = "uniform",
) -> Any:
    out = np.zeros((len(images), *size, images.shape[3]), np.float32)
    for index, row, column in np.ndindex(out.shape[:3]):
        place = []
        for step, length, new, offset in zip(
            (row, column), images.shape[1:3], size, offsets[index].tolist()
        ):
            first = offset * length if normalized else offset
            if centered:
                first = (first + length) / 2
            place.append(int(first - new / 2) + step)
        if 0 <= place[0] < images.shape[1] and 0 <= place[1] < images.shape[2]:
            out[index, row, column] = images[index, place[0], place[1]]
    return out


_OFFSETS = np.float32([[0.125, -0.25], [0.25, 0.0625]])
add(
    "ExtractGlimpse",
    lambda v: case(v(2, 8, 9, 2), i32(3, 4), _OFFSETS),
    lambda v: case(v(2, 8, 9, 2), i32(3, 4), _OFFSETS + np.float32(0.75), noise="zero",
                   uniform_noise=False),
    lambda v: case(v(2, 8, 9, 2), i32(3, 4), abs(_OFFSETS) + np.float32(0.25), centered=False),
    lambda v: case(v(2, 8, 9, 1), i32(3, 2), np.float32([[2, 4], [5, 1]]), normalized=False,
                   centered=False),
    lambda v: case(v(0, 8, 9, 1), i32(3, 2), np.zeros((0, 2), np.float32)),
    reference=_glimpses,
)  # fmt: skip

# -- parts by chance

add(
    "SampleDistortedBoundingBoxV2",
    *[
        lambda v, boxes=boxes, attrs=attrs: case(
            np.array([90, 120, 3], v.dtype.as_numpy_dtype),
            boxes,
            _scalar(0.5),
            seed=3,
            seed2=5,
            **attrs,
        )
        for boxes, attrs in (
            (np.float32([[[0.25, 0.25, 0.5, 0.75]]]), {}),
            (np.zeros((1, 0, 4), np.float32), {"use_image_if_no_bounding_boxes": True}),
            (np.float32([[[0, 0, 1, 1]]]), {"area_range": [0.1, 0.2], "max_attempts": 2}),
        )
    ],
)

# -- files


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check


_PNG_KINDS = {1: 0, 2: 4, 3: 2, 4: 6}


def png_file(pixels: Any) -> bytes:
    """Return the plainest PNG file of an image."""
    height, width, channels = pixels.shape
    bits = 8 * pixels.dtype.itemsize
    head = struct.pack(">IIBBBBB", width, height, bits, _PNG_KINDS[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(f">u{bits // 8}").tobytes() for row in pixels)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*item) for item in chunks)


def bmp_file(pixels: Any, upwards: bool = True) -> bytes:
    """Return the plainest BMP file of an image of 1, 3 or 4 channels, its last row first."""
    height, width, channels = pixels.shape
    order = pixels[:, :, [2, 1, 0, 3][:channels]] if channels > 1 else pixels
    rows = [row.tobytes() + b"\0" * (-row.size % 4) for row in order]
    body = b"".join(rows[::-1] if upwards else rows)
    signed = height if upwards else -height
    info = struct.pack("<IiiHHIIiiII", 40, width, signed, 1, 8 * channels, 0, 0, 0, 0, 0, 0)
    return struct.pack("<2sIHHI", b"BM", 54 + len(body), 0, 0, 54) + info + body


_random = np.random.default_rng(7)
_PNGS = {
    png_file(pixels): pixels
    for pixels in (
        _random.integers(0, np.iinfo(kind).max, (3, 5, channels)).astype(kind)
        for kind in (np.uint8, np.uint16)
        for channels in (1, 2, 3, 4)
    )
}
_BMPS = {
    bmp_file(pixels, upwards): pixels
    for upwards, channels in ((True, 3), (False, 4), (True, 1))
    for pixels in [_random.integers(0, 256, (3, 5, channels)).astype(np.uint8)]
}


def _read(contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, **_: Any) -> Any:
    """Return the pixels that the file was made of, as the dtype, opaque where it has no alpha."""
    pixels = {**_PNGS, **_BMPS}[contents[()]]
    if channels:
        pixels = pixels.reshape(*pixels.shape[:2], -1)
        colors = np.repeat(pixels[..., :1], 3, 2) if pixels.shape[2] < 3 else pixels[..., :3]
        alpha = pixels[..., pixels.shape[2] - 1 :]
        if pixels.shape[2] % 2:
            alpha = np.full_like(alpha, np.iinfo(pixels.dtype).max)
        pixels = colors if channels == 3 else np.concatenate([colors, alpha], 2)
    if dtype is dtypes.float32:
        return np.float32(pixels) / np.float32(np.iinfo(pixels.dtype).max)
    if dtype is dtypes.uint16 and pixels.dtype == np.uint8:
        return pixels.astype(np.uint16) * 257
    return pixels >> 8 if dtype is dtypes.uint8 and pixels.dtype == np.uint16 else pixels


for _file in _PNGS:
    for _attrs in ({}, {"dtype": dtypes.uint16}, {"channels": 3}, {"channels": 4}):
        add("DecodePng", lambda _, f=_file, a=_attrs: case(texts(f), **a), reference=_read)
for _file in _BMPS:
    add("DecodeBmp", lambda _, f=_file: case(texts(f)), reference=_read)
    add("DecodeImage", lambda _, f=_file: case(texts(f)), reference=_read)
for _file, _dtype in zip(_PNGS, (dtypes.uint8, dtypes.uint16, dtypes.float32)):
    add("DecodeImage", lambda _, f=_file, d=_dtype: case(texts(f), dtype=d), reference=_read)
