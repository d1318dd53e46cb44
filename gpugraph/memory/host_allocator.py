"""The host's allocator, which is BFC over host memory with the machine's memory as its limit.

TensorFlow uses malloc here. This allocator has the same name as TensorFlow's. Unlike malloc, it
tracks sizes, keeps statistics and reports failures.
"""

from __future__ import annotations

import os

from gpugraph.memory.bfc.bfc_allocator import BFCAllocator
from gpugraph.memory.sub_allocator import HostSubAllocator

_UNKNOWN_MEMORY_BYTES = 1 << 40


def new_cpu_allocator() -> BFCAllocator:
    """Create an allocator of host memory named "cpu" that grows as needed."""
    return BFCAllocator(HostSubAllocator(), physical_memory_bytes(), "cpu", allow_growth=True)


def physical_memory_bytes() -> int:
    """Return the machine's memory in bytes, or 1 TiB if the system does not report it."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MEMORY_BYTES
    return size if size > 0 else _UNKNOWN_MEMORY_BYTES
