"""Best-fit with coalescing (BFC), an allocator that returns the same addresses as TensorFlow's.

The module `chunk_store` manages the chunks. This module decides which memory a request gets. For
the same requests and the same regions, every address is equal to the address in TensorFlow 1.15.

- Sizes are rounded up to multiples of 256 bytes. A request gets a free chunk. If no free chunk is
  large enough, it gets a chunk of a new region. If no region can be obtained and garbage collection
  is on, regions without a chunk in use are returned to the sub-allocator (if that can help), and a
  new region is requested again. Otherwise the request fails.
- `region_growth` decides when a region is obtained and its size: with `allow_growth` 1, 2, 4, 8
  MiB and so on, otherwise the whole limit at the first request.
- A failure logs the report of `out_of_memory_log` as a WARNING. A failed `optional` request logs a
  single line, and only the first ten such failures of the process are logged.
- With `retry`, a request that fails waits for other threads to free memory. It is tried again at
  each deallocation until the time is up. It does not wait if no other thread could free memory, if
  nothing is in use, or if the request exceeds the limit.

One lock protects the whole state. The lock is reentrant because the garbage collector may run a
finalizer that frees memory while this thread holds the lock. The memory is then freed at the end of
the call in progress. No signal handler is called while the state is being changed
(`base/interruptions/signal_handlers.py`).

Chunks have no timestamps, because TensorFlow uses them only with a timing counter.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from gpugraph.base.errors import FailedPreconditionError, invalid_argument
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.base.interruptions.signal_handlers import (
    PENDING,
    defers_signals,
    deliver_signals,
    uninterrupted,
)
from gpugraph.memory.allocator import (
    MAX_ALLOCATION_BYTES,
    AddressHolder,
    Allocator,
    HostRegion,
    LiveAllocation,
    unknown_address,
    validate_num_bytes,
)
from gpugraph.memory.allocator_stats import AllocatorStats
from gpugraph.memory.bfc.allocator_invariants import check_agreement
from gpugraph.memory.bfc.chunk_store import Chunk, ChunkStore, Region, round_up
from gpugraph.memory.bfc.out_of_memory_log import (
    BinDebugInfo,
    ReportTotals,
    bin_debug_info,
    log_failure,
    log_regions_returned,
    memory_log,
)
from gpugraph.memory.bfc.region_growth import RegionSource
from gpugraph.memory.sub_allocator import SubAllocator

_logger = logging.getLogger(__name__)


class BFCAllocator(Allocator):
    """Best-fit with coalescing over regions of `sub_allocator`.

    `total_memory` limits the bytes of all regions. `retry_timeout_s` is the number of seconds for
    which a request with `retry` waits. Raises InvalidArgumentError if the limit is negative.
    """

    def __init__(
        self,
        sub_allocator: SubAllocator,
        total_memory: int,
        name: str,
        allow_growth: bool = False,
        garbage_collection: bool = True,
        *,
        retry_timeout_s: float = 10.0,
    ) -> None:
        if total_memory < 0:
            raise invalid_argument(
                f"Allocator ({name}) was given a negative limit: {total_memory} bytes."
            )
        self._name = name
        self._source = RegionSource(sub_allocator, total_memory, allow_growth)
        self._garbage_collection = garbage_collection
        self._retry_timeout_s = retry_timeout_s
        self._store = ChunkStore()
        self._last_id = 0
        self._stats = AllocatorStats(bytes_limit=total_memory)
        self._lock = new_rlock(brief=True)
        self._freed = threading.Condition(self._lock)
        self._waiters = 0
        self._busy = False
        self._deferred: dict[int, None] = {}  # addresses that finalizers freed during a call

    @property
    def name(self) -> str:
        """The allocator's name in messages and statistics."""
        return self._name

    @property
    def sub_allocator(self) -> SubAllocator:
        """The sub-allocator from which regions are obtained."""
        return self._source.sub_allocator

    @property
    def memory_limit(self) -> int:
        """The maximum total size of all regions in bytes."""
        return self._source.memory_limit

    def allocate_for(
        self, holder: AddressHolder, num_bytes: int, *, optional: bool = False
    ) -> bool:
        """Allocate memory, and store the address in `holder`. Return whether memory was allocated.

        No exception can occur between the allocation and the store.
        """
        return self.allocate_raw(num_bytes, optional=optional, holder=holder) is not None

    def deallocate_for(self, holder: AddressHolder) -> None:
        """Free the range of `holder`, and clear its address.

        No exception can occur between these two actions.
        """
        self.deallocate_raw(holder.address, holder)

    @uninterrupted
    def allocate_raw(
        self,
        num_bytes: int,
        *,
        retry: bool = False,
        optional: bool = False,
        holder: AddressHolder | None = None,
    ) -> int | None:
        """Return the address of at least `num_bytes` free bytes, or None.

        Addresses are multiples of 256 if the sub-allocator returns regions whose addresses are
        multiples of 256.

        Args:
          holder: an object in which the address is also stored, or None.
        """
        if not 0 < num_bytes <= MAX_ALLOCATION_BYTES:
            validate_num_bytes(self._name, num_bytes)
            return None
        rounded = (num_bytes + 255) & -256
        with self._lock:
            address = self._allocate(num_bytes, rounded, holder)
            if address is None and retry:
                address = self._allocate_as_memory_returns(num_bytes, rounded, holder)
        if address is None:
            log_failure(_logger, self, num_bytes, optional)
        return address

    @uninterrupted
    def deallocate_raw(self, address: int | None, holder: AddressHolder | None = None) -> None:
        """Free the chunk at `address`. If a finalizer calls this during another call, the chunk is
        freed at the end of that call.

        Args:
          holder: an object whose address is cleared, or None. If its address is not `address`,
            nothing is freed.
        """
        if address is None:
            return
        with self._lock:
            if holder is not None and holder.address != address:  # another thread has freed it
                return
            chunk = self._store.chunks.get(address)
            if chunk is None or chunk.allocation_id < 0 or address in self._deferred:
                raise unknown_address(self._name, "to free", address)
            if holder is not None:
                holder.address = None
            if self._busy:
                self._deferred[address] = None
                return
            try:
                self._busy = True
                self._release(chunk)
            finally:
                self._busy = False
                if self._deferred:
                    self._free_deferred()

    @property
    def tracks_allocation_sizes(self) -> bool:
        """True, because this allocator tracks sizes and ids."""
        return True

    def requested_size(self, address: int) -> int:
        """Return the number of bytes that were requested for an allocation. Raises
        InvalidArgumentError if the address is not in use.
        """
        with self._lock:
            return self._in_use(address, "for the requested size of").requested

    def allocated_size(self, address: int) -> int:
        """Return the size of an allocation's chunk in bytes. Raises InvalidArgumentError if the
        address is not in use.
        """
        with self._lock:
            return self._in_use(address, "for the allocated size of").size

    def allocation_id(self, address: int) -> int:
        """Return the number of the allocation, counted from 1. Return -1 at the start of a free
        chunk.

        Raises InvalidArgumentError if the address is not in use.
        """
        with self._lock:
            chunk = self._store.chunks.get(address)
            if chunk is None:
                raise unknown_address(self._name, "for the allocation id of", address)
            return chunk.allocation_id

    def get_stats(self) -> AllocatorStats:
        """Return a copy of the counters."""
        with self._exclusive():
            return replace(self._stats)

    def clear_stats(self) -> None:
        """Set the number of allocations to zero, and the peak to the bytes that are in use now."""
        with self._exclusive():
            self._stats.clear()

    def host_region(self, address: int) -> HostRegion:
        """Return the sub-allocator's host buffer that contains `address`."""
        return self._source.sub_allocator.region(address)

    def live_allocations(self) -> list[LiveAllocation]:
        """Return the chunks in use, sorted by address."""
        with self._exclusive():
            return [
                LiveAllocation(c.address, c.requested, c.size, c.allocation_id)
                for c in self._store.all_chunks()
                if c.allocation_id >= 0
            ]

    def largest_free_chunk(self) -> int:
        """Return the size of the largest free chunk, in bytes."""
        with self._exclusive():
            return self._store.largest_free()

    def regions(self) -> list[Region]:
        """Return the regions, sorted by address."""
        with self._exclusive():
            return list(self._store.regions)

    def bin_debug_info(self) -> list[BinDebugInfo]:
        """Return the counts and bytes of each of the 21 bins. A chunk in use is counted in the bin
        for its size.
        """
        with self._exclusive():
            return bin_debug_info(self._store)

    def dump_memory_log(self, num_bytes: int) -> str:
        """Return the report on the failure to allocate `num_bytes`."""
        with self._exclusive():
            source = self._source
            sizes = (source.held_bytes, source.memory_limit, source.next_region_bytes)
            return memory_log(self._store, ReportTotals(self._name, *sizes, self._stats), num_bytes)

    @uninterrupted
    def deallocate_free_regions(self, num_bytes: int = 0) -> bool:
        """Return the regions without a chunk in use to the sub-allocator. The result tells whether
        there were any.

        Without garbage collection, do nothing and return False.

        Args:
          num_bytes: the size of the region that the caller will obtain afterwards. If that region
            would still exceed the limit, no region is returned. If it is 0, the caller will obtain
            no region, and the sizes of new regions start again as in a new allocator.
        """
        with self._lock:
            self._refuse_reentry()
            with self._exclusive():
                is_any = self._deallocate_free_regions(round_up(num_bytes))
                if is_any and not num_bytes:
                    self._source.restart_growth(self._store.regions)
                return is_any

    def check(self) -> None:
        """Raise InternalError if an invariant is violated. Only tests call this, because it is
        slow.
        """
        with self._exclusive():
            self._store.check()
            check_agreement(self._name, self._store, self._source, self._stats, self._last_id)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the lock during the `with` block.

        If a finalizer frees memory during the block, the memory is freed at the end of the block.
        """
        with self._lock:
            outermost = not self._busy
            try:
                self._busy = True
                yield
            finally:
                if outermost:
                    self._busy = False
                    if self._deferred:
                        self._free_deferred()
        if PENDING:
            deliver_signals()

    def _refuse_reentry(self) -> None:
        if self._busy:
            raise FailedPreconditionError.of_no_node(
                f"Allocator ({self._name}) was called from inside one of its own calls: "
                "finalizers and visitors may free, but neither allocate nor return regions."
            )

    @defers_signals()
    def _free_deferred(self) -> None:
        """Free the addresses whose frees were deferred while a call was in progress."""
        try:
            self._busy = True
            while self._deferred:
                address = next(iter(self._deferred))
                self._release(self._store.chunks[address])
                del self._deferred[address]
        finally:
            self._busy = False

    def _release(self, chunk: Chunk) -> None:
        self._stats.bytes_in_use -= chunk.size
        self._store.release(chunk)
        if self._waiters:
            self._freed.notify_all()

    def _in_use(self, address: int, wanted: str) -> Chunk:
        chunk = self._store.chunks.get(address)
        if chunk is None or chunk.allocation_id < 0:
            raise unknown_address(self._name, wanted, address)
        return chunk

    def _allocate(self, num_bytes: int, rounded: int, holder: AddressHolder | None) -> int | None:
        """Try to allocate once, without waiting. The caller must hold the lock."""
        if self._busy:
            self._refuse_reentry()
        try:
            self._busy = True
            chunk = self._store.take(rounded, num_bytes, self._last_id + 1)
            chunk = chunk or self._allocate_from_new_region(num_bytes, rounded)
            if chunk is None:
                return None
            self._last_id += 1
            self._stats.record_alloc(chunk.size)
            if holder is not None:
                holder.address = chunk.address
            return chunk.address
        finally:
            self._busy = False
            if self._deferred:
                self._free_deferred()

    def _allocate_from_new_region(self, num_bytes: int, rounded: int) -> Chunk | None:
        extended = self._extend(rounded)
        if not extended and self._deallocate_free_regions(rounded):
            extended = self._extend(rounded)
        return self._store.take(rounded, num_bytes, self._last_id + 1) if extended else None

    def _extend(self, rounded: int) -> bool:
        """Obtain a region that can hold `rounded` bytes. Return False if that is impossible."""
        region = self._source.obtain(rounded)
        if region is None:
            return False
        self._store.add_region(region.base, region.size)
        self._stats.record_reserved(region.size)
        return True

    def _deallocate_free_regions(self, rounded: int) -> bool:
        regions = self._store.free_regions() if self._garbage_collection else []
        size = sum(region.size for region in regions)
        if not size or rounded > self._source.memory_limit - self._source.held_bytes + size:
            return False
        if rounded:  # a region is to follow
            log_regions_returned(_logger, self._name, size, len(regions))
        for region in regions:
            self._source.give_back(region, self._store)
            self._stats.record_reserved(-region.size)
        return True

    def _allocate_as_memory_returns(
        self, num_bytes: int, rounded: int, holder: AddressHolder | None
    ) -> int | None:
        """Try to allocate after each deallocation, until this succeeds or the time is up.

        Return None immediately if no other thread could free memory.
        """
        address, deadline = None, time.monotonic() + self._retry_timeout_s
        while address is None and self._others_can_free(rounded):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return None
            self._waiters += 1
            try:
                self._freed.wait(remaining)
            finally:
                self._waiters -= 1
            address = self._allocate(num_bytes, rounded, holder)
        return address

    def _others_can_free(self, rounded: int) -> bool:
        return (
            rounded <= self._source.memory_limit
            and self._stats.bytes_in_use > 0
            and threading.active_count() - self._waiters > 1
        )
