"""What launches of CUDA kernels have in common: grids, and elements by their bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from gpugraph import dtypes
from gpugraph.dtypes import DType
from gpugraph.kernel import At, Failed, Scratch

__all__ = ["THREADS", "Arguments", "grid_of", "item_type", "wide_type"]

THREADS = 256
"""Threads of a block where nothing speaks for another number."""

Arguments = Sequence[At | Scratch | Failed | int | float]
"""What a launch is given."""

_BLOCKS = 132 * 32
_ITEMS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "uint4"}


def grid_of(count: int, threads: int = THREADS) -> tuple[int, int, int]:
    """Blocks for so many elements, one a thread, where threads go on with further ones."""
    return min(_BLOCKS, max(1, ceil(count / threads))), 1, 1


def item_type(dtype: DType) -> str:
    """The C type of an element of which only the bits matter."""
    return _ITEMS[dtype.base_dtype.size]


def wide_type(dtype: DType) -> DType:
    """The dtype of what a kernel computes with: float32 for floats of 16 bits."""
    base = dtype.base_dtype
    return dtypes.float32 if base.is_floating and base.size == 2 else base
