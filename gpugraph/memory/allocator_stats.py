"""Statistics of an allocator: counts and bytes, with the names and the text format of TensorFlow.

`bytes_in_use` counts the bytes that callers have, including rounding. `bytes_reserved` counts the
bytes obtained from the layer below, whether in use or not.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class AllocatorStats:
    """The counters of one allocator. All counters are bytes, except for `num_allocs`. A limit of
    None means no limit.
    """

    num_allocs: int = 0
    bytes_in_use: int = 0
    peak_bytes_in_use: int = 0
    largest_alloc_size: int = 0
    bytes_limit: int | None = None
    bytes_reserved: int = 0
    peak_bytes_reserved: int = 0
    bytes_reservable_limit: int | None = None

    def record_alloc(self, num_bytes: int) -> None:
        """Count one allocation of `num_bytes`."""
        self.num_allocs += 1
        self.bytes_in_use += num_bytes
        if self.bytes_in_use > self.peak_bytes_in_use:
            self.peak_bytes_in_use = self.bytes_in_use
        if num_bytes > self.largest_alloc_size:
            self.largest_alloc_size = num_bytes

    def record_reserved(self, num_bytes: int) -> None:
        """Count `num_bytes` that were obtained from the layer below. A negative number means bytes
        that were returned to that layer.
        """
        self.bytes_reserved += num_bytes
        self.peak_bytes_reserved = max(self.peak_bytes_reserved, self.bytes_reserved)

    def clear(self) -> None:
        """Set the number of allocations to zero, and the peak to the bytes that are in use now."""
        self.num_allocs = 0
        self.peak_bytes_in_use = self.bytes_in_use
        self.largest_alloc_size = 0

    def debug_string(self) -> str:
        """Return five lines of text with right-aligned figures. A missing limit is shown as 0."""
        rows = (
            ("Limit:", self.bytes_limit or 0),
            ("InUse:", self.bytes_in_use),
            ("MaxInUse:", self.peak_bytes_in_use),
            ("NumAllocs:", self.num_allocs),
            ("MaxAllocSize:", self.largest_alloc_size),
        )
        return "".join(f"{label:<13} {value:>20d}\n" for label, value in rows)


def human_readable_bytes(num_bytes: int) -> str:
    """Format bytes as TensorFlow does: 512B, 1.5KiB, 1.00MiB, -2.00GiB."""
    sign = "-" if num_bytes < 0 else ""
    magnitude = abs(num_bytes)
    if magnitude < 1024:
        return f"{sign}{magnitude}B"
    unit = 0
    while magnitude >= 1024 * 1024:
        magnitude //= 1024
        unit += 1
    digits = 1 if unit == 0 else 2
    return f"{sign}{magnitude / 1024:.{digits}f}{'KMGTPEZY'[min(unit, 7)]}iB"
