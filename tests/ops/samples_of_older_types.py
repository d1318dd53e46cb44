"""Samples of op types of older graphs; renamed op types have the samples of the new ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.ops.older_types.renamed_op_types import RENAMED

from .sampling import TABLE, add, case, elementwise, i32, i64

__all__ = ["add_renamed"]


def add_renamed() -> None:
    """Return each renamed op type the samples of the one that it is."""
    for name, like in RENAMED.items():
        if like in TABLE:
            TABLE[name] = TABLE[like]


elementwise(
    "ApproximateEqual",
    lambda x, y, tolerance: np.abs(np.subtract(x, y, dtype=np.result_type(x, "i2"))) < tolerance,
    attrs={"tolerance": 1.0},
    signed=False,
    one_shape=True,
)
add(
    "ClipByValue",
    lambda v: case(v(2, 3), v() * 0 + 1, v() * 0 + 2, smooth=False),
    lambda v: case(v(2, 3), v(2, 3) * 0 - 1, v(2, 3) * 0 + 1),
    lambda v: case(v(0, 3), v(), v()),
    reference=lambda t, low, high: np.minimum(np.maximum(t, low), high),
    signed=False,
)


def _of_axes(x: Any, src_format: str = "NHWC", dst_format: str = "NCHW") -> Any:
    return np.array([dst_format.index(src_format[axis]) for axis in x.ravel()]).reshape(x.shape)


for _types in (np.int32, np.int64):
    add(
        "DataFormatDimMap",
        lambda v, t=_types: case(np.array([-4, 3, 1, 2, -1], t)),
        lambda v, t=_types: case(np.array([[0, 1], [2, 3]], t), dst_format="HWNC"),
        lambda v, t=_types: case(np.zeros((0, 3), t)),
        reference=_of_axes,
        types=[dtypes.int32],
    )
    add(
        "DataFormatVecPermute",
        lambda v, t=_types: case(np.array([7, 4, 9, 3], t)),
        lambda v, t=_types: case(np.arange(8, dtype=t).reshape(4, 2), dst_format="HWNC"),
        reference=lambda x, src_format="NHWC", dst_format="NCHW": np.stack(
            [x[src_format.index(letter)] for letter in dst_format]
        ),
        types=[dtypes.int32],
    )

_WINDOWS = {"padding": "VALID"}


def _pooled(x: Any, ksize: Any, strides: Any, padding: str) -> Any:
    views = np.lib.stride_tricks.sliding_window_view(x, ksize[1:3], (1, 2))
    return views[:, :: strides[1], :: strides[2]].max((-2, -1))


def _largest_places(x: Any, ksize: Any, strides: Any) -> Any:
    """Return (window, place in the images) of each window's first largest element."""
    result = []
    pooled = _pooled(x, ksize, strides, "VALID")
    for n, i, j, c in np.ndindex(pooled.shape):
        top, left = i * strides[1], j * strides[2]
        window = x[n, top : top + ksize[1], left : left + ksize[2], c]
        down, along = np.unravel_index(window.argmax(), window.shape)
        result.append(((n, i, j, c), (n, top + down, left + along, c)))
    return result


def _pool_back(x: Any, y: Any, dy: Any, ksize: Any, strides: Any, padding: str) -> Any:
    dx = np.zeros_like(x)
    for window, place in _largest_places(x, ksize, strides):
        dx[place] += dy[window]
    return dx


def _pool_back_back(x: Any, y: Any, ddx: Any, ksize: Any, strides: Any, padding: str) -> Any:
    result = np.zeros_like(y)
    for window, place in _largest_places(x, ksize, strides):
        result[window] = ddx[place]
    return result


def _images(v: Any, *shape: int) -> Any:
    """Return images whose elements all differ."""
    count = int(np.prod(shape))
    order = np.random.default_rng(count).permutation(count)
    return order.reshape(shape).astype(v.dtype.as_numpy_dtype)


def _pool_case(v: Any, ksize: Any, strides: Any, shape: Any, third: str = "") -> Any:
    x = _images(v, *shape)
    windows = (i32(*ksize), i32(*strides))
    if not third:
        return case(x, *windows, **_WINDOWS)
    y = np.asarray(_pooled(x, ksize, strides, "VALID"))
    other = _images(v, *(y.shape if third == "dy" else x.shape))
    return case(x, y, other, *windows, **_WINDOWS)


for _name, _third, _reference in (
    ("MaxPoolV2", "", _pooled),
    ("MaxPoolGradV2", "dy", _pool_back),
    ("MaxPoolGradGradV2", "ddx", _pool_back_back),
):
    add(
        _name,
        lambda v, t=_third: _pool_case(v, (1, 2, 2, 1), (1, 2, 2, 1), (1, 4, 4, 3), t),
        lambda v, t=_third: _pool_case(v, (1, 2, 3, 1), (1, 1, 2, 1), (2, 3, 5, 2), t),
        lambda v, t=_third: _pool_case(v, (1, 2, 2, 1), (1, 2, 2, 1), (0, 4, 4, 3), t),
        reference=_reference,
    )


