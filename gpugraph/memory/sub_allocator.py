"""Sub-allocators, which obtain regions for BFC.

A sub-allocator hands out a few large regions, which BFC splits into chunks. `HostSubAllocator`
hands out host memory. `FakeSubAllocator` hands out addresses without memory, to simulate the memory
of any device. The sub-allocators for CUDA devices, which call the driver, are defined elsewhere.

Host regions are anonymous private mappings, which are zeroed and page-aligned. A page uses memory
only after it is first accessed, so a large region costs nothing until it is used. Linux is asked to
back regions of 4 MiB and more with huge pages. A freed region is unmapped only when no array refers
to its buffer, so arrays over freed memory stay valid.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from abc import ABC, abstractmethod
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence

from gpugraph.base.errors import FailedPreconditionError, InvalidArgumentError, invalid_argument
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.memory.allocator import HostRegion

RegionVisitor = Callable[[int, int], None]
"""A callable with the address and the size in bytes of a region."""

_HUGE_PAGES_FROM = 4 << 20


class SubAllocator(ABC):
    """An object that obtains and frees whole regions of memory for an allocator."""

    @abstractmethod
    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """Return the address of a new region, aligned to `alignment` bytes. If there is no memory,
        return None.
        """

    @abstractmethod
    def free(self, address: int, num_bytes: int) -> None:
        """Free the region with this address and size."""

    def region(self, address: int) -> HostRegion:
        """Return the host buffer that contains `address`. Raises FailedPreconditionError if the
        memory is not host memory.
        """
        raise FailedPreconditionError.of_no_node(
            f"{type(self).__name__} gives no host memory: {address:#x} cannot be viewed."
        )


class HostRegions:
    """A thread-safe table of regions of host memory.

    Args:
      kind: the kind of memory, "host" or "pinned", for messages.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = new_rlock(brief=True)
        self._bases: list[int] = []
        self._regions: dict[int, HostRegion] = {}

    def add(self, region: HostRegion) -> None:
        """Add a region."""
        with self._lock:
            insort(self._bases, region.base)
            self._regions[region.base] = region

    def remove(self, address: int, num_bytes: int) -> bool:
        """Remove a region. Return False if no region has this address and size."""
        with self._lock:
            region = self._regions.get(address)
            if region is None or len(region.buffer) != num_bytes:
                return False
            self._bases.remove(address)
            del self._regions[address]
            return True

    def find(self, address: int) -> HostRegion:
        """Return the region that contains `address`.

        Raises InvalidArgumentError if no region contains the address.
        """
        with self._lock:
            index = bisect_right(self._bases, address) - 1
            if index >= 0:
                region = self._regions[self._bases[index]]
                if address < region.base + len(region.buffer):
                    return region
        raise invalid_argument(f"No {self._kind} region holds the address {address:#x}.")


class HostSubAllocator(SubAllocator):
    """A sub-allocator of host memory whose regions can be viewed as buffers."""

    def __init__(self) -> None:
        self._regions = HostRegions("host")

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """Return the address of a new, zeroed region. Raises InvalidArgumentError if `alignment` is
        larger than a page.
        """
        if alignment > mmap.PAGESIZE:
            raise invalid_argument(
                f"Host regions are aligned to pages of {mmap.PAGESIZE} bytes, "
                f"an alignment of {alignment} cannot be had."
            )
        buffer = _map(num_bytes)
        if buffer is None:
            return None
        base = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        self._regions.add(HostRegion(base, buffer))
        return base

    def free(self, address: int, num_bytes: int) -> None:
        """Free a region. The region is unmapped once no array uses it. Raises InvalidArgumentError
        if no region has this address and size.
        """
        if not self._regions.remove(address, num_bytes):
            raise no_such_region(self, address, num_bytes)

    def region(self, address: int) -> HostRegion:
        """Return the region that contains `address`.

        Raises InvalidArgumentError if no region contains the address.
        """
        return self._regions.find(address)


class FakeSubAllocator(SubAllocator):
    """A sub-allocator that hands out addresses without memory. Regions are adjacent, in ascending
    order from `base`.

    `total` limits the bytes that are allocated at the same time. None means no limit. Addresses are
    never reused. The functions in `visitors` are called after each allocation and before each
    deallocation of a region.
    """

    def __init__(
        self,
        total: int | None = None,
        base: int = 1 << 32,
        alloc_visitors: Sequence[RegionVisitor] = (),
        free_visitors: Sequence[RegionVisitor] = (),
    ) -> None:
        self.total = total
        self.num_allocs = 0
        self.num_frees = 0
        self.bytes_held = 0
        self._next = base
        self._regions: dict[int, int] = {}
        self._alloc_visitors = tuple(alloc_visitors)
        self._free_visitors = tuple(free_visitors)

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """Return the address of the next region, or None if the limit would be exceeded."""
        if self.total is not None and self.bytes_held + num_bytes > self.total:
            return None
        address = -(-self._next // alignment) * alignment
        self._next = address + num_bytes
        self._regions[address] = num_bytes
        self.num_allocs += 1
        self.bytes_held += num_bytes
        for visit in self._alloc_visitors:
            visit(address, num_bytes)
        return address

    def free(self, address: int, num_bytes: int) -> None:
        """Free a region. Raises InvalidArgumentError if no region has this address and size."""
        if self._regions.get(address) != num_bytes:
            raise no_such_region(self, address, num_bytes)
        for visit in self._free_visitors:
            visit(address, num_bytes)
        del self._regions[address]
        self.num_frees += 1
        self.bytes_held -= num_bytes


def _map(num_bytes: int) -> mmap.mmap | None:
    try:
        if sys.platform == "win32":
            return mmap.mmap(-1, num_bytes)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        buffer = mmap.mmap(-1, num_bytes, flags=flags)
    except (OSError, OverflowError, ValueError):
        return None
    huge_pages = getattr(mmap, "MADV_HUGEPAGE", None)
    if huge_pages is not None and num_bytes >= _HUGE_PAGES_FROM:
        _advise(buffer, huge_pages)
    return buffer


def _advise(buffer: mmap.mmap, advice: int) -> None:
    """Call `madvise` for a buffer. Ignore the error on a system without huge pages."""
    try:
        buffer.madvise(advice)
    except OSError:
        return


def no_such_region(
    sub_allocator: SubAllocator, address: int, num_bytes: int
) -> InvalidArgumentError:
    """Return the error that `free` raises for a region that the sub-allocator does not have."""
    return invalid_argument(
        f"{type(sub_allocator).__name__} has no region of {num_bytes} bytes at {address:#x}."
    )
