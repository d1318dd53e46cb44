"""Memory regions: sub-allocators for BFC allocators, which obtain a GPU's memory and pinned host
memory from a CUDA driver.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.devices.cuda.driver.driver_interface import Driver
from gpugraph.memory import HostRegion, HostRegions, SubAllocator, no_such_region

_ALIGNMENT = 256
"""The alignment in bytes that CUDA guarantees for both kinds of memory."""


class DeviceSubAllocator(SubAllocator):
    """A sub-allocator that obtains regions of a GPU's memory. The host can't access this memory."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._lock = new_lock()
        self._sizes: dict[int, int] = {}

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """Allocate a region and return its address. If there is not enough memory, return None.
        Raises InvalidArgumentError if the alignment is above `_ALIGNMENT`.
        """
        _check_alignment(self, alignment)
        address = self._driver.malloc(num_bytes)
        if address is not None:
            with self._lock:
                self._sizes[address] = num_bytes
        return address

    def free(self, address: int, num_bytes: int) -> None:
        """Free a region after waiting for all commands on the GPU, as cudaFree does.

        Raises InvalidArgumentError if no allocated region has this address and size.
        """
        with self._lock:
            if self._sizes.get(address) != num_bytes:
                raise no_such_region(self, address, num_bytes)
            del self._sizes[address]
        self._driver.free(address)


class PinnedSubAllocator(SubAllocator):
    """A sub-allocator that obtains regions of pinned host memory, which the GPU can copy
    asynchronously.

    A freed region is unmapped immediately, so arrays in it become invalid.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._regions = HostRegions("pinned")

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """Allocate a region and return its address. If there is not enough memory, return None.
        Raises InvalidArgumentError if the alignment is above `_ALIGNMENT`.
        """
        _check_alignment(self, alignment)
        region = self._driver.malloc_host(num_bytes)
        if region is None:
            return None
        self._regions.add(region)
        return region.base

    def free(self, address: int, num_bytes: int) -> None:
        """Free a region. Raises InvalidArgumentError if no allocated region has this address and
        size.
        """
        if not self._regions.remove(address, num_bytes):
            raise no_such_region(self, address, num_bytes)
        self._driver.free_host(address)

    def region(self, address: int) -> HostRegion:
        """Return the region that contains `address`. Raises InvalidArgumentError if no region
        contains the address.
        """
        return self._regions.find(address)


def _check_alignment(sub_allocator: Any, alignment: int) -> None:
    if alignment > _ALIGNMENT:
        raise invalid_argument(
            f"{type(sub_allocator).__name__} gives regions aligned to {_ALIGNMENT} bytes, an "
            f"alignment of {alignment} cannot be had."
        )
