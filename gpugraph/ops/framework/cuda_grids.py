"""The grids of CUDA launches, the C types of elements, and the axes and strides of broadcast
inputs.
"""

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
    """Return the grid for `count` elements, one per thread, with at most `_BLOCKS` blocks.

    If there are more elements than threads, each thread loops over several of them.
    """
    return min(_BLOCKS, max(1, ceil(count / threads))), 1, 1


def item_type(dtype: DType) -> str:
    """Return the C type for an element whose bytes are only copied."""
    return _ITEMS[dtype.base_dtype.size]


def wide_type(dtype: DType) -> DType:
    """Return the dtype in which a kernel computes: float32 for 16-bit floats, or else `dtype`
    itself.
    """
    base = dtype.base_dtype
    return dtypes.float32 if base.is_floating and base.size == 2 else base


def shared_axes(
    shapes: Sequence[tuple[int, ...]], out: tuple[int, ...], num_axes: int
) -> tuple[list[int], list[list[int]]]:
    """Return the sizes of `num_axes` axes, and for each shape its strides along these axes in
    elements.

    The axes are the axes of `out`, the shape to which all shapes broadcast. Adjacent axes are
    merged if the strides of all shapes allow this. Raises NotImplementedError if more than
    `num_axes` axes remain.
    """
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
    """Return the strides of `shape` along each of `rank` axes, in elements. Along axes of size 1
    they are 0.
    """
    sizes = (1,) * (rank - len(shape)) + shape
    return [prod(sizes[axis + 1 :]) if size > 1 else 0 for axis, size in enumerate(sizes)]
