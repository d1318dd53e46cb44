"""Samples of the ops on boxes in images."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case, i32, representatives

__all__ = ["BOXES"]

BOXES = np.float32([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [-0.2, 0.1, 0.5, 1.3]])
_NUMBERS = i32(0, 1, 1)
_NO_BOXES = np.zeros((0, 4), np.float32)


def _taps_of(box: Any, sizes: Any, news: Any, method: str) -> Any:
    """Row and column weights, found pixel by pixel: a hat around the place."""
    result = []
    for first, last, size, new in zip(box[:2], box[2:], sizes, news):
        matrix = np.zeros((new, size))
        for row in range(new):
            share = row / (new - 1) if new > 1 else 0.5
            place = float(first + (last - first) * share) * (size - 1)
            if 0 <= place <= size - 1:
                near = np.abs(np.arange(size) - place)
                nearest = np.arange(size) == np.floor(place + 0.5)
                matrix[row] = np.maximum(1 - near, 0) if method == "bilinear" else nearest
        result.append(matrix)
    return result


def _crops(
    x: Any,
    boxes: Any,
    numbers: Any,
    size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> Any:
    out = np.zeros((len(boxes), *size, x.shape[3]), np.float32)
    for index, (box, number) in enumerate(zip(boxes, numbers)):
        rows, columns = _taps_of(box, x.shape[1:3], size, method)
        out[index] = np.einsum("rh,cw,hwd->rcd", rows, columns, x[number])
        outside = (rows.sum(1) == 0)[:, None] | (columns.sum(1) == 0)
        out[index][outside] = extrapolation_value
    return out


def _crops_back(
    dy: Any, boxes: Any, numbers: Any, size: Any, T: Any, method: str = "bilinear"
) -> Any:
    out = np.zeros(tuple(size), T.as_numpy_dtype)
    for index, (box, number) in enumerate(zip(boxes, numbers)):
        rows, columns = _taps_of(box, size[1:3], dy.shape[1:3], method)
        out[number] += np.einsum("rh,cw,rcd->hwd", rows, columns, dy[index]).astype(out.dtype)
    return out


def _box_slopes(dy: Any, x: Any, boxes: Any, numbers: Any) -> Any:
    """By central differences: bilinear crops are linear between pixels."""
    out = np.zeros((len(boxes), 4), np.float32)
    for index, column in np.ndindex(len(boxes), 4):
        sums = []
        for step in (1e-4, -1e-4):
            box = boxes[index].astype(np.float64)
            box[column] += step
            rows, columns = _taps_of(box, x.shape[1:3], dy.shape[1:3], "bilinear")
            crop = np.einsum("rh,cw,hwd->rcd", rows, columns, x[numbers[index]])
            sums.append((crop * dy[index]).sum())
        out[index, column] = (sums[0] - sums[1]) / 2e-4
    return out


add(
    "CropAndResize",
    lambda v: case(v(2, 4, 5, 2), BOXES, _NUMBERS, i32(3, 2)),
    lambda v: case(v(2, 4, 5, 2), BOXES, _NUMBERS, i32(1, 3), extrapolation_value=2.0),
    lambda v: case(v(2, 4, 5, 2), BOXES[:2], _NUMBERS[:2], i32(4, 3), method="nearest"),
    lambda v: case(v(2, 4, 5, 2), _NO_BOXES, i32(), i32(3, 2)),
    reference=_crops,
    tolerance=32,
)
add(
    "CropAndResizeGradImage",
    *[
        lambda v, dtype=dtype: case(v(3, 3, 2, 2), BOXES, _NUMBERS, i32(2, 4, 5, 2), T=dtype)
        for dtype in (dtypes.float32, dtypes.float64)
    ],
    lambda v: case(v(0, 3, 2, 2), _NO_BOXES, i32(), i32(1, 2, 2, 2), T=dtypes.float32),
    types=[dtypes.float32],
    reference=_crops_back,
    tolerance=32,
)
_INNER = np.float32([[0.11, 0.23, 0.82, 0.87], [0.93, 0.71, 0.14, 0.06]])
add(
    "CropAndResizeGradBoxes",
    lambda v: case(np.float32(v(2, 3, 2, 2)).round(3), v(2, 4, 5, 2), _INNER, i32(1, 0)),
    lambda v: case(np.float32(v(0, 3, 2, 2)), v(2, 4, 5, 2), _NO_BOXES, i32()),
    types=[each for each in representatives(dtypes.REAL) if each is not dtypes.bfloat16],
    reference=_box_slopes,
    tolerance=2000,
)


def _best(boxes: Any, scores: Any, most: Any, iou: Any, least: Any) -> Any:
    chosen: list[int] = []
    for index in sorted(range(len(scores)), key=lambda item: -scores[item]):
        shares = []
        for other in chosen:
            low = np.maximum(boxes[index][:2], boxes[other][:2])
            high = np.minimum(boxes[index][2:], boxes[other][2:])
            both = np.prod(np.maximum(high - low, 0))
            areas = [np.prod(boxes[item][2:] - boxes[item][:2]) for item in (index, other)]
            shares.append(both / (sum(areas) - both))
        if scores[index] > least and len(chosen) < most and max(shares, default=0) <= iou:
            chosen.append(index)
    return np.array(chosen, np.int32)


_CORNERS = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2.6, 1, 3.6], [5, 5, 6, 6]]
add(
    "NonMaxSuppressionV3",
    *[
        lambda v, iou=iou, most=most, dtype=dtype: case(
            np.array(_CORNERS, v.dtype.as_numpy_dtype),
            np.array([0.5, 0.75, 0.25, 0.875, 0.0625], v.dtype.as_numpy_dtype),
            np.array(most, np.int32),
            np.array(iou, dtype),
            np.array(0.125, dtype),
        )
        for iou, most, dtype in (
            *((0.5, 9, np.float32), (0.2, 9, np.float32), (1.0, 2, np.float32)),
            (0.25, 9, np.float16),
        )
    ],
    lambda v: case(v(0, 4), v(0), np.array(2, np.int32), np.float32(0.5), np.float32(0)),
    reference=_best,
)
