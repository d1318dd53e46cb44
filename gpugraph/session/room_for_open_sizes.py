"""Whether a run of a plan that leaves sizes open fits the memory of GPUs, known before it begins.

Such a plan allocates its tensors while it runs. A run of other shapes is compiled as if it had a
plan of its own, up to where its arena is known, which refuses what does not fit; but not where
larger shapes fit, or where far larger ones would.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

MOST_KNOWN = 8
"""Sets of shapes that are known to fit and remembered."""

SURE = 0.25
"""The part of the memory up to which an estimate suffices."""

Shapes = tuple[tuple[int, ...], ...]
"""Of each feed."""


class RoomForOpenSizes:
    """The shapes that fit. `fullness(shapes)` compiles: the part of the memory that they need, or
    ResourceExhaustedError."""

    def __init__(self, fullness: Callable[[Shapes], float]) -> None:
        self._fullness = fullness
        self._known: list[Shapes] = []
        self._largest: tuple[int, float] | None = None  # elements, and the part that they need

    def check(self, shapes: Shapes) -> None:
        """ResourceExhaustedError where a run of these shapes does not fit."""
        elements = sum(map(prod, shapes))
        if self._is_surely_room(shapes, elements):
            return
        part = self._fullness(shapes)
        if self._largest is None or elements >= self._largest[0]:
            self._largest = elements, part
        known = [other for other in self._known if not _covers(shapes, other)]
        self._known = [*known[1 - MOST_KNOWN :], shapes]

    def _is_surely_room(self, shapes: Shapes, elements: int) -> bool:
        """Whether larger shapes fit, or ones whose need grows by the square of their size."""
        if any(_covers(known, shapes) for known in self._known):
            return True
        if self._largest is None:
            return False
        largest, part = self._largest
        return part * max(elements / max(largest, 1), 1.0) ** 2 <= SURE


def _covers(larger: Shapes, smaller: Shapes) -> bool:
    """Whether shapes are of the same rank and no smaller in any size."""
    return all(
        len(one) == len(other) and all(a >= b for a, b in zip(one, other))
        for one, other in zip(larger, smaller)
    )
