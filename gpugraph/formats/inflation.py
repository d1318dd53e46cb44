"""A limit for decompression: a small file or string must not fill the memory."""

from __future__ import annotations

SMALL = 64 << 20
"""The number of bytes that any amount of compressed data may expand to."""

MAX_RATIO = 100
"""The maximum ratio of decompressed to compressed bytes beyond that."""


def most_inflated(compressed: int) -> int:
    """Return the maximum decompressed size of a piece of `compressed` bytes."""
    return max(SMALL, MAX_RATIO * compressed)
