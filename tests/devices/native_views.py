"""Strided views for the tests of native moves and products, as hypothesis strategies."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

__all__ = ["filled", "views"]


def filled(shape: Any, dtype: Any, seed: int = 0) -> np.ndarray:
    """Small whole numbers, which every dtype has and of which sums are exact."""
    numbers = np.random.default_rng(seed).integers(
        -4 if np.dtype(dtype).kind != "u" else 0, 5, shape
    )
    return numbers.astype(dtype)


@st.composite
def views(
    draw: Any,
    shape: tuple[int, ...],
    dtype: Any,
    repeated: bool = False,
    inside: tuple[int, ...] = (),
) -> np.ndarray:
    """Return a view of this shape: axes of the array it is of in any order, each cut, stepped or
    reversed; with `repeated` also the same along some of them. Axes of sizes `inside` follow, as
    they are."""
    order = draw(st.permutations(range(len(shape))))
    base = filled([*(2 * shape[at] + 1 for at in order), *inside], dtype, draw(st.integers(0, 9)))
    places = [order.index(at) for at in range(len(shape))]
    array = base.transpose(*places, *range(len(shape), base.ndim))
    for axis, size in enumerate(shape):
        start, step = draw(st.sampled_from([(0, 1), (1, 1), (1, 2), (size, -1), (2 * size, -2)]))
        array = _cut(array, axis, start, size, step)
        if repeated and size and draw(st.integers(0, 4)) == 0:
            array = _cut(array, axis, 0, 1, 1)
            array = np.broadcast_to(array, (*shape[: axis + 1], *array.shape[axis + 1 :]))
    return array


def _cut(array: np.ndarray, axis: int, start: int, size: int, step: int) -> np.ndarray:
    """`size` indices of an axis, from `start` on."""
    stop = start + size * step
    return array[(slice(None),) * axis + (slice(start, stop if stop >= 0 else None, step),)]
