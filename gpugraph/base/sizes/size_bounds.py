"""Bounds of open sizes that hold for all inputs, and sizes that differ between iterations."""

from __future__ import annotations

import operator
from typing import Any


def varies(size: Any) -> bool:
    """Return whether a size may have another value in each iteration of a loop."""
    if not hasattr(size, "terms") or not size.trace.loop_sizes:
        return False
    return not size.trace.loop_sizes.isdisjoint(size.reports())


def least_of(size: Any, fed: int = 0) -> int:
    """Return a lower bound of a size that holds for all inputs. If no bound is known, return
    -2**62.

    Args:
      fed: a lower bound of each input.
    """
    if not hasattr(size, "terms"):
        return operator.index(size)
    bounds, total = size.trace.least, 0
    for monomial, n in size.terms:
        least = n
        for number in monomial:
            bound = fed if number < len(size.trace.sizes) else bounds[number]
            if bound is None or n < 0:
                return -1 << 62
            least *= bound
        total += least
    return total
