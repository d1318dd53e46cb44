"""Samples of the ops on sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case, i32, i64, representatives

__all__ = ["ROWS"]

ROWS = np.array([[0, 1], [1, 0], [1, 2], [3, 2]], np.int64)
"""The places of the elements in most samples, whose shape is SHAPE."""
SHAPE = i64(4, 3)
NOWHERE = np.zeros((0, 2), np.int64)
CUBE = np.array([[0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 1, 1]], np.int64)
MATMUL_TYPES = representatives(
    (
        *(dtypes.float64, dtypes.float32, dtypes.float16, dtypes.bfloat16),
        *(dtypes.int32, dtypes.complex64),
    )
)
FLOATS = representatives((dtypes.float64, dtypes.float32))


def _whole(indices: Any, values: Any, shape: Any, default: Any = 0) -> Any:
    out = np.full(tuple(shape), default, values.dtype)
    out[tuple(np.asarray(indices).T)] = values if out.ndim else values[0]
    return out


def _to_dense(indices: Any, shape: Any, values: Any, default: Any, **_: Any) -> Any:
    rows = indices if indices.ndim == 2 else indices.reshape(-1, 1)
    return _whole(rows, np.broadcast_to(values, rows.shape[:1]), shape, default)


add(
    "SparseToDense",
    lambda v: case(ROWS, SHAPE, v(4), v()),
    lambda v: case(i32(1, 3), i32(5), v(2), v()),
    lambda v: case(np.array(2), i64(5), v(), v()),
    lambda v: case(i64(1, 3), i64(5), v(), v()),
    lambda v: case(ROWS[::-1].copy(), SHAPE, v(4), v(), validate_indices=False),
    lambda v: case(NOWHERE, i64(0, 3), v(0), v()),
    types=representatives(dtypes.ALL),
    reference=_to_dense,
)


def _turned(x: Any, turn: bool) -> Any:
    return np.conj(x.T) if turn else x


add(
    "SparseTensorDenseMatMul",
    lambda v: case(ROWS, v(4), SHAPE, v(3, 2)),
    lambda v: case(ROWS, v(4), SHAPE, v(4, 2), adjoint_a=True),
    lambda v: case(ROWS.astype(np.int32), v(4), SHAPE, v(2, 3), adjoint_b=True),
    lambda v: case(ROWS, v(4), SHAPE, v(1, 4), adjoint_a=True, adjoint_b=True),
    lambda v: case(NOWHERE, v(0), SHAPE, v(3, 2)),
    reference=lambda rows, values, shape, b, adjoint_a=False, adjoint_b=False: (
        _turned(_whole(rows, values, shape), adjoint_a) @ _turned(b, adjoint_b)
    ),
    types=MATMUL_TYPES,
)
add(
    "SparseTensorDenseAdd",
    lambda v: case(ROWS, v(4), SHAPE, v(4, 3)),
    lambda v: case(ROWS.astype(np.int32), v(4), SHAPE.astype(np.int32), v(4, 3)),
    lambda v: case(NOWHERE, v(0), i64(0, 3), v(0, 3)),
    reference=lambda rows, values, shape, b: _whole(rows, values, shape) + b,
    types=representatives(dtypes.NUMERIC),
)


def _at(rows: Any, shape: Any, dense: Any) -> Any:
    return np.broadcast_to(dense, tuple(shape))[tuple(rows.T)]


def _c_quotient(x: Any, y: Any) -> Any:
    return np.trunc(x / y).astype(x.dtype) if x.dtype.kind in "iu" else x / y


for _name, _function in (
    ("SparseDenseCwiseMul", np.multiply),
    ("SparseDenseCwiseDiv", _c_quotient),
    ("SparseDenseCwiseAdd", np.add),
):
    add(
        _name,
        lambda v: case(ROWS, v(4), SHAPE, v(4, 3)),
        lambda v: case(ROWS, v(4), SHAPE, v(3)),
        lambda v: case(ROWS, v(4), SHAPE, v(4, 1)),
        lambda v: case(ROWS, v(4), SHAPE, v()),
        lambda v: case(NOWHERE, v(0), SHAPE, v(1, 3)),
        reference=lambda rows, x, shape, y, f=_function: f(x, _at(rows, shape, y)).astype(x.dtype),
        types=representatives(dtypes.NUMERIC),
    )

# -- moved

_MIXED = np.array([3, 0, 2, 1])


def _reorder(rows: Any, values: Any, shape: Any) -> Any:
    order = np.lexsort(rows.T[::-1])
    return rows[order], values[order]


add(
    "SparseReorder",
    lambda v: case(ROWS[_MIXED], v(4), SHAPE),
    lambda v: case(ROWS, v(4), SHAPE),
    lambda v: case(NOWHERE, v(0), SHAPE),
    types=representatives(dtypes.ALL),
    reference=_reorder,
)


def _reshape(rows: Any, shape: Any, wanted: Any) -> Any:
    numbers = np.ravel_multi_index(tuple(rows.T), tuple(shape)) if len(rows) else np.zeros(0, int)
    sizes = np.zeros(tuple(shape)).reshape(tuple(wanted)).shape
    places = (
        np.stack(np.unravel_index(numbers, sizes), 1) if len(rows) else np.zeros((0, len(sizes)))
    )
    return places.astype(np.int64), np.array(sizes, np.int64)


add(
    "SparseReshape",
    lambda v: case(ROWS, SHAPE, i64(2, -1, 3)),
    lambda v: case(ROWS, SHAPE, i64(12)),
    lambda v: case(NOWHERE, SHAPE, i64(6, 2)),
    reference=_reshape,
)


def _slice(rows: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
    last = np.minimum(start + size, shape)
    inside = ((rows >= start) & (rows < last)).all(1)
    return rows[inside] - start, values[inside], last - start


add(
    "SparseSlice",
    lambda v: case(ROWS, v(4), SHAPE, i64(1, 0), i64(3, 2)),
    lambda v: case(ROWS, v(4), SHAPE, i64(0, 1), i64(2, 9)),
    lambda v: case(NOWHERE, v(0), SHAPE, i64(0, 0), i64(1, 1)),
    types=representatives(dtypes.ALL),
    reference=_slice,
)
_TAKEN = np.array([[0, 0], [0, 2]], np.int64)
add(
    "SparseSliceGrad",
    lambda v: case(v(2), ROWS, i64(1, 0), _TAKEN),
    lambda v: case(v(0), NOWHERE, i64(1, 0), NOWHERE),
    types=representatives(dtypes.NUMERIC),
    reference=lambda grads, rows, start, places: np.array(
        [
            sum(
                (g for g, place in zip(grads, places) if (place + start == row).all()),
                grads.dtype.type(0),
            )
            for row in rows
        ],
        grads.dtype,
    ),
)


def _concat(indices: Any, values: Any, shapes: Any, concat_dim: int) -> Any:
    moved, begin = [], 0
    for rows, shape in zip(indices, shapes):
        step = np.zeros_like(shape)
        step[concat_dim] = begin
        moved.append(rows + step)
        begin += shape[concat_dim]
    whole = shapes[0].copy()
    whole[concat_dim] = begin
    return (*_reorder(np.concatenate(moved), np.concatenate(values), whole), whole)


add(
    "SparseConcat",
    lambda v: case([ROWS, ROWS[:2]], [v(4), v(2)], [SHAPE, SHAPE], concat_dim=1),
    lambda v: case([ROWS, ROWS[:2]], [v(4), v(2)], [SHAPE, i64(2, 3)], concat_dim=0),
    lambda v: case([ROWS, NOWHERE], [v(4), v(0)], [SHAPE, i64(4, 1)], concat_dim=-1),
    types=representatives(dtypes.ALL),
    reference=_concat,
)


def _split(axis: Any, rows: Any, values: Any, shape: Any, num_split: int) -> Any:
    parts: Any = ([], [], [])
    begin = 0
    for block in np.array_split(np.arange(shape[int(axis)]), num_split):
        inside = np.isin(rows[:, int(axis)], block)
        step, sizes = np.zeros_like(shape), shape.copy()
        step[int(axis)], sizes[int(axis)] = begin, len(block)
        for part, array in zip(parts, (rows[inside] - step, values[inside], sizes)):
            part.append(array)
        begin += len(block)
    return [array for part in parts for array in part]


add(
    "SparseSplit",
    lambda v: case(np.array(0), ROWS, v(4), SHAPE, num_split=3),
    lambda v: case(np.array(-1), ROWS, v(4), SHAPE, num_split=2),
    lambda v: case(np.array(1), NOWHERE, v(0), SHAPE, num_split=1),
    types=representatives(dtypes.ALL),
    reference=_split,
)


def _fill(rows: Any, values: Any, shape: Any, default: Any) -> Any:
    rows_out, filled, where = [], [], []
    for row in range(shape[0]):
        mine = [number for number in range(len(rows)) if rows[number, 0] == row]
        rows_out += [rows[number] for number in mine] or [np.eye(1, len(shape), dtype=int)[0] * row]
        filled += [values[number] for number in mine] or [default]
        where += [len(rows_out) - len(mine) + number for number in range(len(mine))]
    empty = ~np.isin(np.arange(shape[0]), rows[:, 0])
    indices = np.array(rows_out, np.int64).reshape(-1, len(shape))
    return indices, np.array(filled, values.dtype), empty, np.array(where, np.int64)


add(
    "SparseFillEmptyRows",
    lambda v: case(ROWS, v(4), SHAPE, v()),
    lambda v: case(ROWS[:3], v(3), i64(2, 3), v()),
    lambda v: case(NOWHERE, v(0), i64(2, 3), v()),
    types=representatives(dtypes.ALL),
    reference=_fill,
)
add(
    "SparseFillEmptyRowsGrad",
    lambda v: case(i64(0, 2, 3), v(5)),
    lambda v: case(i64(), v(2)),
    lambda v: case(i64(), v(0)),
    types=representatives(dtypes.NUMERIC),
    reference=lambda where, grads: (grads[where], np.delete(grads, where).sum(dtype=grads.dtype)),
)

# -- two of them

_OTHER = np.array([[0, 1], [2, 2]], np.int64)


def _joined(function: Any, a: Any, b: Any, shape: Any) -> tuple[Any, Any]:
    places = np.array(sorted({tuple(row) for row in [*a[0].tolist(), *b[0].tolist()]}), np.int64)
    places = places.reshape(-1, len(shape))
    dense = function(_whole(*a, shape), _whole(*b, shape))
    return places, dense[tuple(places.T)]


def _add(ai: Any, av: Any, shape: Any, bi: Any, bv: Any, _: Any, least: Any) -> Any:
    places, sums = _joined(np.add, (ai, av), (bi, bv), shape)
    both = _joined(np.multiply, (ai, av * 0 + 1), (bi, bv * 0 + 1), shape)[1] != 0
    kept = ~both | (np.abs(sums) >= least)
    return places[kept], sums[kept], shape


def _real(v: Any, value: float) -> Any:
    kind = np.dtype(v.dtype.as_numpy_dtype)
    return np.array(value, kind.char.lower() if kind.kind == "c" else kind)


add(
    "SparseAdd",
    lambda v: case(ROWS, v(4), SHAPE, _OTHER, v(2), SHAPE, _real(v, 0)),
    lambda v: case(ROWS, v(4), SHAPE, _OTHER, v(2), SHAPE, _real(v, 9)),
    lambda v: case(NOWHERE, v(0), SHAPE, _OTHER, v(2), SHAPE, _real(v, 0)),
    types=representatives(dtypes.NUMERIC),
    reference=_add,
)


def _grads(grads: Any, total: Any, rows: Any) -> Any:
    where = {tuple(row): grad for row, grad in zip(total.tolist(), grads)}
    values = [where.get(tuple(row), grads.dtype.type(0)) for row in rows.tolist()]
    return np.array(values, grads.dtype)


_SUM = np.array([[0, 1], [1, 0], [2, 2], [3, 2]], np.int64)
add(
    "SparseAddGrad",
    lambda v: case(v(4), ROWS, _OTHER, _SUM),
    lambda v: case(v(0), NOWHERE, NOWHERE, NOWHERE),
    types=representatives(dtypes.NUMERIC),
    reference=lambda grads, a, b, total: (_grads(grads, total, a), _grads(grads, total, b)),
)
for _name, _function in (("Maximum", np.maximum), ("Minimum", np.minimum)):
    add(
        f"SparseSparse{_name}",
        lambda v: case(ROWS, v(4), SHAPE, _OTHER, v(2), SHAPE),
        lambda v: case(NOWHERE, v(0), SHAPE, _OTHER, v(2), SHAPE),
        types=representatives(dtypes.REAL),
        reference=lambda ai, av, shape, bi, bv, _, f=_function: _joined(
            f, (ai, av), (bi, bv), shape
        ),
    )

# -- reductions


def _reduced(
    function: Any, rows: Any, values: Any, shape: Any, axes: Any, keep_dims: bool = False
) -> tuple[Any, Any, Any]:
    """Return the groups that have elements, the combined value of each, and the result's shape."""
    chosen = {int(axis) % len(shape) for axis in np.ravel(axes)}
    sums: dict[Any, Any] = {}
    for row, value in zip(rows.tolist(), values):
        key = tuple(
            0 if axis in chosen else n
            for axis, n in enumerate(row)
            if keep_dims or axis not in chosen
        )
        sums[key] = function(sums[key], value) if key in sums else value
    sizes = [
        1 if axis in chosen else n
        for axis, n in enumerate(shape)
        if keep_dims or axis not in chosen
    ]
    keys = sorted(sums)
    places = np.array(keys, np.int64).reshape(len(keys), len(sizes))
    return places, np.array([sums[key] for key in keys], values.dtype), np.array(sizes, np.int64)


