"""Samples of segments, scattered updates, orders, sets, histograms, grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case, i32, i64, representatives

__all__ = ["COMBINED"]

DATA = representatives(dtypes.ALL)


def _of(v: Any, *numbers: int) -> Any:
    return np.array(numbers, v.dtype.as_numpy_dtype)


# -- choice

_TF = np.array([True, False])
add(
    "SelectV2",
    lambda v: case(np.array([[True, False, True], [False, False, True]]), v(2, 3), v(2, 3)),
    lambda v: case(_TF, v(3, 2), v(2)),
    lambda v: case(_TF[:, None], v(3), v()),
    lambda v: case(_TF[0], v(2, 3), v(1, 3)),
    lambda v: case(_TF[:0], v(3, 1), v(0)),
    types=DATA,
    reference=np.where,
)

# -- segments

COMBINED: dict[str, Any] = {
    "Sum": lambda part: part.sum(0, dtype=part.dtype),
    "Prod": lambda part: part.prod(0, dtype=part.dtype),
    "Max": lambda part: part.max(0),
    "Min": lambda part: part.min(0),
    "Mean": lambda part: _mean(part),
}


def _mean(part: Any) -> Any:
    if part.dtype.kind in "iu":
        return np.trunc(part.sum(0, dtype=part.dtype) / len(part)).astype(part.dtype)
    return part.mean(0)


def _segments(combine: Any, empty: Any) -> Any:
    def reference(x: Any, ids: Any, count: Any = None) -> Any:
        number = (int(ids[-1]) + 1 if ids.size else 0) if count is None else int(count)
        parts = [x[ids == item] for item in range(number)]
        rest = x.shape[ids.ndim :]
        rows = [
            combine(part) if len(part) else np.full(rest, empty(x.dtype), x.dtype) for part in parts
        ]
        return np.array(rows, x.dtype).reshape(number, *rest)

    return reference


def _empty(name: str) -> Any:
    if name == "Prod":
        return lambda _: 1
    if name not in ("Max", "Min"):
        return lambda _: 0
    which = "min" if name == "Max" else "max"

    def limit(dtype: Any) -> Any:
        if dtype.kind != "f":
            return getattr(np.iinfo(dtype), which)
        return getattr(np.finfo(dtype), which)

    return limit


def _zeros(v: Any, *shape: int) -> Any:
    x = np.array(v(*shape))
    x.reshape(-1)[::3] = 0
    return x


for _name in ("Sum", "Prod", "Max", "Min", "Mean"):
    add(
        f"Segment{_name}",
        lambda v: case(v(5, 2), i32(0, 0, 2, 2, 2)),
        lambda v: case(v(3), i64(1, 1, 3)),
        lambda v: case(v(4, 1, 2), i32(0, 1, 2, 3)),
        lambda v: case(v(0, 3), i64()),
        reference=_segments(COMBINED[_name], (lambda _: 1) if _name == "Prod" else (lambda _: 0)),
        tolerance=4,
    )
    if _name in ("Sum", "Mean"):
        continue
    add(
        f"UnsortedSegment{_name}",
        lambda v: case(v(4, 2), i32(1, 0, -1, 1), np.array(2, np.int32)),
        lambda v: case(v(2, 3), np.array([[0, 1, 1], [2, 2, 0]]), np.array(3)),
        lambda v: case(v(), np.array(0, np.int32), np.array(1, np.int32)),
        lambda v: case(v(3), i32(3, 3, 0), np.array(4, np.int32), smooth=False),
        lambda v: case(v(0, 3), i64(), np.array(2), smooth=False),
        reference=_segments(COMBINED[_name], _empty(_name)),
        tolerance=4,
        exact=_name != "Prod",
    )
add(
    "UnsortedSegmentProd",
    lambda v: case(_zeros(v, 5), i32(1, 0, 1, 0, 0), np.array(2, np.int32)),
    lambda v: case(_zeros(v, 5), i32(1, 0, 1, 1, 0), np.array(2, np.int32), smooth=False),
    types=[dtypes.float64],
    reference=_segments(COMBINED["Prod"], lambda _: 1),
    tolerance=4,
)

# -- tensors with some parts replaced


def _scattered(combine: Any) -> Any:
    def reference(tensor: Any, index: Any, updates: Any) -> Any:
        result = tensor.copy()
        for place in np.ndindex(index.shape[:-1]):
            where = tuple(index[place])
            result[where] = combine(result[where], updates[place])
        return result

    return reference


_COMBINED: dict[str, Any] = {
    "Update": lambda old, new: new,
    "Add": np.add,
    "Sub": np.subtract,
    "Max": np.maximum,
    "Min": np.minimum,
}
for _name, _combine in _COMBINED.items():
    add(
        f"TensorScatter{_name}",
        lambda v: case(v(4, 2), np.array([[2], [0]], np.int32), v(2, 2)),
        lambda v: case(v(2, 3), np.array([[1, 2], [0, 0]]), v(2)),
        lambda v: case(v(3), i64(1), v()),
        lambda v: case(v(3, 2), np.array([[1], [1]]), v(2, 2), smooth=False),
        lambda v: case(v(3, 2), np.zeros((0, 1), np.int32), v(0, 2)),
        types=DATA if _name == "Update" else None,
        reference=_scattered(_combine),
    )

# -- orders

add(
    "Roll",
    lambda v: case(v(4, 3), np.array(1, np.int32), np.array(0, np.int32)),
    lambda v: case(v(2, 5), i32(-3, 1), i32(1, 0)),
    lambda v: case(v(5), i64(2, 1), i64(0, -1)),
    lambda v: case(v(2, 3), i32(4, 3), i32(0, 1)),
    lambda v: case(v(0, 3), i32(1), i32(0)),
    types=DATA,
    reference=lambda x, shift, axis: np.roll(
        x, tuple(np.ravel(shift).tolist()), tuple(np.ravel(axis).tolist())
    ),
)
add(
    "NthElement",
    lambda v: case(v(2, 5), np.array(1, np.int32)),
    lambda v: case(v(4), np.array(0, np.int32), reverse=True),
    lambda v: case(v(2, 1, 3), np.array(2, np.int32)),
    lambda v: case(v(0, 3), np.array(1, np.int32)),
    reference=lambda x, n, reverse=False: (
        np.sort(x, axis=-1)[..., ::-1] if reverse else np.sort(x, axis=-1)
    )[..., int(n)],
)
for _name, _side in (("LowerBound", "left"), ("UpperBound", "right")):
    add(
        _name,
        lambda v: case(np.sort(v(2, 5), axis=-1), v(2, 3)),
        lambda v: case(np.repeat(v(1, 2), 2, axis=-1), v(1, 2), out_type=dtypes.int64),
        lambda v: case(np.sort(v(1, 4), axis=-1), v(1, 0)),
        reference=lambda rows, values, out_type=dtypes.int32, side=_side: np.array(
            [np.searchsorted(row, each, side) for row, each in zip(rows, values, strict=True)],
            out_type.as_numpy_dtype,
        ).reshape(values.shape),
    )

# -- sets


def _difference(x: Any, y: Any, out_idx: Any = dtypes.int32) -> Any:
    kept = [index for index, item in enumerate(x.tolist()) if item not in y.tolist()]
    return x[kept], np.array(kept, out_idx.as_numpy_dtype)


def _counts(x: Any, out_idx: Any = dtypes.int32) -> Any:
    seen = list(dict.fromkeys(x.tolist()))
    where = [seen.index(item) for item in x.tolist()]
    counts = [x.tolist().count(item) for item in seen]
    kind = out_idx.as_numpy_dtype
    return np.array(seen, x.dtype).reshape(-1), np.array(where, kind), np.array(counts, kind)


def _some(v: Any, *places: int) -> Any:
    return v(6)[np.array(places, np.int64)]


add(
    "ListDiff",
    lambda v: case(x := v(6), x[np.array([3, 1])]),
    lambda v: case(_some(v, 0, 0, 1), v(2), out_idx=dtypes.int64),
    lambda v: case(v(3), v(0)),
    lambda v: case(v(0), v(2)),
    types=DATA,
    reference=_difference,
)
add(
    "UniqueWithCounts",
    lambda v: case(_some(v, 3, 0, 3, 5, 1, 0)),
    lambda v: case(v(0)),
    lambda v: case(_some(v, 1, 1, 0), out_idx=dtypes.int64),
    types=DATA,
    reference=_counts,
)

# -- histograms

_COUNTED = [dtypes.float64, dtypes.float32, dtypes.int32, dtypes.int64]
_SIZE = np.array(5, np.int32)


def _bincount(arr: Any, size: Any, weights: Any) -> Any:
    arr, weight = arr.reshape(-1), weights.reshape(-1)
    return np.array(
        [
            (weight[arr == index].sum() if weight.size else (arr == index).sum())
            for index in range(int(size))
        ],
        weights.dtype,
    )


add(
    "Bincount",
    lambda v: case(i32(1, 4, 1, 7), _SIZE, v(4)),
    lambda v: case(np.array([[1, 0], [1, 1]], np.int32), _SIZE, v(0)),
    lambda v: case(i32(), _SIZE, v(0)),
    lambda v: case(i32(), np.array(0, np.int32), v(0)),
    types=_COUNTED,
    reference=_bincount,
)


def _histogram(x: Any, limits: Any, count: Any, dtype: Any = dtypes.int32) -> Any:
    low, high = limits.tolist()
    places = [(item - low) * int(count) / (high - low) for item in x.reshape(-1).tolist()]
    index = np.clip(np.floor(np.array(places)), 0, int(count) - 1)
    return np.array([(index == item).sum() for item in range(int(count))], dtype.as_numpy_dtype)


def _limits(v: Any, low: float, high: float) -> Any:
    return np.array([low, high], v.dtype.as_numpy_dtype)


add(
    "HistogramFixedWidth",
    lambda v: case(v(2, 6), _limits(v, -1, 1), _SIZE),
    lambda v: case(v(7), _limits(v, 0, 10), np.array(3, np.int32), dtype=dtypes.int64),
    lambda v: case(v(0, 3), _limits(v, 0, 1), _SIZE),
    types=_COUNTED,
    reference=_histogram,
)
add(
    "Bucketize",
    lambda v: case(v(2, 3), boundaries=[-1.0, 0.0, 1.0]),
    lambda v: case(v(), boundaries=[]),
    lambda v: case(v(0, 3), boundaries=[2.0]),
    reference=lambda x, boundaries: np.array(
        [sum(each >= limit for limit in boundaries) for each in x.reshape(-1)], np.int32
    ).reshape(x.shape),
)

# -- grids and shapes

add(
    "UnravelIndex",
    lambda v: case(np.array([0, 5, 11], v.dtype.as_numpy_dtype), _of(v, 3, 4)),
    lambda v: case(_of(v, 7)[0], _of(v, 2, 2, 2)),
    lambda v: case(_of(v), _of(v, 3, 4)),
    reference=lambda at, dims: np.array(np.unravel_index(at, tuple(dims.tolist())), at.dtype),
)


add(
    "BroadcastArgs",
    lambda v: case(_of(v, 2, 3), _of(v, 1, 3)),
    lambda v: case(_of(v, 3), _of(v, 2, 1)),
    lambda v: case(_of(v), _of(v, 2)),
    lambda v: case(_of(v), _of(v)),
    reference=lambda a, b: np.array(
        np.broadcast_shapes(tuple(a.tolist()), tuple(b.tolist())), a.dtype
    ),
)


def _bits(x: Any, type: Any) -> Any:
    kind = np.dtype(type.as_numpy_dtype)
    if kind.itemsize == x.dtype.itemsize:
        return x.view(kind)
    if kind.itemsize < x.dtype.itemsize:
        return x.reshape(*x.shape, 1).view(kind)
    return np.ascontiguousarray(x).view(kind)[..., 0]


add(
    "Bitcast",
    lambda v: case(v(2, 3), type=dtypes.uint8),
    lambda v: case(v(2, 3), type=dtypes.int32 if v.dtype.size == 4 else dtypes.int64),
    lambda v: case(v(0, 3), type=dtypes.float16),
    lambda v: case(v(2, 16 // v.dtype.size), type=dtypes.complex128),
    types=[dtypes.float64, dtypes.float32, dtypes.int32, dtypes.float16, dtypes.complex64]
    + [dtypes.uint16, dtypes.bfloat16],
    reference=_bits,
    exact=True,
)


def _assigned(ref: Any, begin: Any, end: Any, strides: Any, value: Any, **masks: Any) -> Any:
    """Return the slice written, of keys without an ellipsis."""
    keys: list[Any] = []
    for index, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        start, stop = (
            None if masks.get(f"{side}_mask", 0) >> index & 1 else int(bound)
            for side, bound in (("begin", first), ("end", last))
        )
        if masks.get("new_axis_mask", 0) >> index & 1:
            keys.append(None)
        elif masks.get("shrink_axis_mask", 0) >> index & 1:
            keys.append(int(first))
        else:
            keys.append(slice(start, stop, int(step)))
    output = ref.copy()
    output[tuple(keys)] = value
    return output


add(
    "StridedSliceAssign",
    lambda v: case(v(5), i32(1), i32(4), i32(2), v(2)),
    lambda v: case(v(3, 4), i64(0, 3), i64(0, 0), i64(1, -2), v(3, 2), begin_mask=1, end_mask=1),
    lambda v: case(v(3, 4), i32(1, 0, 1), i32(2, 0, 3), i32(1, 1, 1), v(2), shrink_axis_mask=1,
                   new_axis_mask=2),
    lambda v: case(v(2, 3), i32(0), i32(2), i32(1), v()),
    lambda v: case(v(2, 3), i32(1), i32(1), i32(1), v(0, 3)),
    reference=_assigned,
)  # fmt: skip


# -- beams


def _walk_back(steps: Any, parents: Any, lengths: Any, end: Any) -> Any:
    beams = np.full_like(steps, end)
    for batch, beam in np.ndindex(*steps.shape[1:]):
        source = beam
        for time in range(min(len(steps), int(lengths[batch])) - 1, -1, -1):
            beams[time, batch, beam] = steps[time, batch, source]
            source = parents[time, batch, source]
        ends = np.flatnonzero(beams[:, batch, beam] == end)
        if ends.size:
            beams[ends[0] :, batch, beam] = end
    return beams


def _beams(v: Any, *shape: int) -> Any:
    count = np.prod(shape, dtype=int)
    return (np.arange(count) * 7 % 5).reshape(shape).astype(v.dtype.as_numpy_dtype)


add(
    "GatherTree",
    lambda v: case(_beams(v, 3, 2, 4), _beams(v, 3, 2, 4) % 4, i32(3, 2), _of(v, 4)[0]),
    lambda v: case(_beams(v, 2, 1, 1), _beams(v, 2, 1, 1) * 0, i32(0), _of(v, 9)[0]),
    lambda v: case(_beams(v, 0, 2, 3), _beams(v, 0, 2, 3), i32(0, 0), _of(v, 1)[0]),
    reference=_walk_back,
)
