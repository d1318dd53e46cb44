"""The error of an allocation that failed, with the figures that explain it."""

from __future__ import annotations

from typing import Protocol

from gpugraph.base.errors import ResourceExhaustedError
from gpugraph.memory import Allocator, human_readable_bytes

MOST_OWNERS = 5
"""Allocations that the message names, the largest first."""


class MemorySpace(Protocol):
    """What the report reads of a device."""

    name: str
    allocator: Allocator
    owners: dict[int, tuple[int, str]]

    def memory_note(self) -> str:
        """What else there is to report when memory is out."""


def out_of_memory(device: MemorySpace, num_bytes: int, what: str) -> ResourceExhaustedError:
    """The error that `num_bytes` for `what` did not fit: use, limit, largest hole and owners."""
    stats = device.allocator.get_stats()
    hole = device.allocator.largest_free_chunk()
    if hole is not None and stats.bytes_limit is not None:
        hole = max(hole, stats.bytes_limit - stats.bytes_reserved)  # what can still be reserved
    limit = "no limit" if stats.bytes_limit is None else f"limit {stats.bytes_limit} bytes"
    largest = sorted(device.owners.values(), reverse=True)[:MOST_OWNERS]
    owners = ", ".join(f"{human_readable_bytes(size)} by '{owner}'" for size, owner in largest)
    return ResourceExhaustedError.of_no_node(
        f"OOM when allocating {num_bytes} bytes for {what} on {device.name} by allocator "
        f"{device.allocator.name}: {stats.bytes_in_use} bytes in use, {limit}, largest hole "
        f"{'unknown' if hole is None else hole} bytes"
        + (f"; most is held: {owners}" if owners else "")
        + device.memory_note()
        + ". The session stays usable."
    )
