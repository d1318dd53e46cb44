"""The allocator interface: arithmetic on integer addresses.

An allocator hands out ranges of bytes by their address, an integer of its own memory space; it
never touches the bytes. The rules for every allocator:

- A request for zero bytes, one that cannot be met and one of 2**63 bytes or more give None.
  A negative size raises InvalidArgumentError.
- Freeing None does nothing. An address that the allocator does not know, or has taken back,
  raises InvalidArgumentError naming the allocator and the address.
- Every method may be called from any thread, and `deallocate_raw` even from a finalizer which the
  garbage collector runs in the middle of another call.

`retry` and `optional` say what a failure means. By default it is final and reported at once.
With `retry` the allocator may first wait for another thread to free something. With `optional`
the caller can do without (scratch space that makes a kernel faster), so little is logged.
"""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from typing import NamedTuple

from gpugraph.base.errors import FailedPreconditionError, InvalidArgumentError, invalid_argument
from gpugraph.memory.allocator_stats import AllocatorStats

ALLOCATOR_ALIGNMENT = 64
MAX_ALLOCATION_BYTES = 2**63 - 1


class HostRegion(NamedTuple):
    """Host memory as a buffer: byte i of `buffer` is the byte at address `base` + i."""

    base: int
    buffer: mmap.mmap | memoryview[int]


class LiveAllocation(NamedTuple):
    """A range in use: address, bytes asked for, bytes handed out, and the allocation's id."""

    address: int
    requested: int
    allocated: int
    allocation_id: int


class Allocator(ABC):
    """Hands out byte ranges of one memory space; see the module for the rules."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that messages and statistics show."""

    @abstractmethod
    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        """The address of at least `num_bytes` free bytes, aligned to 64 or more, or None."""

    @abstractmethod
    def deallocate_raw(self, address: int | None) -> None:
        """Takes a range back by the address that `allocate_raw` gave."""

    @property
    def tracks_allocation_sizes(self) -> bool:
        """Whether the sizes and ids of live allocations can be asked for."""
        return False

    def requested_size(self, address: int) -> int:
        """The bytes asked for. Raises FailedPreconditionError where sizes are not tracked."""
        raise FailedPreconditionError(
            None,
            None,
            f"Allocator ({self.name}) keeps no sizes: the one of {address:#x} is not known.",
        )

    def allocated_size(self, address: int) -> int:
        """The bytes handed out, never less than asked for. Raises as `requested_size`."""
        return self.requested_size(address)

    def allocation_id(self, address: int) -> int:
        """The number of the allocation, from 1 in order; 0 where they are not numbered."""
        return 0

    def get_stats(self) -> AllocatorStats:
        """A copy of the counters; all zero where none are kept."""
        return AllocatorStats()

    def clear_stats(self) -> None:  # noqa: B027, meant to be empty
        """Restarts the counts of allocations and peaks; does nothing where none are kept."""

    def host_region(self, address: int) -> HostRegion:
        """The host buffer that holds `address`.

        Raises FailedPreconditionError where the memory cannot be reached from the host.
        """
        raise FailedPreconditionError(
            None,
            None,
            f"The memory of allocator ({self.name}) is no host memory: "
            f"{address:#x} cannot be viewed.",
        )

    def live_allocations(self) -> list[LiveAllocation]:
        """What is in use, by address; empty where it is not tracked."""
        return []

    def largest_free_chunk(self) -> int | None:
        """The largest hole in bytes, or None where it is not known."""
        return None

    def dump_memory_log(self, num_bytes: int) -> str:
        """A report, many lines long, on why `num_bytes` could not be had."""
        return f"Allocator ({self.name}), Stats: \n{self.get_stats().debug_string()}"


class AllocatorWrapper(Allocator):
    """An allocator on top of another: everything passes through unless overridden."""

    def __init__(self, allocator: Allocator) -> None:
        self._inner = allocator

    @property
    def inner(self) -> Allocator:
        """The allocator below."""
        return self._inner

    @property
    def name(self) -> str:
        return self._inner.name

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        return self._inner.allocate_raw(num_bytes, retry=retry, optional=optional)

    def deallocate_raw(self, address: int | None) -> None:
        self._inner.deallocate_raw(address)

    @property
    def tracks_allocation_sizes(self) -> bool:
        return self._inner.tracks_allocation_sizes

    def requested_size(self, address: int) -> int:
        return self._inner.requested_size(address)

    def allocated_size(self, address: int) -> int:
        return self._inner.allocated_size(address)

    def allocation_id(self, address: int) -> int:
        return self._inner.allocation_id(address)

    def get_stats(self) -> AllocatorStats:
        return self._inner.get_stats()

    def clear_stats(self) -> None:
        self._inner.clear_stats()

    def host_region(self, address: int) -> HostRegion:
        return self._inner.host_region(address)

    def live_allocations(self) -> list[LiveAllocation]:
        return self._inner.live_allocations()

    def largest_free_chunk(self) -> int | None:
        return self._inner.largest_free_chunk()

    def dump_memory_log(self, num_bytes: int) -> str:
        return self._inner.dump_memory_log(num_bytes)


def validate_num_bytes(name: str, num_bytes: int) -> bool:
    """Whether a request is worth trying: False for zero and for 2**63 and more.

    Raises InvalidArgumentError for a negative size.
    """
    if num_bytes < 0:
        raise invalid_argument(
            f"Allocator ({name}) was asked for a negative size: {num_bytes} bytes."
        )
    return 0 < num_bytes <= MAX_ALLOCATION_BYTES


def unknown_address(name: str, wanted: str, address: object) -> InvalidArgumentError:
    """The error for an address that is not in use; `wanted` is what was asked of it."""
    shown = f"{address:#x}" if isinstance(address, int) else repr(address)
    return invalid_argument(
        f"Allocator ({name}) was asked {wanted} {shown}, "
        "an address it never allocated or has already taken back."
    )
