"""The time that BFC takes to allocate and free, by the number of chunks that are live.

    python benchmarks/allocator.py

Live chunks have random sizes from 256 bytes to 64 KiB, and every second one of them was freed
again, so that there are as many holes. Then chunks of such sizes are allocated and freed at once.
Times are processor times, the minimum of some rounds, in microseconds for both calls.
"""

from __future__ import annotations

import random
import time

from gpugraph.memory import BFCAllocator, FakeSubAllocator

COUNTS = (100, 1_000, 10_000, 100_000)
PAIRS, ROUNDS = 500, 60


def filled(live: int) -> BFCAllocator:
    """Return an allocator with `live` live chunks, and as many holes."""
    sizes = random.Random(live)
    allocator = BFCAllocator(FakeSubAllocator(), 1 << 40, "benchmark", allow_growth=True)
    addresses = [allocator.allocate_raw(sizes.randint(1, 1 << 16)) for _ in range(2 * live)]
    for address in addresses[::2]:
        allocator.deallocate_raw(address)
    return allocator


def microseconds(live: int) -> float:
    """Of one allocation and its free."""
    allocator = filled(live)
    sizes = [random.Random(number).randint(1, 1 << 16) for number in range(PAIRS)]
    allocate, free = allocator.allocate_raw, allocator.deallocate_raw
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time()
        for size in sizes:
            free(allocate(size))
        best = min(best, time.thread_time() - start)
    allocator.check()
    return best / PAIRS * 1e6


if __name__ == "__main__":
    for count in COUNTS:
        print(f"{count:>8} live chunks: {microseconds(count):.2f} us")
