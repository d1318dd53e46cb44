"""Launches of the kernels in sort_and_select.cu, which find the first elements of each row in
sorted order, and their indices.

Short rows are sorted completely in shared memory. If only a few elements of each of many long rows
are needed, one thread block per row selects them. Otherwise all elements of all rows are sorted
together (radix_sort.cu), and then stably sorted by row.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.kernel import Arg, Launch, Scratch
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.framework.row_update_launches import FEW, radix_passes

_MANY = 16
"""The number of rows from which one thread block per row is enough to occupy a GPU."""
_SELECTED = 1024
_BLOCK = (512, 1, 1)

_INFINITE = {
    "float16": "0x7c00",
    "bfloat16": "0x7f80",
    "float32": "0x7f800000u",
    "float64": "0x7ff0000000000000ull",
}


def _key_type(dtype: DType) -> DType:
    return dtypes.uint64 if dtype.size == 8 else dtypes.uint32


def order_defines(dtype: DType, descending: bool = False) -> dict[str, str | int]:
    """Return macro definitions for the kernels. They convert elements to unsigned keys with the
    same order.
    """
    base = dtype.base_dtype
    bits = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}[base.size]
    return {
        "ELEMENT": bits,
        "KEY": f"uint{8 * _key_type(base).size}_t",
        "BITS": 8 * base.size,
        "INFINITE": _INFINITE.get(base.name, "0"),
        "FLOATS": int(base.is_floating),
        "SIGNED": int(base.is_integer and not base.is_unsigned),
        "DESCENDING": int(descending),
    }


def _options(dtype: DType, descending: bool, capacity: int) -> dict[str, Any]:
    room = max(32, 1 << (capacity - 1).bit_length())
    return {
        "defines": {**order_defines(dtype, descending), "CAPACITY": room},
        "file": "sort_and_select.cu",
    }


def _threads(size: int) -> tuple[int, int, int]:
    """Return the block size for sorting `size` elements. There is one thread for every two
    elements, within limits.
    """
    return max(32, min(512, (1 << (size - 1).bit_length()) // 2)), 1, 1


def element_order(
    x: Arg, count: int, dtype: DType, descending: bool = False
) -> tuple[list[Launch], Scratch, Scratch]:
    """Return launches that sort all elements stably, and two scratch arrays: the sorted keys and
    the original indices.
    """
    if count >= 1 << 31:
        raise NotImplementedError(f"{count} elements exceed 31 bits")
    keys, numbers = Scratch("keys", count, _key_type(dtype)), Scratch("order", count, dtypes.int32)
    arguments, options = (x, keys, numbers, count), _options(dtype, descending, FEW)
    if count <= FEW:
        launch = Launch("gg_sort_keys", (1, 1, 1), _threads(count), arguments, **options)
        return [launch], keys, numbers
    start = Launch("gg_element_keys", grid_of(count), (THREADS, 1, 1), arguments, **options)
    passes, keys, numbers = radix_passes(count, 8 * dtype.size, keys, numbers)
    return [start, *passes], keys, numbers


def first_in_order(
    x: Arg, out: Arg, places: Arg, rows: int, size: int, count: int, dtype: DType, descending: bool
) -> list[Launch]:
    """Return launches that store the first `count` elements of each row in sorted order, and their
    indices.

    Args:
      rows: the number of rows.
      size: the number of elements per row.
      places: the array that receives the indices.
    """
    return _in_order((x, out, places), (rows, size, 0, count), dtype, descending)


def nth_in_order(
    x: Arg, out: Arg, rows: int, size: int, n: int, dtype: DType, descending: bool
) -> list[Launch]:
    """Return launches that store the element at index `n` of each sorted row in `out`."""
    if size > FEW and rows >= _MANY:
        options = _options(dtype, descending, 32)
        arguments = (x, out, rows, size, n)
        return [Launch("gg_nth", (min(rows, 1 << 16), 1, 1), _BLOCK, arguments, **options)]
    return _in_order((x, out, out), (rows, size, n, 1), dtype, descending)


def _in_order(
    arrays: tuple[Arg, Arg, Arg], sizes: tuple[int, int, int, int], dtype: DType, descending: bool
) -> list[Launch]:
    rows, size, first, count = sizes
    blocks = min(rows, 1 << 16), 1, 1
    if size <= FEW:
        options = _options(dtype, descending, size)
        return [Launch("gg_sort_rows", blocks, _threads(size), (*arrays, *sizes), **options)]
    if rows >= _MANY and count <= _SELECTED and first == 0:
        options = _options(dtype, descending, count)
        return [Launch("gg_select", blocks, _BLOCK, (*arrays, rows, size, count), **options)]
    total, block = rows * size, (THREADS, 1, 1)
    x, out, places = arrays
    launches, _, numbers = element_order(x, total, dtype, descending)
    options = _options(dtype, descending, FEW)
    if rows > 1:
        row_numbers = Scratch("rows", total, dtypes.uint32)
        arguments = (numbers, row_numbers, total, size)
        launches.append(Launch("gg_row_numbers", grid_of(total), block, arguments, **options))
        passes, _, numbers = radix_passes(total, (rows - 1).bit_length(), row_numbers, numbers)
        launches += passes
    last = (x, numbers, out, places, *sizes)
    return [*launches, Launch("gg_take", grid_of(rows * count), block, last, **options)]
