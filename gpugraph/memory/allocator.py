"""The interface of allocators, whose addresses are integers.

An allocator hands out ranges of bytes. It returns their addresses as integers, and never reads or
writes the memory. The rules for every allocator:

- A request returns None if it is for zero bytes, for 2**63 bytes or more, or cannot be met.
  A negative size raises InvalidArgumentError.
- Freeing None does nothing. Freeing an address that is unknown to the allocator, or freed already,
  raises InvalidArgumentError with the allocator's name and the address.
- Every method may be called from any thread. `deallocate_raw` may even be called by a finalizer
  that the garbage collector runs in the middle of another call.

`retry` and `optional` determine how a failure is handled. By default a failure is final, and is
reported immediately. If `retry` is true, the allocator may first wait for another thread to free
memory. If `optional` is true, the caller has an alternative (as for scratch memory that only makes
a kernel faster), so little is logged.
"""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

from gpugraph.base.errors import FailedPreconditionError, InvalidArgumentError, invalid_argument
from gpugraph.memory.allocator_stats import AllocatorStats

ALLOCATOR_ALIGNMENT = 64
MAX_ALLOCATION_BYTES = 2**63 - 1


class HostRegion(NamedTuple):
    """A buffer of host memory. Byte i of `buffer` is the byte at address `base` + i."""

    base: int
    buffer: mmap.mmap | memoryview[int]


class LiveAllocation(NamedTuple):
    """A range in use: its address, the number of bytes requested, the number of bytes allocated,
    and the number of the allocation.
    """

    address: int
    requested: int
    allocated: int
    allocation_id: int


class AddressHolder(Protocol):
    """An object that owns an allocation and stores its address, or None."""

    address: int | None


class Allocator(ABC):
    """An object that hands out byte ranges of one memory. The module's docstring has the rules."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The allocator's name in messages and statistics."""

    @abstractmethod
    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        """Return the address of `num_bytes` or more free bytes, aligned to 64 bytes or more. Return
        None on failure.
        """

    @abstractmethod
    def deallocate_raw(self, address: int | None) -> None:
        """Free the range whose address `allocate_raw` returned."""

    def allocate_for(
        self, holder: AddressHolder, num_bytes: int, *, optional: bool = False
    ) -> bool:
        """Allocate memory like `allocate_raw`, and store the address in `holder`.

        Return whether memory was allocated. Subclasses override this so that no exception, such as
        KeyboardInterrupt, can occur between the allocation and the store.
        """
        holder.address = self.allocate_raw(num_bytes, optional=optional)
        return holder.address is not None

    def deallocate_for(self, holder: AddressHolder) -> None:
        """Free the range of `holder`, and clear its address."""
        address, holder.address = holder.address, None
        self.deallocate_raw(address)

    @property
    def tracks_allocation_sizes(self) -> bool:
        """Whether the allocator tracks the sizes and ids of live allocations."""
        return False

    def requested_size(self, address: int) -> int:
        """Return the number of bytes that were requested for a live allocation.

        Raises FailedPreconditionError if sizes are not tracked.
        """
        raise FailedPreconditionError.of_no_node(
            f"Allocator ({self.name}) keeps no sizes: the one of {address:#x} is not known."
        )

    def allocated_size(self, address: int) -> int:
        """Return the number of bytes allocated, which may exceed the number of bytes requested.
        Raises the same errors as `requested_size`.
        """
        return self.requested_size(address)

    def allocation_id(self, address: int) -> int:
        """Return the number of the allocation, counted from 1. If the allocator does not count
        allocations, return 0.
        """
        return 0

    def get_stats(self) -> AllocatorStats:
        """Return a copy of the counters. They are zero if the allocator does not count its
        allocations.
        """
        return AllocatorStats()

    def clear_stats(self) -> None:  # noqa: B027, meant to be empty
        """Reset the number of allocations and the peaks. Do nothing if the allocator does not
        count.
        """

    def host_region(self, address: int) -> HostRegion:
        """Return the host buffer that contains `address`.

        Raises FailedPreconditionError if the memory is not host memory.
        """
        raise FailedPreconditionError.of_no_node(
            f"The memory of allocator ({self.name}) is not host memory: "
            f"{address:#x} cannot be viewed."
        )

    def live_allocations(self) -> list[LiveAllocation]:
        """Return the ranges in use, sorted by address. If the allocator does not track them, return
        an empty list.
        """
        return []

    def largest_free_chunk(self) -> int | None:
        """Return the size of the largest free range in bytes, or None if it is unknown."""
        return None

    def dump_memory_log(self, num_bytes: int) -> str:
        """Return a multi-line report on the failure to allocate `num_bytes`."""
        return f"Allocator ({self.name}), Stats: \n{self.get_stats().debug_string()}"


