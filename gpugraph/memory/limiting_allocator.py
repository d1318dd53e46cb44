"""A limit on the number of bytes that one consumer takes from an allocator.

If the inner allocator tracks sizes, the wrapper counts the bytes that the inner allocator
allocates. Otherwise it counts the bytes requested. A request that would exceed the limit returns
None immediately, even with `retry`, since no other consumer can free memory of this limit.

The requested bytes are reserved before the inner allocator is called. Several threads together
therefore never exceed the limit, and no lock is held while the inner allocator waits. If the
allocation exceeds the limit because of rounding, it is freed again and refused.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from gpugraph.base.errors import invalid_argument
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.memory.allocator import (
    Allocator,
    AllocatorWrapper,
    LiveAllocation,
    unknown_address,
    validate_num_bytes,
)
from gpugraph.memory.allocator_stats import AllocatorStats, human_readable_bytes

_logger = logging.getLogger(__name__)


class LimitingAllocator(AllocatorWrapper):
    """An allocator that limits the bytes in use through it to `limit_bytes`, and has separate
    statistics.

    Raises InvalidArgumentError if the limit is negative.
    """

    def __init__(self, allocator: Allocator, limit_bytes: int) -> None:
        if limit_bytes < 0:
            raise invalid_argument(
                f"A limit on ({allocator.name}) must not be negative: {limit_bytes}."
            )
        super().__init__(allocator)
        self._limit = limit_bytes
        self._lock = new_rlock(brief=True)  # reentrant: a finalizer may free while it is held
        self._reserved = 0
        self._in_use: dict[int, int] = {}
        self._stats = AllocatorStats(bytes_limit=limit_bytes)

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        """Allocate from the inner allocator, or return None if the limit would be exceeded."""
        if not validate_num_bytes(self.name, num_bytes):
            return None
        if not self._reserve(num_bytes):
            self._log_refusal(num_bytes, optional)
            return None
        address = None
        try:
            address = self._inner.allocate_raw(num_bytes, retry=retry, optional=optional)
        finally:
            if address is None:
                self._reserve(-num_bytes)
        if address is None:
            return None
        tracked = self._inner.tracks_allocation_sizes
        size = self._inner.allocated_size(address) if tracked else num_bytes
        if not self._reserve(size - num_bytes):
            self._reserve(-num_bytes)
            self._inner.deallocate_raw(address)
            self._log_refusal(num_bytes, optional)
            return None
        with self._lock:
            self._in_use[address] = size
            self._stats.record_alloc(size)
        return address

    def deallocate_raw(self, address: int | None) -> None:
        """Free a range. Raises InvalidArgumentError if it was not allocated through this
        wrapper.
        """
        if address is None:
            return
        with self._lock:
            size = self._in_use.pop(address, None)
            if size is None:
                raise unknown_address(self.name, "to free", address)
            self._stats.bytes_in_use -= size
        self._inner.deallocate_raw(address)
        self._reserve(-size)

    def get_stats(self) -> AllocatorStats:
        """Return a copy of the counters of this wrapper, not of the inner allocator."""
        with self._lock:
            return replace(self._stats)

    def clear_stats(self) -> None:
        """Reset the number of allocations and the peaks of this wrapper."""
        with self._lock:
            self._stats.clear()

    def live_allocations(self) -> list[LiveAllocation]:
        """Return the ranges in use through this wrapper, sorted by address."""
        with self._lock:
            addresses = set(self._in_use)
        return [live for live in self._inner.live_allocations() if live.address in addresses]

    def largest_free_chunk(self) -> int | None:
        """Return the size of the inner allocator's largest free range, or the remainder of the
        limit if that is smaller.
        """
        hole = self._inner.largest_free_chunk()
        if hole is None:
            return None
        with self._lock:
            return min(hole, self._limit - self._reserved)

    def _reserve(self, num_bytes: int) -> bool:
        """Reserve bytes unless that would exceed the limit. A negative number releases bytes."""
        with self._lock:
            if num_bytes > 0 and self._reserved + num_bytes > self._limit:
                return False
            self._reserved += num_bytes
            return True

    def _log_refusal(self, num_bytes: int, optional: bool) -> None:
        if not optional:
            _logger.warning(
                "%s from allocator (%s) would exceed its limit of %s: %s are in use.",
                human_readable_bytes(num_bytes),
                self.name,
                human_readable_bytes(self._limit),
                human_readable_bytes(self._stats.bytes_in_use),
            )
