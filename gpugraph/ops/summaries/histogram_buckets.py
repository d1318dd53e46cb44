"""TensorFlow's histograms. The limits of the buckets grow by a factor of 1.1, from 1e-12 to 1e20.

For negative values, there are the same limits with the opposite sign.
"""

from __future__ import annotations

import functools
import itertools
import sys
from typing import Any, NamedTuple

import numpy as np

_SMALLEST, _LARGEST, _GROWTH = 1.0e-12, 1.0e20, 1.1
_END = sys.float_info.max
_CHUNK = 1 << 20


@functools.cache
def bucket_limits() -> Any:
    """Return the upper limits of the buckets in ascending order. A value that is equal to a limit
    belongs to the next bucket.
    """
    ends = []
    end = _SMALLEST
    while end < _LARGEST:
        ends.append(end)
        end *= _GROWTH
    ends.append(_END)
    limits = np.array([*(-end for end in reversed(ends)), 0.0, *ends])
    limits.flags.writeable = False
    return limits


class Histogram(NamedTuple):
    """Statistics of values (minimum, maximum, count, sum, sum of squares), and the upper limit and
    the count of each bucket.
    """

    statistics: tuple[float, float, float, float, float]
    limits: list[float]
    counts: list[float]


def histogram_of(values: Any) -> Histogram:
    """Return the histogram of a vector of finite float64 values.

    The values are added one after another, as in TensorFlow. If several consecutive buckets are
    empty, only the last of them is kept.
    """
    limits = bucket_limits()
    if not values.size:
        return Histogram((_END, -_END, 0.0, 0.0, 0.0), [_END], [0.0])
    ascending = np.sort(values)
    ends = np.searchsorted(ascending, limits)
    ends[-1] = values.size
    counts = np.diff(ends, prepend=0)
    squares = values * values
    statistics = (
        *(float(ascending[0]), float(ascending[-1]), float(values.size)),
        *(_sum_in_order(values), _sum_in_order(squares)),
    )
    return Histogram(statistics, *_kept_buckets(limits, counts))


def _sum_in_order(values: Any) -> float:
    total = 0.0
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK].copy()
        part[0] += total
        total = float(np.add.accumulate(part)[-1])
    return total


def _kept_buckets(limits: Any, counts: Any) -> tuple[list[float], list[float]]:
    """Return the limits and counts of the buckets. Empty buckets that precede another empty bucket
    are omitted.
    """
    kept_limits, kept_counts = [], []
    pairs = zip(limits.tolist(), counts.tolist(), strict=True)
    for is_full, group in itertools.groupby(pairs, key=lambda pair: pair[1] > 0):
        rows = list(group)
        for limit, count in rows if is_full else rows[-1:]:
            kept_limits.append(limit)
            kept_counts.append(float(count))
    return kept_limits, kept_counts