def _reduced_dense(function: Any, *inputs: Any, **attrs: Any) -> Any:
    places, values, sizes = _reduced(function, *inputs, **attrs)
    return _whole(places, values, sizes)


_REDUCED: list[Any] = [
    lambda v: case(ROWS, v(4), SHAPE, i32(1)),
    lambda v: case(CUBE, v(4), i64(2, 2, 2), i32(0, -1)),
    lambda v: case(CUBE, v(4), i64(2, 2, 2), i32(2), keep_dims=True),
    lambda v: case(ROWS, v(4), SHAPE, i32()),
    lambda v: case(ROWS, v(4), SHAPE, np.array(0, np.int32)),
    lambda v: case(NOWHERE, v(0), SHAPE, i32(0)),
]
for _name, _function, _kinds in (("Sum", np.add, dtypes.NUMERIC), ("Max", np.maximum, dtypes.REAL)):
    add(
        f"SparseReduce{_name}",
        *_REDUCED,
        types=representatives(_kinds),
        reference=lambda *inputs, f=_function, **attrs: _reduced_dense(f, *inputs, **attrs),
    )
    add(
        f"SparseReduce{_name}Sparse",
        *_REDUCED,
        types=representatives(_kinds),
        reference=lambda *inputs, f=_function, **attrs: _reduced(f, *inputs, **attrs),
    )