class AllocatorWrapper(Allocator):
    """An allocator on top of another allocator, to which it forwards all calls that a subclass does
    not override.
    """

    def __init__(self, allocator: Allocator) -> None:
        self._inner = allocator

    @property
    def inner(self) -> Allocator:
        """The allocator to which this wrapper forwards its calls."""
        return self._inner

    @property
    def name(self) -> str:
        """The inner allocator's name."""
        return self._inner.name

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        """Allocate from the inner allocator."""
        return self._inner.allocate_raw(num_bytes, retry=retry, optional=optional)

    def deallocate_raw(self, address: int | None) -> None:
        """Return the range to the inner allocator."""
        self._inner.deallocate_raw(address)

    @property
    def tracks_allocation_sizes(self) -> bool:
        """Whether the inner allocator tracks sizes."""
        return self._inner.tracks_allocation_sizes

    def requested_size(self, address: int) -> int:
        """Return the number of bytes that were requested for this address."""
        return self._inner.requested_size(address)

    def allocated_size(self, address: int) -> int:
        """Return the number of bytes that the inner allocator uses for this address."""
        return self._inner.allocated_size(address)

    def allocation_id(self, address: int) -> int:
        """Return the inner allocator's id of the allocation at this address."""
        return self._inner.allocation_id(address)

    def get_stats(self) -> AllocatorStats:
        """Return the inner allocator's counters."""
        return self._inner.get_stats()

    def clear_stats(self) -> None:
        """Reset the inner allocator's counters."""
        self._inner.clear_stats()

    def host_region(self, address: int) -> HostRegion:
        """Return the inner allocator's host buffer that contains `address`."""
        return self._inner.host_region(address)

    def live_allocations(self) -> list[LiveAllocation]:
        """Return the inner allocator's ranges in use."""
        return self._inner.live_allocations()

    def largest_free_chunk(self) -> int | None:
        """Return the size of the inner allocator's largest free range."""
        return self._inner.largest_free_chunk()

    def dump_memory_log(self, num_bytes: int) -> str:
        """Return the inner allocator's report."""
        return self._inner.dump_memory_log(num_bytes)


def validate_num_bytes(name: str, num_bytes: int) -> bool:
    """Return whether an allocator could meet a request of this size.

    Zero bytes, and 2**63 bytes or more, can never be met. Raises InvalidArgumentError if the size
    is negative.
    """
    if num_bytes < 0:
        raise invalid_argument(
            f"Allocator ({name}) was asked for a negative size: {num_bytes} bytes."
        )
    return 0 < num_bytes <= MAX_ALLOCATION_BYTES


def unknown_address(name: str, wanted: str, address: object) -> InvalidArgumentError:
    """Return the error for an address that is not in use.

    Args:
      wanted: the failed action, such as "to free", for the message.
    """
    shown = f"{address:#x}" if isinstance(address, int) else repr(address)
    return invalid_argument(
        f"Allocator ({name}) was asked {wanted} {shown}, "
        "an address it never allocated or has already taken back."
    )
