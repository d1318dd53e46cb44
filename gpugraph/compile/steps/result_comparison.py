"""Whether two ways of computing gave alike results: the check of native code on its first use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

TOLERANCE = 1e-2
"""How far an element may be off, relative to the largest of its array: wrong code is further."""

NOISE = 1e-5
"""The same, relative to the largest number of all arrays: what is left of differences is noise."""

_PART = 1 << 16

SHARE = 0.25
"""How many elements may be: a number next to a threshold may fall on its other side."""


def alike(found: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether arrays have nearly the contents that were wanted."""
    scale = max(map(_largest, wanted), default=0.0)
    return all(_is_near(one, other, scale) for one, other in zip(found, wanted))


def _largest(array: Any) -> float:
    """The largest finite number, without its sign."""
    if array.dtype.kind not in "fiu":
        return 0.0
    found = 0.0
    for part in _parts(array):
        finite = part[np.isfinite(part)]
        if finite.size:
            found = max(found, float(finite.max()), -float(finite.min()))
    return found


def _is_near(found: Any, wanted: Any, scale: float) -> bool:
    limit = TOLERANCE * _largest(wanted) + NOISE * scale
    wrong = sum(_wrong(a, b, limit) for a, b in zip(_parts(found), _parts(wanted)))
    return bool(wrong <= SHARE * found.size)


def _wrong(found: Any, wanted: Any, limit: float) -> int:
    """How many elements are too far off."""
    if found.dtype.kind not in "fiu":
        return int(np.count_nonzero(found != wanted))
    at = np.isfinite(wanted)
    off = np.abs(found[at].astype(np.float64) - wanted[at].astype(np.float64))
    return int(np.count_nonzero(~(off <= limit)))


def _parts(array: Any) -> Iterator[Any]:
    """The elements, part by part: what is compared takes little memory."""
    flat = array.reshape(-1)
    for at in range(0, flat.size, _PART):
        yield flat[at : at + _PART]
