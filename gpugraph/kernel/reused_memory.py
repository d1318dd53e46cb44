"""The memory of large arrays. When an array is no longer used, its memory is used for another
array.

    array = empty_array((256, 256, 3), np.dtype(np.uint8))

New memory causes a page fault for each 4 KiB, which takes as long as writing 4 KiB. The memory that
was freed last is used first, because it is still in the processor's cache.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.fork_safe_locks import new_lock

LARGE_ARRAY = 1 << 16
"""The minimum size in bytes of an array whose memory is used again."""

_MOST_BYTES = 1 << 25
"""The maximum size of the free memory that is kept."""

_ALIGNMENT = 64
"""The alignment of the memory in bytes, that of a cache line."""

_LOOKS = 8
"""The number of the last freed buffers that are examined for an array."""


class _Lease(np.ndarray):
    """A view of a buffer. When the view is deleted, it returns the buffer to the pool.

    All arrays in the buffer, and all their views, refer to the lease. The buffer is a bytearray,
    because NumPy would replace the lease by the buffer if the buffer were an array, too.
    """

    def __del__(self) -> None:
        buffer: Any = self.base
        if type(buffer) is bytearray:
            _POOL.give_back(buffer)


class _Pool:
    """The buffers that no array uses."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._free: list[Any] = []
        self._bytes = 0

    def take(self, size: int) -> Any:
        """Return a buffer with room for `size` bytes at an aligned address."""
        with self._lock:
            free = self._free
            for place in range(len(free) - 1, max(-1, len(free) - 1 - _LOOKS), -1):
                if size + _ALIGNMENT <= len(free[place]) <= 2 * size:
                    buffer = free.pop(place)
                    self._bytes -= len(buffer)
                    return buffer
        return bytearray(size + _ALIGNMENT)

    def give_back(self, buffer: Any) -> None:
        """Keep a buffer for the next array. Drop the oldest buffers if there are too many."""
        # a deletion may interrupt this thread inside the lock; then the buffer is dropped
        if not self._lock.acquire(blocking=False):
            return
        dropped = []
        try:
            self._free.append(buffer)
            self._bytes += len(buffer)
            while self._bytes > _MOST_BYTES:
                dropped.append(self._free.pop(0))
                self._bytes -= len(dropped[-1])
        finally:
            self._lock.release()


_POOL = _Pool()


def is_from_empty_array(array: Any) -> bool:
    """Return whether an array is the result of `empty_array`, with reused memory, or the only view
    of such an array.
    """
    base: Any = getattr(array, "base", None)  # arrays of GPUs have none
    if type(base) is _Lease:
        return True
    is_view = type(base) is np.ndarray and type(base.base) is _Lease
    return is_view and sys.getrefcount(base) == _OF_BASE and 2 * array.nbytes >= base.nbytes


def is_only_in(arrays: Sequence[Any], place: int) -> bool:
    """Return whether only the sequence refers to the array at index `place`."""
    return sys.getrefcount(arrays[place]) == _IN_ONE_PLACE


def _references() -> int:
    arrays = [np.empty(1)]
    return sys.getrefcount(arrays[0])


_IN_ONE_PLACE = _references()


def _references_to_base() -> int:
    array = np.empty(4)[:]
    base = array.base
    return sys.getrefcount(base)


_OF_BASE = _references_to_base()


def empty_array(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array of undefined content. If it is large, it may get the memory of an array that
    was deleted.
    """
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or not LARGE_ARRAY <= size <= _MOST_BYTES:
        return np.empty(shape, dtype)
    buffer = _POOL.take(size)
    address = np.frombuffer(buffer, np.uint8, 1).__array_interface__["data"][0]
    lease = np.ndarray.__new__(_Lease, size, np.uint8, buffer, -address % _ALIGNMENT)
    return np.ndarray(shape, dtype, lease)
