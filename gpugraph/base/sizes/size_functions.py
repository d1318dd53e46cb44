"""Functions of sizes that may be open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpugraph.base.sizes.size_bounds import least_of, varies
from gpugraph.base.sizes.size_traces import Size, hint


def hint_of_shape(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Return the hint of each size of a shape: the value of the size for the first inputs of its
    `SizeTrace`.
    """
    return tuple([hint(size) for size in sizes])


def estimates(sizes: Sequence[Any]) -> tuple[Any, ...]:
    """Return sizes by which to choose between kernels that are correct for all sizes.

    A size that kernels report is replaced by its hint, the value of an earlier run. The choice then
    does not become a condition on a size that may differ in each run.
    """
    return tuple([hint(s) if type(s) is Size and s.reports() else s for s in sizes])


def whole(size: Any) -> Any:
    """Return a Size unchanged. Convert any other value to an int."""
    return size if type(size) is Size else int(size)


def is_open(sizes: Iterable[Any]) -> bool:
    """Return whether any of `sizes` is a Size (is open), not an int."""
    return any(type(size) is Size for size in sizes)


def has_several(size: Any) -> bool:
    """Return whether a size is more than 1, or differs between the iterations of a loop."""
    return varies(size) or bool(size > 1)


def may_vanish(size: Any) -> bool:
    """Return whether a size differs between the iterations of a loop, and may be 0 in one of them
    although no fed size is 0.
    """
    return varies(size) and least_of(size, fed=1) <= 0


def range_length(bounds: slice, size: Any) -> Any:
    """Return the number of indices that a slice selects on an axis of this size."""
    return range_bounds(bounds, size)[1]


def range_bounds(bounds: slice, size: Any) -> tuple[Any, Any, int]:
    """Return the first index, the number of indices, and the step that a slice selects on an axis
    of this size.
    """
    step = 1 if bounds.step is None else bounds.step
    if not is_open((bounds.start, bounds.stop, size)):
        indices = range(*bounds.indices(size))
        return indices.start, len(indices), indices.step
    low, high = (0, size) if step > 0 else (-1, size - 1)  # the range of positions
    start = (
        (low if step > 0 else high)
        if bounds.start is None
        else _within(bounds.start, low, high, size)
    )
    stop = (
        (high if step > 0 else low)
        if bounds.stop is None
        else _within(bounds.stop, low, high, size)
    )
    distance = stop - start if step > 0 else start - stop
    return start, 0 if distance <= 0 else -(-distance // abs(step)), step


def _within(position: Any, low: Any, high: Any, size: Any) -> Any:
    """Return a slice's bound as a position from the start of the axis, clipped to `low` and `high`.

    A negative bound is relative to the end of the axis.
    """
    if position < 0:
        position = position + size
        return low if position < low else position
    return high if position > high else position
