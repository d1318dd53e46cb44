"""Summaries of weighted values from which quantiles are estimated, and streams of such summaries.

The algorithm is from "Fast Algorithms for Approximate Quantiles in High-Speed Data Streams" (Zhang
and Wang, 2007), extended by weights. It is computed in float32, as in TensorFlow.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np


class Summary(NamedTuple):
    """Values in ascending order, each with its weight and the bounds of its rank, as vectors.

    The rank of a value is the total weight of all smaller values. `min_ranks` contains lower bounds
    of the ranks. `max_ranks` contains upper bounds, to which the value's own weight is added.
    """

    values: Any
    weights: Any
    min_ranks: Any
    max_ranks: Any

    @property
    def next_min_ranks(self) -> Any:
        """For each value, the minimum rank of a value after it."""
        return self.min_ranks + self.weights

    @property
    def previous_max_ranks(self) -> Any:
        """For each value, the maximum rank of a value before it."""
        return self.max_ranks - self.weights

    def take(self, indices: Any) -> Summary:
        """Return a summary with only the values at these indices."""
        return Summary(*(column[indices] for column in self))

    def rows(self) -> Any:
        """Return the summary as an array, [number of values, 4]."""
        return np.stack(self, axis=1)


def summary_of_rows(rows: Any) -> Summary:
    """Return the summary from which `Summary.rows` has returned `rows`."""
    return Summary(*(np.array(rows[:, column], np.float32) for column in range(4)))


EMPTY = summary_of_rows(np.zeros((0, 4), np.float32))


def summary_of_values(values: Any, weights: Any) -> Summary:
    """Return the exact summary of values with positive weights. Equal values become one value."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    if not len(values):
        return EMPTY
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    totals = weights if len(starts) == len(values) else np.add.reduceat(weights, starts)
    max_ranks = np.cumsum(totals, dtype=np.float32)
    min_ranks = np.concatenate([np.zeros(1, np.float32), max_ranks[:-1]])
    return Summary(values[starts], totals, min_ranks, max_ranks)


def merged(first: Summary, second: Summary) -> Summary:
    """Return the summary of the values of two summaries."""
    if not len(first.values) or not len(second.values):
        return first if len(first.values) else second
    both = np.isin(first.values, second.values)
    places = np.searchsorted(second.values, first.values[both])
    equal = Summary(
        first.values[both],
        *(mine[both] + other[places] for mine, other in list(zip(first, second))[1:]),
    )
    parts = [equal, _among(first, second, ~both), _among(second, first, _absent(second, places))]
    whole = Summary(*map(np.concatenate, zip(*parts)))
    return whole.take(np.argsort(whole.values, kind="stable"))


def _absent(summary: Summary, indices: Any) -> Any:
    mask = np.ones(len(summary.values), bool)
    mask[indices] = False
    return mask


def _among(summary: Summary, other: Summary, mask: Any) -> Summary:
    """Return the values of `summary` that `mask` selects, with their ranks among the values of both
    summaries. None of these values is in `other`.
    """
    part = summary.take(mask)
    after = np.searchsorted(other.values, part.values)
    lower = np.concatenate([np.zeros(1, np.float32), other.next_min_ranks])[after]
    upper = np.concatenate([other.previous_max_ranks, other.max_ranks[-1:]])[after]
    return part._replace(min_ranks=part.min_ranks + lower, max_ranks=part.max_ranks + upper)


def compressed(summary: Summary, size: int, min_error: float = 0.0) -> Summary:
    """Return a summary of about `size` of the values, whose ranks have bounded errors.

    Args:
      min_error: an error that is always accepted, as a fraction of the total weight.
    """
    size, count = max(size, 2), len(summary.values)
    if count <= size:
        return summary
    error = float(summary.max_ranks[-1]) * max(1.0 / size, min_error)
    previous, following = summary.previous_max_ranks, summary.next_min_ranks
    kept = [0]
    credit, position = 0, 0
    while position + 1 < count:
        after = position + 1
        while after < count and credit < count and previous[after] - following[position] <= error:
            credit += size
            after += 1
        position = max(position + 1, after - 1)
        kept.append(position)
        credit -= count
    if kept[-1] + 1 < count:
        kept.append(count - 1)
    return summary.take(kept)


def approximation_error(summary: Summary) -> float:
    """Return the maximum error of a rank, as a fraction of the total weight."""
    if len(summary.values) < 2:
        return 0.0
    inner = summary.max_ranks - summary.min_ranks - summary.weights
    outer = summary.previous_max_ranks[1:] - summary.next_min_ranks[:-1]
    gap = max(np.float32(0), inner[1:].max(), outer.max())
    return float(np.float32(gap) / summary.max_ranks[-1])


def boundaries_of(summary: Summary, count: int) -> Any:
    """Return at least `count` of the values that divide the total weight evenly. If there are fewer
    values, return all of them.
    """
    if not len(summary.values):
        return summary.values
    error = float(np.float32(approximation_error(summary) + 1.0 / count))
    return np.unique(compressed(summary, count, error).values)


def quantiles_of(summary: Summary, count: int) -> Any:
    """Return the distinct values among the `count` quantiles, including the minimum and maximum."""
    size = len(summary.values)
    if not size:
        return summary.values
    count = max(count, 2)
    middle = summary.min_ranks + summary.max_ranks
    gaps = summary.next_min_ranks[:-1] + summary.previous_max_ranks[1:]
    result, current = [], 0
    for rank in range(count + 1):
        twice = np.float32(2 * (np.float32(rank) * summary.max_ranks[-1] / np.float32(count)))
        after = current + 1
        while after < size and twice >= middle[after]:
            after += 1
        current = after - 1
        is_nearer = after == size or twice < gaps[current]
        result.append(summary.values[current if is_nearer else after])
    return np.unique(np.array(result, np.float32))


def level_size(epsilon: float, max_elements: int) -> int:
    """Return the maximum number of values in a level of a stream, for an error of `epsilon`."""
    if epsilon <= np.finfo(np.float64).eps:
        return max(max_elements, 2)
    level, size = 1, 2
    while (size << level) < max_elements:
        size = math.ceil(level / epsilon) + 1
        level += 1
    return max(size, 2)


class QuantileStream:
    """A stream of values. It keeps only a few summaries of bounded size."""

    def __init__(self, epsilon: float, max_elements: int) -> None:
        self._epsilon = epsilon
        self._size = level_size(epsilon, max_elements)
        self._buffer_size = min(self._size << 1, max_elements)
        self._levels: list[Summary] = []

    def push_values(self, values: Any, weights: Any) -> None:
        """Add values. A value whose weight is not positive is skipped."""
        used = weights > 0
        values, weights = values[used], weights[used]
        for start in range(0, len(values), self._buffer_size):
            part = slice(start, start + self._buffer_size)
            self.push_summary(summary_of_values(values[part], weights[part]))

    def push_summary(self, summary: Summary) -> None:
        """Add the values of a summary."""
        local = compressed(summary, self._size, self._epsilon)
        if not len(local.values):
            return
        for level, known in enumerate(self._levels):
            local = merged(local, known)
            if not len(known.values) or len(local.values) <= self._size + 1:
                self._levels[level] = local
                return
            local = compressed(local, self._size, self._epsilon)
            self._levels[level] = EMPTY
        self._levels.append(local)

    def finish(self) -> Summary:
        """Return the summary of all values."""
        result = EMPTY
        for summary in self._levels:
            result = merged(result, summary)
        return result
