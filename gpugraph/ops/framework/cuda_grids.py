"""What launches of CUDA kernels have in common: grids, and elements by their bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.kernel import Arg, ErrorFlag, Scratch

THREADS = 256
"""Threads of a block where nothing speaks for another number."""

Arguments = Sequence[Arg | Scratch | ErrorFlag | int | float]
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


def shared_axes(
    shapes: Sequence[tuple[int, ...]], out: tuple[int, ...], most: int
) -> tuple[list[int], list[list[int]]]:
    """The sizes of `most` axes over which these shapes broadcast to `out`, neighbours that go on
    alike made one, and each shape's steps along them. NotImplementedError for more axes."""
    axes: list[tuple[int, list[int]]] = []
    steps = [_steps(shape, len(out)) for shape in shapes]
    for axis, size in enumerate(out):
        along = [each[axis] for each in steps]
        if size == 1:
            continue
        if axes and axes[-1][1] == [step * size for step in along]:
            axes[-1] = axes[-1][0] * size, along
        else:
            axes.append((size, along))
    if len(axes) > most:
        raise NotImplementedError(f"shapes that broadcast over {len(axes)} axes")
    axes = [(1, [0] * len(shapes))] * (most - len(axes)) + axes
    return [size for size, _ in axes], [list(each) for each in zip(*(along for _, along in axes))]


def _steps(shape: tuple[int, ...], rank: int) -> list[int]:
    """How far neighbours are apart along each of `rank` axes; 0 where there is one only."""
    sizes = (1,) * (rank - len(shape)) + shape
    return [prod(sizes[axis + 1 :]) if size > 1 else 0 for axis, size in enumerate(sizes)]
