"""Which sizes a plan leaves open: those in which the fed shapes that it has to serve differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.plan import PlanKey


def fits(key: PlanKey, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether the plan of this key serves fed values of these shapes."""
    for (_, open_shape), shape in zip(key.feeds, shapes):
        if open_shape is None:
            continue
        if len(open_shape) != len(shape):
            return False
        if any(size not in (None, given) for size, given in zip(open_shape, shape)):
            return False
    return True


def in_common(shapes: Sequence[Any]) -> tuple[int | None, ...] | None:
    """What all shapes have in common: open sizes as None; None when their ranks differ."""
    first = shapes[0]
    if first is None or any(each is None or len(each) != len(first) for each in shapes):
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes))