def _softmax(rows: Any, values: Any, shape: Any) -> Any:
    out = np.zeros_like(values)
    for number, row in enumerate(rows):
        mine = (rows[:, :-1] == row[:-1]).all(1)
        out[number] = np.exp(values[number]) / np.exp(values[mine]).sum()
    return out


add(
    "SparseSoftmax",
    lambda v: case(ROWS, v(4), SHAPE),
    lambda v: case(CUBE, v(4), i64(2, 2, 2)),
    lambda v: case(NOWHERE, v(0), SHAPE),
    types=FLOATS,
    reference=_softmax,
)

# -- segments

_PICKED, _IDS = i32(2, 0, 3, 2, 1), i32(0, 0, 2, 2, 3)


def _segments(kind: str, data: Any, indices: Any, ids: Any, count: Any = None) -> Any:
    rows = int(count) if count is not None else int(ids[-1]) + 1 if len(ids) else 0
    out = np.zeros((rows, *data.shape[1:]), data.dtype)
    for row in range(rows):
        mine = data[indices[ids == row]]
        total = mine.sum(0, dtype=data.dtype)
        scale = {"Sum": 1, "Mean": len(mine), "SqrtN": np.sqrt(len(mine))}[kind]
        out[row] = total / scale if len(mine) and kind != "Sum" else total
    return out


