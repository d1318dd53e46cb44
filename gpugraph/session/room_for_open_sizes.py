"""A check before a run of a plan with open sizes. It finds out whether the run fits into the memory
of the GPUs.

Such a plan allocates its tensors while it runs. For the check, an exact plan is compiled for new
shapes, up to the planning of the arena. This raises an error for shapes that do not fit. The
compilation is skipped if larger shapes are known to fit, or if an estimate from the largest shapes
so far is far below the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

MAX_KNOWN = 8
"""The maximum number of sets of shapes that are remembered because they fit."""

SURE = 0.25
"""If the estimate is at most this fraction of the memory, nothing is compiled."""

Shapes = tuple[tuple[int, ...], ...]
"""The shape of each feed."""


class RoomForOpenSizes:
    """A record of the feed shapes that are known to fit the memory.

    Args:
      fullness: a function that receives shapes and compiles for them. It returns the fraction (0 to
        1) of the memory that a run needs, or raises ResourceExhaustedError.
    """

    def __init__(self, fullness: Callable[[Shapes], float]) -> None:
        self._fullness = fullness
        self._known: list[Shapes] = []
        self._largest: tuple[int, float] | None = None  # (number of elements, fraction)

    def check(self, shapes: Shapes) -> None:
        """Raise ResourceExhaustedError if a run of these shapes does not fit into the memory."""
        elements = sum(map(prod, shapes))
        if self._surely_fits(shapes, elements):
            return
        part = self._fullness(shapes)
        if self._largest is None or elements >= self._largest[0]:
            self._largest = elements, part
        known = [other for other in self._known if not _covers(shapes, other)]
        self._known = [*known[1 - MAX_KNOWN :], shapes]

    def _surely_fits(self, shapes: Shapes, elements: int) -> bool:
        """Return whether larger shapes are known to fit, or the estimate is at most `SURE`.

        The estimate assumes that the required memory grows with the square of the number of fed
        elements.
        """
        if any(_covers(known, shapes) for known in self._known):
            return True
        if self._largest is None:
            return False
        largest, part = self._largest
        return part * max(elements / max(largest, 1), 1.0) ** 2 <= SURE


def _covers(larger: Shapes, smaller: Shapes) -> bool:
    """Return whether the ranks are equal and no size in `larger` is less than the same size in
    `smaller`.
    """
    return all(
        len(one) == len(other) and all(a >= b for a, b in zip(one, other))
        for one, other in zip(larger, smaller)
    )
