"""A wrapper that records how one consumer uses an allocator. It records sizes, a high watermark,
and each call.

There are three cases, as in TensorFlow:

- The inner allocator tracks sizes: the sizes that it allocates are counted.
- The inner allocator does not track sizes, but `track_sizes` is set: the wrapper itself tracks
  sizes and ids. It counts the requested sizes, and the ids are 1, 2, 3 and so on.
- Otherwise, only requests are counted. The high watermark and the live bytes stay 0, and frees are
  not recorded.

After `get_records_and_unref`, the wrapper can be used until its last allocation has been freed.
Then it is spent and refuses further use.

The lock is reentrant, because the garbage collector may run a finalizer that frees memory while
this thread holds it. The counts stay correct even if a finalizer interrupts a method of this
module.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from gpugraph.base.errors import FailedPreconditionError
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.memory.allocator import Allocator, AllocatorWrapper, unknown_address


class AllocRecord(NamedTuple):
    """The record of a call, with the number of bytes allocated (negative if freed), and the time in
    microseconds since 1970.
    """

    alloc_bytes: int
    alloc_micros: int


class _Local(NamedTuple):
    num_bytes: int
    allocation_id: int


class TrackingAllocator(AllocatorWrapper):
    """An allocator that counts its allocations and their bytes.

    Args:
      track_sizes: whether to track sizes here if the inner allocator does not.
    """

    def __init__(self, allocator: Allocator, track_sizes: bool) -> None:
        super().__init__(allocator)
        self._lock = new_rlock(brief=True)
        self._local = track_sizes and not allocator.tracks_allocation_sizes
        self._in_use: dict[int, _Local] = {}
        self._last_id = 0
        self._references = 1
        self._allocated = 0
        self._high_watermark = 0
        self._total = 0
        self._records: list[AllocRecord] = []

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        """Allocate from the inner allocator. Raises FailedPreconditionError if the wrapper is
        spent.
        """
        self._refuse_if_spent()
        address = self._inner.allocate_raw(num_bytes, retry=retry, optional=optional)
        if address is None:
            return None
        tracked = self._inner.tracks_allocation_sizes
        size = self._inner.allocated_size(address) if tracked else num_bytes
        record = AllocRecord(size, _now_micros())
        with self._lock:
            self._references += 1
            self._total += size
            self._records.append(record)
            if self._local:
                self._last_id += 1
                self._in_use[address] = _Local(num_bytes, self._last_id)
            if tracked or self._local:
                self._allocated += size
                self._high_watermark = max(self._high_watermark, self._allocated)
        return address

    def deallocate_raw(self, address: int | None) -> None:
        """Free a range. If the size of the range is tracked, record the call."""
        if address is None:
            return
        size: int | None = None
        if self._inner.tracks_allocation_sizes:
            size = self._inner.allocated_size(address)
        with self._lock:
            if self._local:
                local = self._in_use.pop(address, None)
                if local is None:
                    raise unknown_address(self.name, "to free", address)
                size = local.num_bytes
            if size is not None:
                self._allocated -= size
                self._records.append(AllocRecord(-size, _now_micros()))
            self._references -= 1
        self._inner.deallocate_raw(address)

    @property
    def tracks_allocation_sizes(self) -> bool:
        """Whether the wrapper or the inner allocator tracks sizes."""
        return self._local or self._inner.tracks_allocation_sizes

    def requested_size(self, address: int) -> int:
        """Return the number of bytes that were requested for a live allocation."""
        if not self._local:
            return self._inner.requested_size(address)
        return self._live(address, "for the requested size of").num_bytes

    def allocated_size(self, address: int) -> int:
        """Return the number of bytes allocated. If the wrapper itself tracks sizes, this is the
        number of bytes requested.
        """
        if not self._local:
            return self._inner.allocated_size(address)
        return self._live(address, "for the allocated size of").num_bytes

    def allocation_id(self, address: int) -> int:
        """Return the number of the allocation."""
        if not self._local:
            return self._inner.allocation_id(address)
        return self._live(address, "for the allocation id of").allocation_id

    def get_sizes(self) -> tuple[int, int, int]:
        """Return the total of all bytes allocated so far, the peak of live bytes, and the number of
        live bytes.
        """
        with self._lock:
            return self._total, self._high_watermark, self._allocated

    def get_current_records(self) -> list[AllocRecord]:
        """Return a copy of the records that `get_records_and_unref` has not returned yet."""
        with self._lock:
            return list(self._records)

    def get_records_and_unref(self) -> list[AllocRecord]:
        """Return the records and clear the list. The wrapper becomes spent once all its allocations
        have been freed.

        Raises FailedPreconditionError if the wrapper is spent already.
        """
        with self._lock:
            self._refuse_if_spent()
            self._references -= 1
            records, self._records = self._records, []
            return records

    @property
    def spent(self) -> bool:
        """Whether `get_records_and_unref` was called and all allocations have been freed."""
        return self._references <= 0

    def _refuse_if_spent(self) -> None:
        if self.spent:
            raise FailedPreconditionError.of_no_node(
                f"The records of this tracking allocator over ({self.name}) were fetched and all "
                "its memory was freed: wrap the allocator anew."
            )

    def _live(self, address: int, wanted: str) -> _Local:
        with self._lock:
            local = self._in_use.get(address)
        if local is None:
            raise unknown_address(self.name, wanted, address)
        return local


def _now_micros() -> int:
    return time.time_ns() // 1000
