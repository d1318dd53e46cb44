"""Arrays in a GPU's memory, which consist of an address, a shape and a dtype."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np


class Array:
    """A C-ordered array at `address` in a GPU's memory. `dtype` is a NumPy dtype. If the array is
    empty, the address is 0.
    """

    __slots__ = ("address", "dtype", "nbytes", "shape", "size")

    def __init__(self, address: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.address = address
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.size = prod(shape)
        self.nbytes = self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def reshape(self, shape: tuple[int, ...]) -> Array:
        """Return an array with another shape in the same memory."""
        array = Array(self.address, shape, self.dtype)
        if array.size != self.size:
            raise ValueError(f"{list(self.shape)} can't be {list(shape)}")
        return array

    def __repr__(self) -> str:
        return f"<{self.dtype}{list(self.shape)} at {self.address:#x}>"
