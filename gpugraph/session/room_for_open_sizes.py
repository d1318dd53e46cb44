"""Checks, before it begins, whether a run of a plan with open sizes fits the memory of GPUs.

Such a plan allocates its tensors while it runs. A run of new shapes is compiled as if for an exact
plan, up to the planning of its arena, which refuses shapes that do not fit. This is skipped if
larger shapes fit, or if shapes of far greater need would.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

MAX_KNOWN = 8
"""The maximum number of sets of shapes known to fit that are remembered."""

SURE = 0.25
"""The part of the memory up to which an estimate suffices."""

Shapes = tuple[tuple[int, ...], ...]
"""The shape of each feed."""


class RoomForOpenSizes:
    """The shapes that fit. `fullness(shapes)` compiles: it returns the part of the memory that they
    need, or raises ResourceExhaustedError."""

    def __init__(self, fullness: Callable[[Shapes], float]) -> None:
        self._fullness = fullness
        self._known: list[Shapes] = []
        self._largest: tuple[int, float] | None = None  # elements, and the part they need

    def check(self, shapes: Shapes) -> None:
        """Raise ResourceExhaustedError if a run of these shapes does not fit."""
        elements = sum(map(prod, shapes))
        if self._surely_fits(shapes, elements):
            return
        part = self._fullness(shapes)
        if self._largest is None or elements >= self._largest[0]:
            self._largest = elements, part
        known = [other for other in self._known if not _covers(shapes, other)]
        self._known = [*known[1 - MAX_KNOWN :], shapes]

    def _surely_fits(self, shapes: Shapes, elements: int) -> bool:
        """Return whether larger shapes fit, or an estimate quadratic in the number of elements
        does.
        """
        if any(_covers(known, shapes) for known in self._known):
            return True
        if self._largest is None:
            return False
        largest, part = self._largest
        return part * max(elements / max(largest, 1), 1.0) ** 2 <= SURE


def _covers(larger: Shapes, smaller: Shapes) -> bool:
    """Return whether the shapes have equal ranks and no size of `larger` is smaller."""
    return all(
        len(one) == len(other) and all(a >= b for a, b in zip(one, other))
        for one, other in zip(larger, smaller)
    )
