"""Sub-allocators over a CUDA driver, for BFC: of a GPU's memory, and of pinned host memory."""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from typing import Any

from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.devices.cuda.driver.driver_interface import Driver
from gpugraph.memory import HostRegion, SubAllocator

_ALIGNMENT = 256
"""The least alignment of both kinds of memory by CUDA."""


class DeviceSubAllocator(SubAllocator):
    """Regions of a GPU's memory. The host can't view them."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._lock = threading.Lock()
        self._sizes: dict[int, int] = {}

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """A region, or None. InvalidArgumentError for an alignment that CUDA does not guarantee."""
        _check_alignment(self, alignment)
        address = self._driver.malloc(num_bytes)
        if address is not None:
            with self._lock:
                self._sizes[address] = num_bytes
        return address

    def free(self, address: int, num_bytes: int) -> None:
        """Frees a region. InvalidArgumentError for anything but a region that is allocated.

        Waits for all work on the GPU, as cudaFree does.
        """
        with self._lock:
            if self._sizes.get(address) != num_bytes:
                raise _no_such_region(self, address, num_bytes)
            del self._sizes[address]
        self._driver.free(address)


class PinnedSubAllocator(SubAllocator):
    """Regions of pinned host memory, between which and the GPU copies are asynchronous.

    A region that is freed is unmapped at once: arrays over it are invalid.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._lock = threading.Lock()
        self._bases: list[int] = []
        self._regions: dict[int, tuple[int, HostRegion]] = {}

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        """A region, or None. InvalidArgumentError for an alignment that CUDA does not guarantee."""
        _check_alignment(self, alignment)
        region = self._driver.malloc_host(num_bytes)
        if region is None:
            return None
        with self._lock:
            insort(self._bases, region.base)
            self._regions[region.base] = num_bytes, region
        return region.base

    def free(self, address: int, num_bytes: int) -> None:
        """Frees a region. InvalidArgumentError for anything but a region that is allocated."""
        with self._lock:
            if self._regions.get(address, (None,))[0] != num_bytes:
                raise _no_such_region(self, address, num_bytes)
            del self._regions[address]
            self._bases.remove(address)
        self._driver.free_host(address)

    def region(self, address: int) -> HostRegion:
        """The region that holds `address`. InvalidArgumentError if there is none."""
        with self._lock:
            index = bisect_right(self._bases, address) - 1
            if index >= 0:
                base = self._bases[index]
                size, region = self._regions[base]
                if address < base + size:
                    return region
        raise invalid_argument(f"No pinned region holds the address {address:#x}.")


def _check_alignment(sub_allocator: Any, alignment: int) -> None:
    if alignment > _ALIGNMENT:
        raise invalid_argument(
            f"{type(sub_allocator).__name__} gives regions aligned to {_ALIGNMENT} bytes, an "
            f"alignment of {alignment} cannot be had."
        )


def _no_such_region(sub_allocator: Any, address: int, num_bytes: int) -> InvalidArgumentError:
    return invalid_argument(
        f"{type(sub_allocator).__name__} has no region of {num_bytes} bytes at {address:#x}."
    )
