"""The order of buffers whose sizes become known during a run."""

from __future__ import annotations

from gpugraph.compile.memory.arena_layout import _orders
from gpugraph.memory import Lifetime, Stacking, buffers_below


def test_the_best_order_of_parts_needs_hardly_more_than_the_bound() -> None:
    sizes_first_last = [
        *((4352, 0, 4), (138_496, 0, 40), (4352, 4, 43), (4352, 5, 6), (2176, 4, 45)),
        *((2560, 7, 39), (68_480, 19, 24), (138_496, 24, 30), (40_448, 30, 39)),
        *((40_448, 35, 38), (138_496, 39, 43), (68_480, 43, 45)),
    ]
    lifetimes = [Lifetime(*row) for row in sizes_first_last]
    offsets = [138_496, 0, 345_472, 138_496, 352_384, 349_824]
    offsets += [276_992, 138_496, 276_992, 138_496, 138_496, 0]
    parts = [0] * 4 + [1] * 8
    sizes = [lifetime.size for lifetime in lifetimes]
    steps = range(46)
    bound = max(sum(s for s, first, last in lifetimes if first <= t <= last) for t in steps)
    arenas = []
    for order in _orders(lifetimes, offsets, parts):
        assert max(order[:4]) < min(order[4:])
        arenas.append(Stacking(buffers_below(lifetimes, order)).plan(sizes).size)
    assert len(arenas) == 3
    assert arenas[0] > 1.05 * bound
    assert min(arenas) <= 1.05 * bound
