"""Launches of the kernels in argmax_argmin.cu and scan.cu, which find the largest or smallest
element along an axis and compute running sums.

If there are too few rows and columns to occupy a GPU, several blocks compute parts of each axis,
and an additional launch combines the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.kernel import Arg, Launch, Scratch
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, wide_type
from gpugraph.ops.framework.row_update_launches import columns_and_rows

_BLOCKS = 264
"""The minimum number of blocks of 256 threads that fully occupies a large GPU."""
_MAX_PARTS = 256


class AxisView(NamedTuple):
    """A tensor reshaped to [before, size, after], where `size` is the size of the axis along which
    an op works.
    """

    before: int
    size: int
    after: int

    @classmethod
    def of(cls, sizes: Sequence[int], axis: int) -> AxisView:
        """Return the view of a tensor of `sizes` for this axis."""
        return cls(prod(sizes[:axis]), sizes[axis], prod(sizes[axis + 1 :]))


def _cut(size: int, blocks: int, min_part: int) -> tuple[int, int]:
    """Return the number of parts into which an axis of `size` elements is divided, and the number
    of elements in each part.

    Args:
      blocks: the number of blocks if the axis is not divided.
      min_part: the minimum number of elements in a part.
    """
    parts = max(1, min(_MAX_PARTS, ceil(_BLOCKS / blocks), size // min_part))
    part = ceil(size / parts)
    return ceil(size / part), part


def best_position(
    x: Arg, out: Arg, axis: AxisView, dtype: DType, out_type: DType, is_largest: bool
) -> list[Launch]:
    """Return launches that write, for each row, the index of the largest or smallest element to
    `out`.

    Args:
      is_largest: whether to find the largest element. Otherwise the smallest element is found.
    """
    wide = _power(min(axis.after, 32))
    lanes = min(max(_power(axis.size), 4 // wide), THREADS // wide)  # at most 64 rows per block
    deep = THREADS // wide // lanes
    across = ceil(axis.after / wide)
    parts, part = _cut(axis.size, ceil(axis.before / deep) * across, 16 * lanes)
    rows = axis.before * parts
    worst = "0"
    if dtype.is_floating:
        worst = "(-INFINITY)" if is_largest else "INFINITY"
    indices: Arg | Scratch = out
    kind = out_type
    if parts > 1:
        indices, kind = Scratch("found", rows * axis.after, dtypes.int64), dtypes.int64

    def how(kind: DType) -> dict[str, Any]:
        defines = {
            "BETTER(a, b)": "((a) > (b))" if is_largest else "((a) < (b))",
            "WORST": f"(ELEMENT_VALUE){worst}",
            "OUTPUT": f"int{8 * kind.size}_t",
        }
        return {"types": {"ELEMENT": dtype}, "defines": defines}

    grid = min(1 << 16, ceil(rows / deep)), min(1 << 10, across), 1
    arguments = (x, indices, rows, axis.size, axis.after, parts, part)
    launches = [Launch("gg_arg", grid, (wide, lanes, deep), arguments, **how(kind))]
    if parts > 1:
        total = axis.before * axis.after
        last = (x, indices, out, total, axis.size, axis.after, parts)
        block = (THREADS, 1, 1)
        launches.append(Launch("gg_arg_of_parts", grid_of(total), block, last, **how(out_type)))
    return launches


def _power(count: int) -> int:
    return 1 << (count - 1).bit_length()


_SHORT = 64
"""The maximum size of rows for which, if there are many rows, one thread computes each row."""


def running(
    x: Arg,
    out: Arg,
    axis: AxisView,
    dtype: DType,
    combine: str,
    start: str,
    reverse: bool,
    exclusive: bool,
) -> list[Launch]:
    """Return launches that compute running sums (or products) along an axis.

    Args:
      combine: a C expression that combines the values `a` and `b`.
      start: a C expression for the neutral element.
      reverse: whether to accumulate from the last element to the first.
      exclusive: whether each result excludes the element at the same position.
    """
    by_block = axis.after == 1 and (axis.size > _SHORT or axis.before < THREADS)
    blocks = axis.before if by_block else ceil(axis.before * axis.after / THREADS)
    parts, part = _cut(axis.size, blocks, 4096 if by_block else 64)
    rows = axis.before * parts
    totals = Scratch("totals", rows * axis.after, wide_type(dtype))
    options: dict[str, Any] = {
        "types": {"ELEMENT": dtype},
        "defines": {"COMBINE(a, b)": combine, "START": start},
    }
    sizes: tuple[int, ...]
    if by_block:
        what, sizes = "rows", (rows, axis.size, parts, part, int(reverse))
        grid, block = (min(1 << 16, rows), 1, 1), (THREADS, 1, 1)
    else:
        what, sizes = "columns", (rows, axis.size, axis.after, parts, part, int(reverse))
        grid, block = columns_and_rows(rows, axis.after)
    launches = []
    if parts > 1:
        launches.append(Launch(f"gg_part_{what}", grid, block, (x, totals, *sizes), **options))
    last = (x, totals, out, *sizes, int(exclusive))
    return [*launches, Launch(f"gg_scan_{what}", grid, block, last, **options)]
