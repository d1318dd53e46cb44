"""Comparison of results by two paths: the check of native code on its first use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

TOLERANCE = 1e-2
"""How far an element may be off, relative to the largest of its array: wrong code is further."""

NOISE = 1e-5
"""The same, relative to the largest number of all arrays: what is left of differences is noise."""

_PART = 1 << 16

SHARE = 0.25
"""The part of elements that may be off: a number next to a threshold may fall on its other side."""


def are_close(arrays: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether arrays have nearly the expected contents."""
    scale = max(map(_largest, expected), default=0.0)
    return all(_is_close(array, other, scale) for array, other in zip(arrays, expected))


def are_equal(arrays: Sequence[Any], expected: Sequence[Any], exactly: bool) -> bool:
    """Whether arrays have the expected contents: `exactly`, but for signs of zeros and bits of NaN;
    else nearly."""
    if any(array.shape != other.shape for array, other in zip(arrays, expected, strict=True)):
        return False
    if not exactly:
        return are_close(arrays, expected)
    return all(
        bool(np.all((a == b) | ((a != a) & (b != b))))
        for array, other in zip(arrays, expected)
        for a, b in zip(_parts(array), _parts(other))
    )


def _largest(array: Any) -> float:
    """The largest finite number, without its sign."""
    if array.dtype.kind not in "fiu":
        return 0.0
    largest = 0.0
    for part in _parts(array):
        finite = part[np.isfinite(part)]
        if finite.size:
            largest = max(largest, float(finite.max()), -float(finite.min()))
    return largest


def _is_close(array: Any, expected: Any, scale: float) -> bool:
    limit = TOLERANCE * _largest(expected) + NOISE * scale
    num_wrong = sum(_num_wrong(a, b, limit) for a, b in zip(_parts(array), _parts(expected)))
    return bool(num_wrong <= SHARE * array.size)


def _num_wrong(array: Any, expected: Any, limit: float) -> int:
    """How many elements are too far off."""
    if array.dtype.kind not in "fiu":
        return int(np.count_nonzero(array != expected))
    finite = np.isfinite(expected)
    off = np.abs(array[finite].astype(np.float64) - expected[finite].astype(np.float64))
    return int(np.count_nonzero(~(off <= limit)))


def _parts(array: Any) -> Iterator[Any]:
    """The elements, part by part: a comparison takes little memory."""
    flat = array.reshape(-1)
    for start in range(0, flat.size, _PART):
        yield flat[start : start + _PART]
