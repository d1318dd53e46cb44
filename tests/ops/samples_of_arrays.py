"""Samples of the ops that move elements: shapes, joins, slices, gathers, paddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape

from .sampling import add, case, i32, i64, representatives

__all__ = ["one_hot_rows"]


def one_hot_rows(indices: Any, depth: int) -> Any:
    """Return whether each of `depth` places is the index, along a new last axis."""
    return np.asarray(indices)[..., None] == np.arange(depth)


def _ints(v: Any, *sizes: int) -> Any:
    return np.array(sizes, v.dtype.as_numpy_dtype)


def _same(x: Any, **_: Any) -> Any:
    return x


_ANY_SHAPE: list[Any] = [
    lambda v: case(v(2, 3)),
    lambda v: case(v()),
    lambda v: case(v(2, 1)),
    lambda v: case(v(0, 3)),
]

# -- the same bytes

for _name in ("Identity", "StopGradient", "PreventGradient"):
    add(_name, *_ANY_SHAPE, reference=_same)
add(
    "PlaceholderWithDefault",
    lambda v: case(v(2, 3), shape=TensorShape([2, 3])),
    lambda v: case(v(), shape=TensorShape([])),
    lambda v: case(v(0, 1), shape=TensorShape([0, 1])),
    reference=_same,
)
add(
    "Reshape",
    lambda v: case(v(2, 3), i32(3, 2)),
    lambda v: case(v(2, 3), i64(-1)),
    lambda v: case(v(1), i32()),
    lambda v: case(v(), i32(1, 1)),
    lambda v: case(v(0, 3), i32(3, -1)),
    reference=lambda x, shape: x.reshape(shape),
)
add(
    "ExpandDims",
    lambda v: case(v(2, 3), np.array(1, np.int32)),
    lambda v: case(v(2, 3), np.array(-1)),
    lambda v: case(v(), np.array(0, np.int32)),
    lambda v: case(v(0, 3), np.array(2, np.int32)),
    reference=lambda x, axis: np.expand_dims(x, int(axis)),
)
add(
    "Squeeze",
    lambda v: case(v(2, 1, 3, 1)),
    lambda v: case(v(2, 1, 3, 1), squeeze_dims=[-1]),
    lambda v: case(v()),
    lambda v: case(v(1, 0), squeeze_dims=[0]),
    reference=lambda x, squeeze_dims=(): np.squeeze(x, tuple(squeeze_dims) or None),
)

# -- shapes and fillings

add(
    "Shape",
    *_ANY_SHAPE,
    lambda v: case(v(2, 3), out_type=dtypes.int64),
    reference=lambda x, out_type=dtypes.int32: np.array(x.shape, out_type.as_numpy_dtype),
)
add(
    "Size",
    *_ANY_SHAPE,
    lambda v: case(v(2, 3), out_type=dtypes.int64),
    reference=lambda x, out_type=dtypes.int32: np.array(x.size, out_type.as_numpy_dtype),
)
add("Rank", *_ANY_SHAPE, reference=lambda x: np.array(x.ndim, np.int32))
add(
    "ShapeN",
    lambda v: case([v(2, 3), v(), v(0)]),
    lambda v: case([v(1, 4)], out_type=dtypes.int64),
    reference=lambda xs, out_type=dtypes.int32: tuple(
        np.array(x.shape, out_type.as_numpy_dtype) for x in xs
    ),
)


add(
    "ZerosLike",
    *_ANY_SHAPE,
    reference=lambda x: np.full(x.shape, b"" if x.dtype == object else 0, x.dtype),
)
add("OnesLike", *_ANY_SHAPE, reference=np.ones_like)
add(
    "Fill",
    lambda v: case(i32(2, 3), v()),
    lambda v: case(i64(), v()),
    lambda v: case(i32(0, 3), v()),
    reference=lambda shape, value: np.full(shape, value, value.dtype),
)
add(
    "BroadcastTo",
    lambda v: case(v(3), i32(2, 3)),
    lambda v: case(v(2, 1), i64(2, 4)),
    lambda v: case(v(), i32(2)),
    lambda v: case(v(), i32()),
    lambda v: case(v(1, 3), i32(0, 3)),
    reference=lambda x, shape: np.broadcast_to(x, shape),
)
add(
    "BroadcastGradientArgs",
    lambda v: case(_ints(v, 2, 3), _ints(v, 3)),
    lambda v: case(_ints(v, 2, 1, 1), _ints(v, 1, 4, 1)),
    lambda v: case(_ints(v), _ints(v, 2)),
    types=[dtypes.int32, dtypes.int64],
    reference=lambda s0, s1: _summed_axes(s0, s1),
)


def _summed_axes(s0: Any, s1: Any) -> Any:
    """Return the axes along which either operand is repeated, or where both have size 1."""
    rank = max(s0.size, s1.size)
    whole = np.broadcast_shapes(tuple(s0), tuple(s1))
    result = []
    for sizes in (s0, s1):
        padded = (None,) * (rank - sizes.size) + tuple(sizes.tolist())
        axes = [index for index in range(rank) if padded[index] is None or (padded[index] == 1)]
        result.append(
            np.array(
                [index for index in axes if padded[index] != whole[index] or whole[index] == 1]
            )
        )
    return tuple(item.astype(s0.dtype) for item in result)


# -- order

add(
    "Transpose",
    lambda v: case(v(2, 3), i32(1, 0)),
    lambda v: case(v(2, 3, 4), i64(2, 0, 1)),
    lambda v: case(v(2, 1, 3), i32(-1, 1, 0), smooth=False),  # can't be inverted, as TensorFlow's
    lambda v: case(v(), i32()),
    lambda v: case(v(0, 3), i32(1, 0)),
    reference=np.transpose,
)
add(
    "InvertPermutation",
    lambda v: case(_ints(v, 2, 0, 1)),
    lambda v: case(_ints(v)),
    reference=np.argsort,
)
add(
    "ReverseV2",
    lambda v: case(v(2, 3), i32(1)),
    lambda v: case(v(2, 3, 2), i64(-1, 0)),
    lambda v: case(v(), i32()),
    lambda v: case(v(0, 3), i32(0)),
    reference=lambda x, axes: np.flip(x, tuple(axes.tolist())),
)
add(
    "Reverse",
    lambda v: case(v(2, 3), np.array([False, True])),
    lambda v: case(v(2, 3, 2), np.array([True, False, True])),
    lambda v: case(v(), np.zeros(0, bool)),
    lambda v: case(v(0, 3), np.array([True, False])),
    reference=lambda x, dims: np.flip(x, tuple(np.flatnonzero(dims))),
)


def _turned(x: Any, lengths: Any, seq_dim: int, batch_dim: int = 0) -> Any:
    result = np.moveaxis(x, (batch_dim, seq_dim), (0, 1)).copy()
    for row, count in enumerate(lengths.tolist()):
        result[row, :count] = result[row, :count][::-1]
    return np.moveaxis(result, (0, 1), (batch_dim, seq_dim))


add(
    "ReverseSequence",
    lambda v: case(v(3, 4), i32(2, 4, 0), seq_dim=1),
    lambda v: case(v(4, 2, 3), i64(1, 3, 4), seq_dim=0, batch_dim=2),
    lambda v: case(v(0, 3), i64(), seq_dim=1),
    reference=_turned,
)
add(
    "Tile",
    lambda v: case(v(2, 3), i32(1, 2)),
    lambda v: case(v(2, 1), i64(3, 2)),
    lambda v: case(v(), i32()),
    lambda v: case(v(2), i32(0)),
    reference=lambda x, multiples: np.tile(x, tuple(multiples)),
)

# -- joined and taken apart

add(
    "ConcatV2",
    lambda v: case([v(2, 3), v(2, 1), v(2, 2)], np.array(1, np.int32)),
    lambda v: case([v(2), v(0), v(1)], np.array(0)),
    lambda v: case([v(2, 3), v(1, 3)], np.array(-2, np.int32)),
    lambda v: case([v(0, 3), v(0, 3)], np.array(1, np.int32)),
    reference=lambda parts, axis: np.concatenate(parts, int(axis)),
)
add(
    "ConcatOffset",
    lambda v: case(np.array(1, np.int32), [i32(2, 3), i32(2, 1), i32(2, 2)]),
    lambda v: case(np.array(-1, np.int32), [i32(3), i32(2)]),
    types=[dtypes.int32],
    reference=lambda axis, shapes: tuple(
        np.eye(shape.size, dtype=np.int32)[axis] * sum(each[axis] for each in shapes[:at])
        for at, shape in enumerate(shapes)
    ),
)
add(
    "Pack",
    lambda v: case([v(2, 3), v(2, 3)]),
    lambda v: case([v(2, 3), v(2, 3), v(2, 3)], axis=-1),
    lambda v: case([v(), v()]),
    lambda v: case([v(0, 3)], axis=1),
    reference=lambda parts, axis=0: np.stack(parts, axis),
)
add(
    "Unpack",
    lambda v: case(v(2, 3), num=2),
    lambda v: case(v(2, 3, 2), num=3, axis=-2),
    lambda v: case(v(1), num=1),
    lambda v: case(v(0, 3), num=3, axis=1),
    lambda v: case(v(0, 3), num=0),
    reference=lambda x, num, axis=0: tuple(np.moveaxis(x, axis, 0)),
)
add(
    "Split",
    lambda v: case(np.array(1, np.int32), v(2, 4), num_split=2),
    lambda v: case(np.array(-1, np.int32), v(3), num_split=1),
    lambda v: case(np.array(0, np.int32), v(3, 1), num_split=3),
    lambda v: case(np.array(0, np.int32), v(0, 3), num_split=2),
    reference=lambda axis, x, num_split: tuple(np.split(x, num_split, int(axis))),
)
add(
    "SplitV",
    lambda v: case(v(2, 4), i32(1, 3), np.array(1, np.int32), num_split=2),
    lambda v: case(v(5), i64(2, -1, 0), np.array(0, np.int32), num_split=3),
    lambda v: case(v(0, 3), i32(1, 2), np.array(-1, np.int32), num_split=2),
    reference=lambda x, sizes, axis, num_split: tuple(
        np.split(x, np.cumsum(_settled(sizes, x.shape[axis]))[:-1], int(axis))
    ),
)


def _settled(sizes: Any, total: int) -> Any:
    return np.where(sizes == -1, total - sizes.sum() - 1, sizes)


# -- parts

add(
    "Slice",
    lambda v: case(v(3, 4), i32(1, 0), i32(2, 3)),
    lambda v: case(v(3, 4), i64(0, 1), i64(-1, -1)),
    lambda v: case(v(), i32(), i32()),
    lambda v: case(v(3), i32(3), i32(-1)),
    lambda v: case(v(0, 3), i32(0, 1), i32(0, 2)),
    reference=lambda x, begin, size: x[
        tuple(
            slice(b, n if s == -1 else b + s) for b, s, n in zip(begin, size, x.shape, strict=True)
        )
    ],
)

_STRIDED: list[tuple[tuple[int, ...], Any, dict[str, int], Any]] = [
    ((3, 4), ((1, 0), (3, 4), (1, 2)), {}, np.s_[1:3, 0:4:2]),
    ((3, 4), ((0, -1), (0, -4), (1, -1)), {"begin_mask": 1, "end_mask": 1}, np.s_[:, -1:-4:-1]),
    (
        (2, 3, 4),
        ((0, 1, 0), (0, 2, 0), (1, 1, 1)),
        {"ellipsis_mask": 1, "shrink_axis_mask": 2, "new_axis_mask": 4},
        np.s_[..., 1, None],
    ),
    ((3,), ((-1,), (0,), (1,)), {"shrink_axis_mask": 1}, np.s_[-1]),
    ((), ((), (), ()), {}, np.s_[...]),
    ((0, 3), ((0, 1), (5, 3), (1, 1)), {}, np.s_[0:5, 1:3]),
    ((3,), ((2,), (1,), (1,)), {}, np.s_[2:1]),
    ((4,), ((1,), (-1,), (1,)), {}, np.s_[1:-1]),
    ((4,), ((-1,), (0,), (-2,)), {}, np.s_[-1:0:-2]),
]


def _vectors(entries: Any) -> list[Any]:
    return [np.array(entrie, np.int32) for entrie in entries]


def _index_of(begin: Any, end: Any, strides: Any) -> Any:
    """Return the index that these vectors stand for in the samples."""
    wanted = [tuple(array.tolist()) for array in (begin, end, strides)]
    return next(index for _, entries, _, index in _STRIDED if [*map(tuple, entries)] == wanted)


def _put(shape: Any, begin: Any, end: Any, strides: Any, dy: Any, **_: Any) -> Any:
    result = np.full(tuple(shape), b"" if dy.dtype == object else 0, dy.dtype)
    result[_index_of(begin, end, strides)] = dy
    return result


add(
    "StridedSlice",
    *(
        lambda v, shape=shape, entries=entries, masks=masks: case(
            v(*shape), *_vectors(entries), **masks
        )
        for shape, entries, masks, _ in _STRIDED
    ),
    reference=lambda x, begin, end, strides, **_: x[_index_of(begin, end, strides)],
)
add(
    "StridedSliceGrad",
    *(
        lambda v, shape=shape, entries=entries, masks=masks, index=index: case(
            np.array(shape, np.int32), *_vectors(entries), v(*np.zeros(shape)[index].shape), **masks
        )
        for shape, entries, masks, index in _STRIDED
    ),
    reference=_put,
)

# -- gathers and scatters

add(
    "GatherV2",
    lambda v: case(v(4, 2), i32(3, 0, 0), np.array(0, np.int32)),
    lambda v: case(v(2, 3), np.array([[2, 1], [0, 2]]), np.array(-1)),
    lambda v: case(v(4), np.array(2), np.array(0, np.int32)),
    lambda v: case(v(2, 1, 3), i64(0), np.array(1, np.int32)),
    lambda v: case(v(4, 2), i32(), np.array(0, np.int32)),
    lambda v: case(v(0, 2), i32(1), np.array(1, np.int32)),
    lambda v: case(v(2, 3), np.array([[2, 0], [1, 1]]), np.array(1), batch_dims=1),
    reference=lambda x, at, axis, batch_dims=0: (
        np.take(x, at, int(axis))
        if not batch_dims
        else np.stack([row[where] for row, where in zip(x, at, strict=True)])
    ),
)
add(
    "GatherNd",
    lambda v: case(v(3, 2), np.array([[2], [0]], np.int32)),
    lambda v: case(v(2, 3), np.array([[[1, 2]], [[0, 0]]])),
    lambda v: case(v(3), i64(1)),
    lambda v: case(v(2, 3), np.zeros((2, 0), np.int32)),
    lambda v: case(v(2, 3), np.zeros((0, 2), np.int32)),
    reference=lambda x, at: (
        x[tuple(np.moveaxis(at, -1, 0))]
        if at.shape[-1]
        else np.broadcast_to(x, at.shape[:-1] + x.shape)
    ),
)


def _scatter(index: Any, updates: Any, shape: Any) -> Any:
    result = np.zeros(tuple(shape), updates.dtype)
    np.add.at(result, tuple(np.moveaxis(index, -1, 0)), updates)
    return result


add(
    "ScatterNd",
    lambda v: case(np.array([[2], [0], [2]], np.int32), v(3, 2), i32(4, 2)),
    lambda v: case(np.array([[1, 2], [0, 0]]), v(2), i64(2, 3)),
    lambda v: case(i64(1), v(), i64(3)),
    lambda v: case(np.zeros((0, 1), np.int32), v(0, 2), i32(3, 2)),
    types=representatives(dtypes.NUMERIC),
    reference=_scatter,
)


def _stitched(indices: Any, data: Any) -> Any:
    size = max((int(index.max(initial=-1)) for index in indices), default=-1) + 1
    rest = data[0].shape[indices[0].ndim :]
    result = np.full((size, *rest), b"" if data[0].dtype == object else 0, data[0].dtype)
    for index, part in zip(indices, data, strict=True):
        result[index.reshape(-1)] = part.reshape(-1, *rest)
    return result


add(
    "DynamicStitch",
    lambda v: case([i32(0, 3), i32(2)], [v(2, 2), v(1, 2)]),
    lambda v: case([np.array([[1], [0]], np.int32), np.array(2, np.int32)], [v(2, 1), v()]),
    lambda v: case([i32(1, 0), i32(1)], [v(2), v(1)], smooth=False),  # a value that is lost
    lambda v: case([i32()], [v(0, 3)]),
    types=representatives(dtypes.ALL),
    reference=_stitched,
)
add(
    "ParallelDynamicStitch",
    lambda v: case([i32(0, 3), i32(2)], [v(2, 2), v(1, 2)]),
    lambda v: case([i32(1), i32(0)], [v(1), v(1)]),
    lambda v: case([i32()], [v(0, 3)]),
    types=representatives(dtypes.ALL),
    reference=_stitched,
)
add(
    "DynamicPartition",
    lambda v: case(v(4, 2), i32(1, 0, 1, 2), num_partitions=4),
    lambda v: case(v(2, 2), np.array([[0, 1], [1, 0]], np.int32), num_partitions=2),
    lambda v: case(v(), np.array(1, np.int32), num_partitions=2),
    lambda v: case(v(0, 3), i32(), num_partitions=1),
    types=representatives(dtypes.ALL),
    reference=lambda data, parts, num_partitions: tuple(
        data[parts == index] for index in range(num_partitions)
    ),
)

# -- paddings

_PAIRS = np.array([[1, 0], [2, 1]], np.int32)
_NO_PAIRS = np.zeros((0, 2), np.int32)


def _padded(x: Any, pairs: Any, value: Any = None) -> Any:
    if value is None:
        value = b"" if x.dtype == object else 0
    result = np.full([n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True)], value, x.dtype)
    result[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, pairs, strict=True))] = x
    return result


add(
    "Pad",
    lambda v: case(v(2, 3), _PAIRS),
    lambda v: case(v(0, 1), _PAIRS.astype(np.int64)),
    lambda v: case(v(), _NO_PAIRS),
    reference=_padded,
)
add(
    "PadV2",
    lambda v: case(v(2, 3), _PAIRS, v()),
    lambda v: case(v(0, 1), _PAIRS.astype(np.int64), v()),
    lambda v: case(v(), _NO_PAIRS, v()),
    reference=_padded,
)


def _mirrored(x: Any, pairs: Any, mode: str) -> Any:
    return np.pad(x, pairs, mode.lower()) if x.ndim else x


def _mirrored_back(dy: Any, pairs: Any, mode: str) -> Any:
    sizes = [n - a - b for n, (a, b) in zip(dy.shape, pairs, strict=True)]
    places = _mirrored(np.arange(int(np.prod(sizes))).reshape(sizes), pairs, mode)
    result = np.zeros(int(np.prod(sizes)), dy.dtype)
    np.add.at(result, places.reshape(-1), dy.reshape(-1))
    return result.reshape(sizes)


_MIRRORS: list[Any] = [
    lambda v: case(v(2, 3), _PAIRS, mode="REFLECT"),
    lambda v: case(v(2, 3), _PAIRS, mode="SYMMETRIC"),
    lambda v: case(v(3), np.array([[2, 2]]), mode="REFLECT"),
    lambda v: case(v(), _NO_PAIRS, mode="SYMMETRIC"),
    lambda v: case(v(0, 3), np.array([[0, 0], [1, 2]], np.int32), mode="SYMMETRIC"),
]
add("MirrorPad", *_MIRRORS, reference=_mirrored)
add(
    "MirrorPadGrad",
    lambda v: case(v(3, 6), _PAIRS, mode="REFLECT"),
    lambda v: case(v(3, 6), _PAIRS, mode="SYMMETRIC"),
    lambda v: case(v(7), np.array([[2, 2]]), mode="REFLECT"),
    lambda v: case(v(), _NO_PAIRS, mode="SYMMETRIC"),
    lambda v: case(v(0, 6), np.array([[0, 0], [1, 2]], np.int32), mode="SYMMETRIC"),
    reference=_mirrored_back,
)

add(
    "_Lengths",
    lambda v: case(i32(3, 0, 5), N=3),
    lambda v: case(np.array(2, np.int64), N=1),
    reference=lambda x, N: tuple(np.empty((size, 0), np.uint8) for size in np.ravel(x)),
)

add(
    "_SliceAt",
    lambda v: case(v(3, 2), i32(1), axis=0),
    lambda v: case(v(2, 3, 2), np.array([0, -1], np.int64), axis=1),
    lambda v: case(v(2, 0), i32(1), axis=0),
    types=(dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.bool),
    reference=lambda x, begin, axis: np.take(x, begin[axis], axis),
)
