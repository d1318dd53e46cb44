"""Arena planning, which assigns offsets in one block of memory to buffers with known lifetimes.

The problem. Each buffer has a size, and an interval of steps, including both ends, in which it must
keep its contents. Two buffers may share bytes if and only if their intervals do not intersect. Find
offsets such that the block is small. This problem is dynamic storage allocation, which is NP-hard.
No plan can be smaller than `lower_bound`, the maximum of live bytes over all steps.

    step      0    1    2    3
    A 2 KiB   [=========]            offset 0
    B 1 KiB        [=========]       offset 2 KiB
    C 1 KiB                  [==]    offset 0, over A

The policy. Several cheap plans are computed one after another, and the smallest one is used. The
search stops as soon as a plan meets the lower bound:

1. Scan by time. At each step, the buffers that end are returned to a list of holes (ordered by
   size). Adjacent holes are joined. Then each buffer that begins, largest first, gets the smallest
   hole in which it fits. Among holes of the same size, it gets the lowest. If it fits in no hole,
   the block grows, and a hole at the block's end is extended. The time is O(n log n).
2. The same scan with time reversed (up to 50,000 buffers).
3. For up to 1,000 buffers, the buffers are placed in each of three orders: by size and then
   duration, by size times duration, and by duration. Each buffer gets the smallest gap that fits
   among the buffers placed before it that live at the same time. This takes O(n * n),
   but these plans usually meet the bound on forward/backward graphs.
4. If no plan is within half a percent of the bound, the best of these orders is varied: some large
   buffers are placed earlier. `_SEARCH` limits the number of trials. If the new order gives a plan
   that is no larger, the next variation starts from that order.

Everything is deterministic, so equal inputs give equal plans.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from gpugraph.base.errors import InternalError, invalid_argument

_REVERSE_SCAN_UP_TO = 50_000
_PLACE_BY_RANK_UP_TO = 1_000


class Lifetime(NamedTuple):
    """A buffer of `size` bytes that is live from step `first` to step `last`, including both
    steps.
    """

    size: int
    first: int
    last: int


class ArenaPlan(NamedTuple):
    """The offsets of the buffers in bytes, in the order of their lifetimes, and the size of the
    block in bytes.
    """

    offsets: list[int]
    size: int


def plan_offsets(lifetimes: Sequence[Lifetime], alignment: int = 64) -> ArenaPlan:
    """Plan offsets at which buffers that are live at the same step never share a byte.

    Offsets and the size of the block are multiples of `alignment` (bytes, a power of two). Empty
    buffers get offset 0 and take no space. Raises InvalidArgumentError if a size is negative, if a
    lifetime ends before it begins, or if the alignment is not a power of two.
    """
    if alignment < 1 or alignment & (alignment - 1):
        raise invalid_argument(f"An arena's alignment must be a power of two, not {alignment}.")
    _check_lifetimes(lifetimes)
    index = [i for i, lifetime in enumerate(lifetimes) if lifetime[0]]
    buffers = _Buffers(
        [-(-lifetimes[i][0] // alignment) * alignment for i in index],
        [lifetimes[i][1] for i in index],
        [lifetimes[i][2] for i in index],
    )
    best = _best_plan(buffers)
    offsets = [0] * len(lifetimes)
    for i, offset in zip(index, best.offsets, strict=True):
        offsets[i] = offset
    return ArenaPlan(offsets, best.size)


def lower_bound(lifetimes: Sequence[Lifetime]) -> int:
    """Return the maximum of live bytes over all steps. No plan can need less memory."""
    change: dict[int, int] = defaultdict(int)
    for size, first, last in lifetimes:
        change[first] += size
        change[last + 1] -= size
    return max(accumulate(change[step] for step in sorted(change)), default=0)


def check_offsets(lifetimes: Sequence[Lifetime], plan: ArenaPlan) -> None:
    """Raise InternalError, with the indices of buffers, if a plan is wrong.

    A plan is wrong if the numbers of offsets and lifetimes differ, if a buffer extends beyond the
    block, or if two buffers that are live at the same step share bytes.
    """
    if len(plan.offsets) != len(lifetimes):
        raise _wrong(f"{len(lifetimes)} lifetimes but {len(plan.offsets)} offsets")
    order = sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].first)
    deaths = sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].last)
    live: list[tuple[int, int]] = []
    dead = 0
    for i in order:
        size, first, _ = lifetimes[i]
        while lifetimes[deaths[dead]].last < first:
            _forget(live, deaths[dead], lifetimes, plan)
            dead += 1
        offset = plan.offsets[i]
        if offset < 0 or offset + size > plan.size:
            raise _wrong(f"buffer {i} at [{offset}, {offset + size}) leaves [0, {plan.size})")
        if size:
            _check_neighbours(live, i, lifetimes, plan)
            insort(live, (offset, i))


def _forget(
    live: list[tuple[int, int]], i: int, lifetimes: Sequence[Lifetime], plan: ArenaPlan
) -> None:
    if lifetimes[i].size:
        del live[bisect_left(live, (plan.offsets[i], i))]


def _check_neighbours(
    live: list[tuple[int, int]], i: int, lifetimes: Sequence[Lifetime], plan: ArenaPlan
) -> None:
    """Check that a new buffer does not overlap the nearest live buffers below and above it.

    This is sufficient, because the other live buffers are known to be disjoint.
    """
    start = plan.offsets[i]
    index = bisect_right(live, (start, i))
    for offset, other in live[max(0, index - 1) : index + 1]:
        if offset < start + lifetimes[i].size and start < offset + lifetimes[other].size:
            raise _wrong(
                f"buffer {i} {lifetimes[i]} at {start} and buffer {other} {lifetimes[other]} "
                f"at {offset} are live at the same step and share bytes"
            )


class _Buffers(NamedTuple):
    """The lifetimes of non-empty buffers as one list for each field. Sizes are rounded up to the
    alignment.
    """

    sizes: list[int]
    firsts: list[int]
    lasts: list[int]


def _best_plan(buffers: _Buffers) -> ArenaPlan:
    bound = lower_bound([Lifetime(*row) for row in zip(*buffers, strict=True)])
    best = ArenaPlan([], 0)
    for plan in _candidates(buffers, bound):
        if not best.size or plan.size < best.size:
            best = plan
        if best.size == bound:
            break
    return best


def _candidates(buffers: _Buffers, bound: int) -> Iterator[ArenaPlan]:
    """Yield plans in the order that the module's docstring describes. Each plan is computed only
    when the caller requests it.
    """
    sizes, firsts, lasts = buffers
    count = len(sizes)
    if not count:
        return
    yield _scan_by_time(buffers)
    if count <= _REVERSE_SCAN_UP_TO:
        yield _scan_by_time(
            _Buffers(sizes, [-last for last in lasts], [-first for first in firsts])
        )
    if count <= _PLACE_BY_RANK_UP_TO:
        durations = [last - first + 1 for first, last in zip(firsts, lasts, strict=True)]
        areas = [size * steps for size, steps in zip(sizes, durations, strict=True)]
        ranks = [[*zip(sizes, durations)], [*zip(areas, sizes)], [*zip(durations, sizes)]]
        orders = [sorted(range(count), key=rank.__getitem__, reverse=True) for rank in ranks]
        plans = []
        for order in orders:
            plans.append(_place(buffers, order))
            yield plans[-1]
        yield from _search(buffers, bound, min(zip(plans, orders), key=lambda pair: pair[0].size))


def _search(
    buffers: _Buffers, bound: int, start: tuple[ArenaPlan, list[int]]
) -> Iterator[ArenaPlan]:
    """Yield plans for random orders. Each order is the best order so far, with some large buffers
    moved forward.
    """
    best, order = start
    large = [i for i in order if buffers.sizes[i] * _SMALL > bound]
    small = [i for i in order if buffers.sizes[i] * _SMALL <= bound]
    random = Random(len(order))
    for _ in range(min(_MAX_ORDERS, _SEARCH // len(order) ** 2)):
        if best.size <= _NEAR * bound:
            return
        changed = list(large)
        for _ in range(random.randint(1, 4)):
            place = random.randrange(len(changed))
            changed.insert(random.randrange(place + 1), changed.pop(place))
        plan = _place(buffers, changed + small)
        yield plan
        if plan.size <= best.size:
            best, large = plan, changed


_SEARCH, _MAX_ORDERS, _NEAR, _SMALL = 2_000_000, 400, 1.005, 1_000
"""The budget of the search, in pairs of buffers; the maximum number of orders; the multiple of the
bound at which a plan is good enough; and the divisor of the bound below which a buffer is small.
Small buffers are not moved in the order, since they fit into any gap.
"""


class _Holes:
    """The free byte ranges (holes) below the top of a growing block. Adjacent holes are joined."""

    __slots__ = ("_by_size", "_size_at", "_start_of_end", "top")

    def __init__(self) -> None:
        self.top = 0
        self._by_size: list[tuple[int, int]] = []  # (size, start), ascending
        self._size_at: dict[int, int] = {}  # start -> size
        self._start_of_end: dict[int, int] = {}  # end -> start

    def give(self, start: int, size: int) -> None:
        """Free a range, and join it with adjacent holes."""
        by_size, size_at = self._by_size, self._size_at
        end = start + size
        after = size_at.pop(end, 0)
        if after:
            del by_size[bisect_left(by_size, (after, end))]
            end += after
        before = self._start_of_end.pop(start, -1)
        if before >= 0:
            del by_size[bisect_left(by_size, (size_at[before], before))]
            start = before
        size_at[start] = end - start
        self._start_of_end[end] = start
        insort(by_size, (end - start, start))

    def take(self, need: int) -> int:
        """Reserve `need` bytes in the smallest hole that fits, and return the start of the reserved
        range. If no hole fits, extend the block.
        """
        by_size = self._by_size
        index = bisect_left(by_size, (need,))
        if index == len(by_size):
            return self._grow(need)
        size, start = by_size.pop(index)
        del self._size_at[start]
        if size > need:
            rest = start + need
            self._size_at[rest] = size - need
            self._start_of_end[start + size] = rest
            insort(by_size, (size - need, rest))
        else:
            del self._start_of_end[start + size]
        return start

    def _grow(self, need: int) -> int:
        start = self._start_of_end.pop(self.top, -1)
        if start >= 0:
            size = self._size_at.pop(start)
            del self._by_size[bisect_left(self._by_size, (size, start))]
        else:
            start = self.top
        self.top = start + need
        return start


def _scan_by_time(buffers: _Buffers) -> ArenaPlan:
    sizes, firsts, lasts = buffers
    births = sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)
    births.sort(key=firsts.__getitem__)
    deaths = sorted(range(len(sizes)), key=lasts.__getitem__)
    offsets = [0] * len(sizes)
    holes = _Holes()
    give, take = holes.give, holes.take
    dead = 0
    for i in births:
        now = firsts[i]
        gone = deaths[dead]
        while lasts[gone] < now:
            give(offsets[gone], sizes[gone])
            dead += 1
            gone = deaths[dead]
        offsets[i] = take(sizes[i])
    return ArenaPlan(offsets, holes.top)


def _place(buffers: _Buffers, order: Sequence[int]) -> ArenaPlan:
    """Place the buffers in this order, each in the smallest gap that fits among the buffers placed
    before it.
    """
    placed: list[tuple[int, int, int, int]] = []  # (start, end, first, last), ascending
    offsets = [0] * len(order)
    top = 0
    for i in order:
        size, first, last = buffers.sizes[i], buffers.firsts[i], buffers.lasts[i]
        start = _tightest_gap(placed, size, first, last)
        offsets[i] = start
        insort(placed, (start, start + size, first, last))
        top = max(top, start + size)
    return ArenaPlan(offsets, top)


def _tightest_gap(placed: list[tuple[int, int, int, int]], size: int, first: int, last: int) -> int:
    """Return the start of the smallest gap of `size` or more bytes during the steps [first, last].

    If there is no such gap, return the end of the highest buffer that is live during these steps.

    Args:
      placed: the buffers placed so far as (start, end, first, last), sorted by start.
    """
    best = -1
    best_gap = 0
    end = 0
    for start, stop, born, dies in placed:
        if born <= last and first <= dies:
            gap = start - end
            if gap >= size and (best < 0 or gap < best_gap):
                best, best_gap = end, gap
            if stop > end:
                end = stop
    return end if best < 0 else best


def _check_lifetimes(lifetimes: Sequence[Lifetime]) -> None:
    for i, (size, first, last) in enumerate(lifetimes):
        if size < 0 or last < first:
            raise invalid_argument(
                f"Lifetime {i} has size {size} and steps {first} to {last}: sizes must not be "
                "negative, and no lifetime may end before it begins."
            )


def _wrong(message: str) -> InternalError:
    return InternalError.of_no_node(f"The arena plan is wrong: {message}.")
