"""Adaptors: allocators on top of other allocators that record, log or refuse requests. They can be
stacked in any order.

    LimitingAllocator    refuses requests beyond a limit            (limiting_allocator.py)
    TrackingAllocator    statistics of one consumer                 (tracking_allocator.py)
    RecordingAllocator   a trace of allocations and frees, for replay
    LoggingAllocator     a line of the log for each call
    FailingAllocator     refuses chosen requests, as an allocator without memory does

They are modelled on the resource adaptors of RMM (RAPIDS Memory Manager). All addresses come from
the inner allocator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.memory.allocation_traces import AllocationTrace, Event
from gpugraph.memory.allocator import Allocator, AllocatorWrapper, HostRegion, unknown_address
from gpugraph.memory.sub_allocator import SubAllocator

_logger = logging.getLogger(__name__)


class RecordingAllocator(AllocatorWrapper):
    """An allocator that records allocations and frees in `trace`. Buffers are numbered from 1, in
    order of allocation.
    """

    def __init__(self, allocator: Allocator) -> None:
        super().__init__(allocator)
        self.trace = AllocationTrace()
        self._lock = new_rlock(brief=True)
        self._buffers: dict[int, int] = {}
        self._last = 0

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        """Allocate from the inner allocator. Failures are not recorded."""
        address = self._inner.allocate_raw(num_bytes, retry=retry, optional=optional)
        if address is not None:
            with self._lock:
                self._last += 1
                self._buffers[address] = self._last
                self.trace.add(Event(self._last, num_bytes))
        return address

    def deallocate_raw(self, address: int | None) -> None:
        """Return the range to the inner allocator, and record it. Raises InvalidArgumentError if
        this wrapper did not allocate the range.
        """
        if address is None:
            return
        with self._lock:
            buffer = self._buffers.pop(address, None)
            if buffer is None:
                raise unknown_address(self.name, "to free", address)
            self.trace.add(Event(buffer, None))
        self._inner.deallocate_raw(address)


class LoggingAllocator(AllocatorWrapper):
    """An allocator that logs each call and its result. The function `log` receives a line of text.
    By default, it is the method `info` of a logger.
    """

    def __init__(self, allocator: Allocator, log: Callable[[str], object] = _logger.info) -> None:
        super().__init__(allocator)
        self._log = log

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        """Allocate from the inner allocator."""
        address = self._inner.allocate_raw(num_bytes, retry=retry, optional=optional)
        place = "refused" if address is None else f"at {address:#x}"
        self._log(f"{self.name} allocate {num_bytes} {place}")
        return address

    def deallocate_raw(self, address: int | None) -> None:
        """Return the range to the inner allocator."""
        self._inner.deallocate_raw(address)
        if address is not None:
            self._log(f"{self.name} free at {address:#x}")


class FailingAllocator(AllocatorWrapper):
    """An allocator for tests, which refuses the requests for which `refuses(number, num_bytes)` is
    true.

    A refused request returns None. `number` is the number of the request, counted from 0.
    """

    def __init__(self, allocator: Allocator, refuses: Callable[[int, int], bool]) -> None:
        super().__init__(allocator)
        self.refuses = refuses
        self.num_requests = 0

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        """Allocate from the inner allocator, or return None if the request is refused."""
        number, self.num_requests = self.num_requests, self.num_requests + 1
        if self.refuses(number, num_bytes):
            return None
        return self._inner.allocate_raw(num_bytes, retry=retry, optional=optional)


class FailingSubAllocator(SubAllocator):
    """A sub-allocator for tests, which refuses the regions for which `refuses(number, num_bytes)`
    is true.

    A refused request returns None. `number` is the number of the request, counted from 0.
    """

    def __init__(self, inner: SubAllocator, refuses: Callable[[int, int], bool]) -> None:
        self.inner = inner
        self.refuses = refuses
        self.num_requests = 0

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """Allocate from the inner sub-allocator, or return None if the request is refused."""
        number, self.num_requests = self.num_requests, self.num_requests + 1
        return None if self.refuses(number, num_bytes) else self.inner.alloc(alignment, num_bytes)

    def free(self, address: int, num_bytes: int) -> None:
        """Return the region to the inner sub-allocator."""
        self.inner.free(address, num_bytes)

    def region(self, address: int) -> HostRegion:
        """Return the region of the inner sub-allocator that contains the address."""
        return self.inner.region(address)
