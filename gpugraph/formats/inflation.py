"""How much compressed bytes may become: a small file or string must not fill the memory."""

from __future__ import annotations

SMALL = 64 << 20
"""So many bytes may come out of any number of compressed ones."""

MOST_TIMES = 100
"""What is larger is at most so many times as large as what it comes out of."""


def most_inflated(compressed: int) -> int:
    """How many bytes at most may come out of so many compressed ones in one piece."""
    return max(SMALL, MOST_TIMES * compressed)