def _segments_grad(kind: str, grads: Any, indices: Any, ids: Any, count: Any) -> Any:
    out = np.zeros((int(count), *grads.shape[1:]), grads.dtype)
    for index, row in zip(indices, ids):
        members = (ids == row).sum()
        out[index] += grads[row] / (members if kind == "Mean" else np.sqrt(members))
    return out


for _kind in ("Sum", "Mean", "SqrtN"):
    add(
        f"SparseSegment{_kind}",
        lambda v: case(v(4, 2), _PICKED, _IDS),
        lambda v: case(v(4), _PICKED.astype(np.int64), _IDS),
        lambda v: case(v(4, 2), i32(), i32()),
        reference=lambda *inputs, kind=_kind: _segments(kind, *inputs),
    )
    add(
        f"SparseSegment{_kind}WithNumSegments",
        lambda v: case(v(4, 2), _PICKED, _IDS, np.array(5, np.int32)),
        lambda v: case(v(4), _PICKED, _IDS, np.array(4)),
        lambda v: case(v(4, 2), i32(), i32(), np.array(2, np.int32)),
        reference=lambda *inputs, kind=_kind: _segments(kind, *inputs),
    )
for _kind in ("Mean", "SqrtN"):
    add(
        f"SparseSegment{_kind}Grad",
        lambda v: case(v(4, 2), _PICKED, _IDS, np.array(4, np.int32)),
        lambda v: case(v(4), _PICKED.astype(np.int64), _IDS, np.array(6, np.int32)),
        lambda v: case(v(4, 2), i32(), i32(), np.array(3, np.int32)),
        reference=lambda *inputs, kind=_kind: _segments_grad(kind, *inputs),
    )
