"""Where regions come from: the layer below BFC.

A sub-allocator hands out few and large regions; BFC cuts them up. `HostSubAllocator` gives host
bytes, `FakeSubAllocator` addresses with nothing behind them, so that any device's memory can be
rehearsed anywhere. A device writes its own over its driver.

Host regions are anonymous private mappings: zeroed, page-aligned, and backed by memory only once
they are touched, so that a large region costs nothing until it is used. Linux is advised to back
regions of 4 MiB and more with huge pages. A region given back is unmapped when nobody exports its
buffer any longer: an array still looking at it stays valid.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from abc import ABC, abstractmethod
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence

from gpugraph.base.errors import FailedPreconditionError, InvalidArgumentError, invalid_argument
from gpugraph.memory.allocator import HostRegion

RegionVisitor = Callable[[int, int], None]
"""Called with the address and the bytes of a region."""

_HUGE_PAGES_FROM = 4 << 20


class SubAllocator(ABC):
    """Gives and takes back whole regions."""

    @abstractmethod
    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """The address of a new region aligned to `alignment` bytes, or None where none is left."""

    @abstractmethod
    def free(self, address: int, num_bytes: int) -> None:
        """Takes a region back, with the address and size it was given with."""

    def region(self, address: int) -> HostRegion:
        """The host buffer around `address`. Raises FailedPreconditionError where there is none."""
        raise FailedPreconditionError(
            None,
            None,
            f"{type(self).__name__} gives no host memory: {address:#x} cannot be viewed.",
        )


class HostSubAllocator(SubAllocator):
    """Regions of host memory that can be viewed as buffers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bases: list[int] = []
        self._buffers: dict[int, mmap.mmap] = {}

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """A zeroed region. Raises InvalidArgumentError for an alignment beyond the page size."""
        if alignment > mmap.PAGESIZE:
            raise invalid_argument(
                f"Host regions are aligned to pages of {mmap.PAGESIZE} bytes, "
                f"an alignment of {alignment} cannot be had."
            )
        buffer = _map(num_bytes)
        if buffer is None:
            return None
        base = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        with self._lock:
            insort(self._bases, base)
            self._buffers[base] = buffer
        return base

    def free(self, address: int, num_bytes: int) -> None:
        """Forgets a region; it is unmapped with its last view."""
        with self._lock:
            buffer = self._buffers.get(address)
            if buffer is None or len(buffer) != num_bytes:
                raise _no_such_region(self, address, num_bytes)
            del self._buffers[address]
            self._bases.remove(address)

    def region(self, address: int) -> HostRegion:
        """The region that holds `address`. Raises InvalidArgumentError where none does."""
        with self._lock:
            at = bisect_right(self._bases, address) - 1
            if at >= 0:
                base = self._bases[at]
                buffer = self._buffers[base]
                if address < base + len(buffer):
                    return HostRegion(base, buffer)
        raise invalid_argument(f"No host region holds the address {address:#x}.")


class FakeSubAllocator(SubAllocator):
    """Addresses without memory: upwards from `base`, each region right after the one before.

    `total` limits the bytes held at a time; None is no limit. Addresses are never given twice.
    Visitors are called after each region given and before each taken back.
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
        """Raises InvalidArgumentError for anything but a region given and not yet taken back."""
        if self._regions.get(address) != num_bytes:
            raise _no_such_region(self, address, num_bytes)
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
    """Advice is only that: a kernel built without huge pages refuses, and nothing is lost."""
    try:
        buffer.madvise(advice)
    except OSError:
        return


def _no_such_region(
    sub_allocator: SubAllocator, address: int, num_bytes: int
) -> InvalidArgumentError:
    return invalid_argument(
        f"{type(sub_allocator).__name__} has no region of {num_bytes} bytes at {address:#x}."
    )
