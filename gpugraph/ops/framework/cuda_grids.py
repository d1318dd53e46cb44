"""Grids of CUDA launches, and C types of elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.kernel import Arg, ErrorFlag, Scratch

THREADS = 256
"""The default number of threads of a block."""

Arguments = Sequence[Arg | Scratch | ErrorFlag | int | float]
"""The arguments of a launch."""

_BLOCKS = 132 * 32
_ITEMS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "uint4"}


def grid_of(count: int, threads: int = THREADS) -> tuple[int, int, int]:
    """Return the grid for `count` elements, one per thread; threads of a full grid loop."""
    return min(_BLOCKS, max(1, ceil(count / threads))), 1, 1


def item_type(dtype: DType) -> str:
    """Return the C type of an element that is only copied."""
    return _ITEMS[dtype.base_dtype.size]


def wide_type(dtype: DType) -> DType:
    """Return the dtype in which a kernel computes: float32 for 16-bit floats."""
    base = dtype.base_dtype
    return dtypes.float32 if base.is_floating and base.size == 2 else base


def shared_axes(
    shapes: Sequence[tuple[int, ...]], out: tuple[int, ...], num_axes: int
) -> tuple[list[int], list[list[int]]]:
    """Return the axes over which these shapes broadcast to `out`.

    The result is the sizes of `num_axes` axes, and each shape's strides along them.

    Adjacent axes are merged if the strides allow it. NotImplementedError if more axes remain."""
    axes: list[tuple[int, list[int]]] = []
    strides = [_strides(shape, len(out)) for shape in shapes]
    for axis, size in enumerate(out):
        along = [shape_strides[axis] for shape_strides in strides]
        if size == 1:
            continue
        if axes and axes[-1][1] == [stride * size for stride in along]:
            axes[-1] = axes[-1][0] * size, along
        else:
            axes.append((size, along))
    if len(axes) > num_axes:
        raise NotImplementedError(f"shapes that broadcast over {len(axes)} axes")
    axes = [(1, [0] * len(shapes))] * (num_axes - len(axes)) + axes
    return [size for size, _ in axes], [
        list(shape_strides) for shape_strides in zip(*(along for _, along in axes))
    ]


def _strides(shape: tuple[int, ...], rank: int) -> list[int]:
    """Return the strides along each of `rank` axes, in elements; 0 along axes of size 1."""
    sizes = (1,) * (rank - len(shape)) + shape
    return [prod(sizes[axis + 1 :]) if size > 1 else 0 for axis, size in enumerate(sizes)]
