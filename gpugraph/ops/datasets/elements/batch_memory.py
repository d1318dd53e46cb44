"""The memory of large batches. It is reused when nothing refers to a batch any more."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

_LARGE, _MOST_ARRAYS = 1 << 18, 6


class BatchMemory:
    """The last large arrays that one iteration has returned.

    An array can be reused if only this object refers to it. Each view of an array refers to the
    array.
    """

    def __init__(self) -> None:
        self._arrays: list[Any] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array whose elements are not initialized."""
        if dtype.hasobject or math.prod(shape) * dtype.itemsize < _LARGE:
            return np.empty(shape, dtype)
        arrays = self._arrays
        for place in range(len(arrays)):
            if sys.getrefcount(arrays[place]) == _ONLY_HERE:
                array = arrays[place]
                if array.shape == shape and array.dtype == dtype:
                    return array
                del arrays[place]
                break
        array = np.empty(shape, dtype)
        if len(arrays) == _MOST_ARRAYS:
            del arrays[0]
        arrays.append(array)
        return array


def _references() -> int:
    arrays = [np.empty(1)]
    return sys.getrefcount(arrays[0])


_ONLY_HERE = _references()
"""The reference count of an array to which only a list refers."""
