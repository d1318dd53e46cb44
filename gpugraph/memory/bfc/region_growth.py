"""The growth of a BFC allocator: when it requests a region, and the size of this region.

A new region has the current region size. With growth, this size starts at 1 MiB, or at the limit if
that is smaller. Without growth, it is the whole limit. If the request exceeds the region size, the
size is doubled until the request fits. Otherwise, the size is doubled after the region is obtained:
1, 2, 4, 8 MiB. A region never exceeds the remainder of the limit, rounded down to a multiple of 256
bytes. After `deallocate_free_regions`, which TensorFlow does not have, growth continues as if only
the remaining regions had ever existed.

If the sub-allocator refuses a region, nine tenths of the size are requested, then nine tenths of
this, down to the size of the request. An allocator tries smaller sizes only once in its life. As in
TensorFlow, the nine tenths are computed in single precision. The result is rounded up, so that a
size of 2304 bytes or less would never shrink. If the size no longer shrinks, this module gives up,
while TensorFlow would loop forever.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from gpugraph.memory.bfc.chunk_store import MIN_ALLOCATION_BYTES, ChunkStore, Region, round_up
from gpugraph.memory.sub_allocator import SubAllocator

_FIRST_REGION_BYTES = 1 << 20


class RegionSource:
    """An object that obtains regions from a sub-allocator. All regions together have at most
    `memory_limit` bytes.
    """

    def __init__(self, sub_allocator: SubAllocator, memory_limit: int, allow_growth: bool) -> None:
        self.sub_allocator = sub_allocator
        self.memory_limit = memory_limit
        self.held_bytes = 0
        first = min(memory_limit, _FIRST_REGION_BYTES) if allow_growth else memory_limit
        self._first_region_bytes = self.next_region_bytes = round_up(first)
        self._backpedalled = False

    def obtain(self, rounded: int) -> Region | None:
        """Obtain a region of at least `rounded` bytes. Return None if that is impossible."""
        available = (self.memory_limit - self.held_bytes) & -MIN_ALLOCATION_BYTES
        if rounded > available:
            return None
        fitted = rounded <= self.next_region_bytes
        while rounded > self.next_region_bytes:
            self.next_region_bytes *= 2
        region = self._request(min(self.next_region_bytes, available), rounded)
        if region is not None:
            self.held_bytes += region.size
            if fitted:
                self.next_region_bytes *= 2
        return region

    def give_back(self, region: Region, store: ChunkStore) -> None:
        """Remove a region from the store, and return it to the sub-allocator."""
        store.remove_region(region)
        self.sub_allocator.free(region.base, region.size)
        self.held_bytes -= region.size

    def restart_growth(self, held: Iterable[Region]) -> None:
        """Set the size of the next region to the value that it would have if the regions `held`
        were the only regions that the allocator ever had.
        """
        largest = max((region.size for region in held), default=0)
        size = self._first_region_bytes
        while 0 < size <= largest:
            size *= 2
        self.next_region_bytes = min(size, self.next_region_bytes)

    def _request(self, size: int, rounded: int) -> Region | None:
        base = self.sub_allocator.alloc(MIN_ALLOCATION_BYTES, size)
        if base is None and not self._backpedalled:
            self._backpedalled = True
            less = _nine_tenths(size)
            while base is None and rounded <= less < size:
                size = less
                base = self.sub_allocator.alloc(MIN_ALLOCATION_BYTES, size)
                less = _nine_tenths(size)
        return None if base is None else Region(base, size)


def _nine_tenths(num_bytes: int) -> int:
    """Return 0.9 * `num_bytes`, in single precision, rounded up to a multiple of 256."""
    return round_up(int(_single(_single(float(num_bytes)) * _single(0.9))))


def _single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])
