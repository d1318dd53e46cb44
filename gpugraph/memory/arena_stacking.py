"""Restacking: new offsets for an arena whose buffers have sizes other than those for which it was
planned.

For any two buffers that are live at the same step, a plan determines which of them is below the
other. If this order is kept, each buffer can be placed on top of the buffers below it for any
sizes:

    planned for    A 2, B 1, C 3          [A ][B][C   ]
    other sizes    A 5, B 1, C 2          [A      ][B][C ]
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import or_

from gpugraph.memory.arena_planning import ArenaPlan, Lifetime


def buffers_below(lifetimes: Sequence[Lifetime], offsets: Sequence[int]) -> list[list[int]]:
    """Return, for each buffer, the buffers that are directly below it in the plan.

    Buffer A is below buffer B if both are live at a common step and A has the lower offset. If the
    offsets are equal, because a buffer is empty, the buffer with the lower index is below the
    other. Buffer A is directly below buffer B if no third buffer is between them.
    """
    ranked = sorted(range(len(offsets)), key=lambda buffer: offsets[buffer])
    begun, ended = (
        _Until([lifetimes[i].first for i in ranked]),
        _Until([lifetimes[i].last for i in ranked]),
    )
    below: list[int] = []  # by rank: the set of ranks below it, as bits
    direct: list[list[int]] = [[] for _ in offsets]
    for rank, buffer in enumerate(ranked):
        _, first, last = lifetimes[buffer]
        meeting = begun.at_most(last) & ~ended.below(first) & ((1 << rank) - 1)
        indirect = 0
        for other in _bits(meeting):
            indirect |= below[other]
        below.append(meeting)
        direct[buffer] = [ranked[other] for other in _bits(meeting & ~indirect)]
    return direct


class _Until:
    """A set of items, each with a time. Its methods return the items up to a given time.

    A result is an integer in which bit i is set if item i belongs to the result.
    """

    def __init__(self, times: Sequence[int]) -> None:
        order = sorted(range(len(times)), key=times.__getitem__)
        self._times = [times[item] for item in order]
        self._sets = list(accumulate((1 << item for item in order), or_, initial=0))

    def at_most(self, time: int) -> int:
        """Return the items whose time is at most `time`, as the bits of an integer."""
        return self._sets[bisect_right(self._times, time)]

    def below(self, time: int) -> int:
        """Return the items whose time is less than `time`, as the bits of an integer."""
        return self._sets[bisect_left(self._times, time)]


def _bits(number: int) -> Iterator[int]:
    """Yield the positions of the bits of `number` that are set."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


class Stacking:
    """The order in which buffers are stacked.

    Attributes:
      steps: pairs (buffer, buffers directly below it). The lower buffers come first.

    Args:
      below: for each buffer, the indices of the buffers directly below it, from `buffers_below`.
    """

    def __init__(self, below: Sequence[Sequence[int]]) -> None:
        order: dict[int, None] = {}
        for start in range(len(below)):
            pending = [start]
            while pending:
                missing = [other for other in below[pending[-1]] if other not in order]
                if missing:
                    pending += missing
                else:
                    order[pending.pop()] = None
        self.steps = [(buffer, below[buffer]) for buffer in order]

    def plan(self, sizes: Sequence[int], alignment: int = 64) -> ArenaPlan:
        """Return the offsets of buffers of these sizes.

        Offsets and the block's size are multiples of `alignment` bytes.
        """
        ends, offsets = [0] * len(sizes), [0] * len(sizes)
        for buffer, below in self.steps:
            bottom = 0
            for other in below:
                if ends[other] > bottom:
                    bottom = ends[other]
            offsets[buffer] = bottom
            ends[buffer] = bottom + -(-sizes[buffer] // alignment) * alignment
        return ArenaPlan(offsets, max(ends, default=0))
