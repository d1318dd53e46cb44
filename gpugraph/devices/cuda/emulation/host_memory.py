"""The memory of an emulated GPU: anonymous mappings (mmap) of host memory."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from bisect import bisect_right, insort

from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.memory import HostRegion


class Regions:
    """Mappings of one kind, with at most `limit` bytes in total.

    Args:
      fill: the value of each byte in new memory. None means 0.
    """

    def __init__(self, kind: str, limit: int, fill: int | None = None) -> None:
        self.kind = kind
        self.limit = limit
        self.used = 0
        self._fill = fill
        self._starts: list[int] = []
        self._buffers: dict[int, mmap.mmap] = {}

    def take(self, num_bytes: int) -> HostRegion | None:
        """Allocate memory. Return None if the allocation would exceed the limit, or if the host has
        no more memory.
        """
        size = max(num_bytes, 1)
        if self.used + size > self.limit:
            return None
        try:
            buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            return None
        base = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        if self._fill is not None:
            ctypes.memset(base, self._fill, size)
        insort(self._starts, base)
        self._buffers[base] = buffer
        self.used += size
        return HostRegion(base, buffer)

    def give_back(self, address: int) -> int:
        """Free the memory at `address` and return its size in bytes. Raises DriverError if
        `address` is not the start of an allocation.
        """
        buffer = self._buffers.pop(address, None)
        if buffer is None:
            raise DriverError(f"{address:#x} is no {self.kind} memory that was allocated", 1)
        self._starts.remove(address)
        size = len(buffer)
        self.used -= size
        with contextlib.suppress(BufferError):  # an array still views it, and unmaps it later
            buffer.close()
        return size

    def holds(self, address: int, num_bytes: int) -> bool:
        """Return whether all these bytes are in a single mapping."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return False
        start = self._starts[index]
        return address + num_bytes <= start + len(self._buffers[start])

    def clear(self) -> None:
        """Free all memory."""
        for address in list(self._buffers):
            self.give_back(address)