def _rows(change: Any) -> Any:
    def reference(x: Any, i: Any, v: Any) -> Any:
        result = x.copy()
        for row, value in zip(i.tolist(), v, strict=True):
            result[row] = change(result[row], value)
        return result

    return reference


for _name, _change in (
    ("InplaceUpdate", lambda old, new: new),
    ("InplaceAdd", np.add),
    ("InplaceSub", np.subtract),
):
    add(
        _name,
        lambda v: case(v(4, 3), i32(2, 0), v(2, 3)),
        lambda v: case(v(3), i32(1, 1), v(2)),
        lambda v: case(v(4, 0), i32(), v(0, 0)),
        reference=_rows(_change),
    )
add("DeepCopy", lambda v: case(v(2, 3)), lambda v: case(v(0, 3)), reference=np.copy)
for _dtype in (dtypes.float32, dtypes.string, dtypes.int64):
    add(
        "Empty",
        lambda v, t=_dtype: case(i32(2, 3), dtype=t),
        lambda v, t=_dtype: case(i32(0, 3), dtype=t, init=True),
        reference=lambda shape, dtype, init=False: np.full(
            shape, b"" if dtype is dtypes.string else 0, dtype.as_numpy_dtype
        ),
        types=[dtypes.int32],
    )
add(
    "Concat",
    lambda v: case(np.array(1, np.int32), [v(2, 3), v(2, 1)]),
    lambda v: case(np.array(-2, np.int32), [v(2, 3), v(1, 3), v(2, 3)]),
    lambda v: case(np.array(0, np.int32), [v(0, 3), v(0, 3)]),
    reference=lambda axis, parts: np.concatenate(parts, int(axis)),
)
add(
    "Gather",
    lambda v: case(v(4, 3), i32(2, 0)),
    lambda v: case(v(4), i64(3, 3)),
    lambda v: case(v(4, 3), i32()),
    reference=lambda params, indices: params[indices],
)
add(
    "ConjugateTranspose",
    lambda v: case(v(2, 3), i32(1, 0)),
    lambda v: case(v(2, 3, 1), i64(1, 2, 0)),
    lambda v: case(v(0, 3), i32(1, 0)),
    reference=lambda x, perm: (
        np.conj(x.transpose(perm)) if x.dtype.kind == "c" else x.transpose(perm)
    ),
)
add(
    "TileGrad",
    lambda v: case(v(4, 3), i32(2, 1)),
    lambda v: case(v(4, 6), i32(2, 3)),
    lambda v: case(v(0, 3), i32(1, 1)),
    reference=lambda x, times: sum(
        x[tuple(slice(n * s // c, (n + 1) * s // c) for n, s, c in zip(tile, x.shape, times))]
        for tile in np.ndindex(*times)
    ),
)
add(
    "AccumulateNV2",
    lambda v: case([v(2, 3), v(2, 3), v(2, 3)], shape=TensorShape([2, 3])),
    lambda v: case([v(2)], shape=TensorShape([2])),
    lambda v: case([v(0, 3), v(0, 3)], shape=TensorShape([0, 3])),
    reference=lambda terms, shape: sum(terms[1:], terms[0]),
)
add(
    "PopulationCount",
    lambda v: case(v(2, 3)),
    lambda v: case(v(0, 3)),
    reference=lambda x: np.vectorize(
        lambda n: int(n % (1 << 8 * x.itemsize)).bit_count(), otypes=[np.uint8]
    )(x.astype(object)),
)
add(
    "CompareAndBitpack",
    lambda v: case(v(2, 16), v()),
    lambda v: case(v(8), v()),
    lambda v: case(v(0, 8), v()),
    reference=lambda x, threshold: np.packbits(x > threshold, axis=-1),
)


def _unique(x: Any, axis: Any, counts: bool, index_type: Any) -> Any:
    """Return the different slices by looking each one up in a list."""
    axis = int(axis[0]) if len(axis) else 0
    slices = [np.take(x, n, axis) for n in range(x.shape[axis])]
    different: list[Any] = []
    places = []
    for part in slices:
        same = [n for n, other in enumerate(different) if np.array_equal(part, other)]
        places.append(same[0] if same else len(different))
        if not same:
            different.append(part)
    shape = [size for n, size in enumerate(x.shape) if n != axis % x.ndim]
    joined = np.stack(different, axis) if different else np.zeros((0, *shape), x.dtype)
    indices = np.array(places, index_type)
    if not counts:
        return joined, indices
    return joined, indices, np.array([places.count(n) for n in range(len(different))], index_type)


for _name, _counts in (("UniqueV2", False), ("UniqueWithCountsV2", True)):
    add(
        _name,
        lambda v: case(np.repeat(v(2, 3), 2, 0)[[0, 2, 1]], i64(0)),
        lambda v: case(np.tile(v(2, 2), (1, 2)), i32(-1), out_idx=dtypes.int64),
        lambda v: case(np.tile(v(2), 3), i64()),
        lambda v: case(v(0, 3), i64(0)),
        reference=lambda x, axis, out_idx=dtypes.int32, c=_counts: _unique(
            x, axis, c, out_idx.as_numpy_dtype
        ),
    )


def _to_batch(x: Any, paddings: Any, block_size: int) -> Any:
    padded = np.pad(x, [(0, 0), *paddings.tolist(), (0, 0)]) if x.dtype != object else x
    parts = [padded[:, i::block_size, j::block_size] for i, j in np.ndindex(block_size, block_size)]
    return np.concatenate(parts)


def _from_batch(x: Any, crops: Any, block_size: int) -> Any:
    count = len(x) // block_size**2
    height, width = (size * block_size for size in x.shape[1:3])
    result = np.zeros((count, height, width, x.shape[3]), x.dtype)
    for n, (i, j) in enumerate(np.ndindex(block_size, block_size)):
        result[:, i::block_size, j::block_size] = x[n * count : (n + 1) * count]
    (top, bottom), (left, right) = crops.tolist()
    return result[:, top : height - bottom, left : width - right]


def _pairs(v: Any, *numbers: int) -> Any:
    """Edges, which strings do not have: there is nothing to fill them with in NumPy."""
    return np.array(numbers, np.int32).reshape(2, 2) * (v.dtype != dtypes.string)


for _name, _shapes, _reference in (
    ("SpaceToBatch", ((2, 4, 4, 2), (1, 6, 4, 1), (0, 4, 4, 2)), _to_batch),
    ("BatchToSpace", ((8, 2, 3, 1), (4, 2, 2, 3), (0, 2, 2, 3)), _from_batch),
):
    add(
        _name,
        lambda v, shape=_shapes[0]: case(v(*shape), _pairs(v, 1, 1, 0, 2), block_size=2),
        lambda v, shape=_shapes[1]: case(v(*shape), i64(0, 0, 0, 0).reshape(2, 2), block_size=2),
        lambda v, shape=_shapes[2]: case(v(*shape), _pairs(v, 0, 0, 0, 0), block_size=2),
        reference=_reference,
    )


def _with_slice(x: Any, begin: Any, end: Any, strides: Any, value: Any, **masks: int) -> Any:
    result = x.copy()
    index: Any = tuple(map(slice, begin.tolist(), end.tolist(), strides.tolist()))
    if masks.get("shrink_axis_mask"):
        index = (int(begin[0]), *index[1:])
    if masks.get("end_mask"):
        index = (*index[:1], slice(int(begin[1]), None))
    result[index] = value
    return result


add(
    "TensorStridedSliceUpdate",
    lambda v: case(v(4, 5), i32(0, 1), i32(4, 4), i32(2, 1), v(2, 3)),
    lambda v: case(v(4, 3), i64(1, 0), i64(2, 3), i64(1, 1), v(3), shrink_axis_mask=1),
    lambda v: case(v(2, 3), i32(0, 1), i32(2, 0), i32(1, 1), v(2, 1), end_mask=2),
    lambda v: case(v(0, 3), i32(0, 0), i32(0, 3), i32(1, 1), v(0, 3)),
    reference=_with_slice,
)


def _suppressed(boxes: Any, scores: Any, most: Any, threshold: Any) -> Any:
    chosen: list[int] = []
    for n in sorted(range(len(scores)), key=lambda n: -float(scores[n])):
        if len(chosen) < most and all(_shared(boxes[n], boxes[k]) <= threshold for k in chosen):
            chosen.append(n)
    return np.array(chosen, np.int32)


def _shared(one: Any, other: Any) -> float:
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    common = np.prod(np.maximum(high - low, 0))
    areas = [np.prod(box[2:] - box[:2]) for box in (one, other)]
    return float(common / (sum(areas) - common))


_BOXES = np.array([[0, 0, 1, 1], [0, 0.125, 1, 1], [0, 2, 1, 4], [0, 2, 1, 3.75], [5, 5, 6, 6]])
_SCORES = np.array([0.5, 0.75, 0.25, 0.375, 0.125])


def _boxes(v: Any, count: int, most: int, *threshold: Any, **attrs: Any) -> Any:
    kind = v.dtype.as_numpy_dtype
    arrays = _BOXES[:count].astype(kind), _SCORES[:count].astype(kind)
    return case(*arrays, np.int32(most), *threshold, **attrs)


add(
    "NonMaxSuppression",
    lambda v: _boxes(v, 5, 4),
    lambda v: _boxes(v, 5, 2, iou_threshold=0.9375),
    lambda v: _boxes(v, 0, 2),
    reference=lambda boxes, scores, most, iou_threshold=0.5: _suppressed(
        boxes, scores, most, iou_threshold
    ),
    types=[dtypes.float32],
)
for _kind in (np.float32, np.float16):
    add(
        "NonMaxSuppressionV2",
        lambda v, kind=_kind: _boxes(v, 5, 4, kind(0.5)),
        lambda v, kind=_kind: _boxes(v, 5, 5, kind(0.9375)),
        lambda v, kind=_kind: _boxes(v, 0, 2, kind(0.5)),
        reference=_suppressed,
    )
