"""Samples of sets, of fake quantization, and of ops that stand apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape
from gpugraph.ops.strings.hash_algorithms import farm_fingerprint

from .sampling import add, case, i64, representatives

__all__ = ["QUANTIZED"]

# -- sets

MEMBERS = representatives((dtypes.int32, dtypes.uint8, dtypes.string))
"""Dtypes that elements of sets may have."""


def _members(v: Any, *shape: int) -> Any:
    """Few different ones, so that sets have some in common."""
    x = v(*shape)
    return x if x.dtype == object else np.abs(x) % 4


def _sparse(v: Any) -> list[Any]:
    places = np.array([[0, 0], [0, 2], [2, 0], [2, 1], [2, 3]])
    return [places, _members(v, 5), i64(3, 4)]


def _rows(array: Any) -> list[Any]:
    return [set(row) for row in array.tolist()]


def _sparse_rows(indices: Any, values: Any, shape: Any) -> list[Any]:
    rows: list[Any] = [set() for _ in range(shape[0])]
    for (row, _), value in zip(indices.tolist(), values.tolist(), strict=True):
        rows[row].add(value)
    return rows


_COMBINE: dict[str, Any] = {
    "a-b": set.difference,
    "b-a": lambda a, b: b - a,
    "intersection": set.intersection,
    "union": set.union,
}


def _combined(ones: Any, others: Any, how: str, dtype: Any) -> Any:
    result = [sorted(_COMBINE[how](a, b)) for a, b in zip(ones, others, strict=True)]
    places = [(row, index) for row, members in enumerate(result) for index in range(len(members))]
    values = np.empty(len(places), dtype)
    values[:] = [member for members in result for member in members]
    longest = max(map(len, result), default=0)
    return np.array(places, np.int64).reshape(-1, 2), values, i64(len(result), longest)


def _operation(*arrays: Any, set_operation: str, validate_indices: bool = True) -> Any:
    if len(arrays) == 2:
        sets = [_rows(array) for array in arrays]
    elif len(arrays) == 4:
        sets = [_rows(arrays[0]), _sparse_rows(*arrays[1:])]
    else:
        sets = [_sparse_rows(*arrays[:3]), _sparse_rows(*arrays[3:])]
    return _combined(*sets, set_operation, arrays[0 if len(arrays) < 6 else 1].dtype)


for _how in _COMBINE:
    add(
        "DenseToDenseSetOperation",
        lambda v, h=_how: case(_members(v, 3, 2), _members(v, 3, 4), set_operation=h),
        lambda v, h=_how: case(_members(v, 2, 0), _members(v, 2, 2), set_operation=h),
        lambda v, h=_how: case(_members(v, 0, 2), _members(v, 0, 2), set_operation=h),
        reference=_operation,
    )
    add(
        "DenseToSparseSetOperation",
        lambda v, h=_how: case(_members(v, 3, 2), *_sparse(v), set_operation=h),
        lambda v, h=_how: case(_members(v, 3, 0), *_sparse(v), set_operation=h),
        reference=_operation,
    )
    add(
        "SparseToSparseSetOperation",
        lambda v, h=_how: case(*_sparse(v), *_sparse(v), set_operation=h),
        lambda v, h=_how: case(
            *_sparse(v), np.zeros((0, 2), np.int64), v(0), i64(3, 0), set_operation=h
        ),
        types=MEMBERS,
        reference=_operation,
    )
add(
    "SetSize",
    lambda v: case(*_sparse(v)),
    lambda v: case(np.zeros((0, 2), np.int64), v(0), i64(2, 0)),
    lambda v: case(np.array([[0, 1], [0, 0]]), _members(v, 2), i64(1, 2), validate_indices=False),
    types=MEMBERS,
    reference=lambda *parts, validate_indices=True: np.array(
        [len(each) for each in _sparse_rows(*parts)], np.int32
    ),
)

# -- fake quantization

QUANTIZED = {
    f"FakeQuantWithMinMax{kind}{end}"
    for kind in ("Args", "Vars", "VarsPerChannel")
    for end in ("", "Gradient")
}
"""Ops of float32 alone."""


def _range(least: Any, most: Any, num_bits: int, narrow_range: bool) -> Any:
    first, last = int(narrow_range), 2**num_bits - 1
    scale = (most - least) / (last - first)
    zero = np.clip(np.floor(first - least / scale + 0.5), first, last)
    return (first - zero) * scale, (last - zero) * scale, scale


def _quantized(
    x: Any, min: Any = -6.0, max: Any = 6.0, num_bits: int = 8, narrow_range: bool = False
) -> Any:
    low, high, scale = _range(min, max, num_bits, narrow_range)
    return np.floor((np.clip(x, low, high) - low) / scale + 0.5) * scale + low


def _beyond(
    dy: Any, x: Any, min: Any = -6.0, max: Any = 6.0, num_bits: int = 8, narrow_range: bool = False
) -> Any:
    low, high, _ = _range(min, max, num_bits, narrow_range)
    return dy * ((x >= low) & (x <= high)), dy * (x < low), dy * (x > high)


def _within(*value: Any, **attrs: Any) -> Any:
    return _beyond(*value, **attrs)[0]


def _gradients(*value: Any, **attrs: Any) -> Any:
    within, below, above = _beyond(*value, **attrs)
    axes = tuple(range(within.ndim - np.ndim(value[2])))
    return within, below.sum(axis=axes), above.sum(axis=axes)


_ENDS = {"min": -1.25, "max": 0.75}
_FEW = {"num_bits": 3, "narrow_range": True}
_LOW, _HIGH = np.float32(-1.25), np.float32(0.75)
_LOWS, _HIGHS = np.array([-1, 0.5, -2], np.float32), np.array([1.5, 1, -0.5], np.float32)
for _end, _before, _whole in (("", 0, _quantized), ("Gradient", 1, _gradients)):
    _args = f"FakeQuantWithMinMaxArgs{_end}"
    add(
        _args,
        lambda v, n=_before: case(*(v(2, 3) for _ in range(n + 1))),
        lambda v, n=_before: case(*(v(4, 5) for _ in range(n + 1)), **_ENDS, **_FEW),
        lambda v, n=_before: case(*(v(0, 3) for _ in range(n + 1))),
        reference=_quantized
        if not _before
        else lambda *given, **attrs: _beyond(*given, **attrs)[0],
    )
    add(
        f"FakeQuantWithMinMaxVars{_end}",
        lambda v, n=_before: case(*(v(2, 3) for _ in range(n + 1)), _LOW, _HIGH),
        lambda v, n=_before: case(*(v(4, 5) for _ in range(n + 1)), _LOW, _HIGH, **_FEW),
        lambda v, n=_before: case(*(v(0, 3) for _ in range(n + 1)), _LOW, _HIGH),
        reference=_whole,
    )
    add(
        f"FakeQuantWithMinMaxVarsPerChannel{_end}",
        lambda v, n=_before: case(*(v(4, 3) for _ in range(n + 1)), _LOWS, _HIGHS),
        lambda v, n=_before: case(*(v(3) for _ in range(n + 1)), _LOWS, _HIGHS, **_FEW),
        lambda v, n=_before: case(*(v(0, 3) for _ in range(n + 1)), _LOWS, _HIGHS),
        reference=_whole,
    )

# -- apart

add(
    "GuaranteeConst",
    lambda v: case(v(2, 3)),
    lambda v: case(v()),
    lambda v: case(v(0, 3)),
    types=representatives(ALL),
    reference=lambda x: x,
)
add(
    "ParallelConcat",
    lambda v: case([v(1, 3), v(1, 3)], shape=TensorShape([2, 3])),
    lambda v: case([v(1)], shape=TensorShape([1])),
    lambda v: case([v(1, 0), v(1, 0)], shape=TensorShape([2, 0])),
    types=representatives(ALL),
    reference=lambda values, shape: np.concatenate(values),
)
add("CountUpTo", lambda v: case(np.abs(v()), limit=10), reference=lambda ref, limit: ref + 1)


def _fingerprint(data: Any, _: Any) -> Any:
    rows = []
    for row in data:
        if data.dtype == object:
            row = b"".join(farm_fingerprint(item).to_bytes(8, "little") for item in row)
        else:
            row = row.tobytes()
        rows.append(list(farm_fingerprint(row).to_bytes(8, "little")))
    return np.array(rows, np.uint8).reshape(-1, 8)


add(
    "Fingerprint",
    lambda v: case(v(2, 3), np.array(b"farmhash64", object)),
    lambda v: case(v(0, 3), np.array(b"farmhash64", object)),
    types=representatives(ALL),
    reference=_fingerprint,
    exact=True,
)
