"""A limit on decompressed sizes, so that a small malicious file can't fill the memory."""

from __future__ import annotations

SMALL = 64 << 20
"""This decompressed size in bytes is always allowed, whatever the compressed size is."""

MAX_RATIO = 100
"""The maximum ratio of decompressed to compressed size above `SMALL`."""


def most_inflated(compressed: int) -> int:
    """Return the maximum decompressed size of `compressed` bytes that is allowed."""
    return max(SMALL, MAX_RATIO * compressed)
