"""Launches of the kernels in row_update_order.cu, row_gather_and_put.cu and scatter_combine.cu,
which update rows of a matrix.

A scatter op makes changes. Each change consists of the index of a row, and a new value or an
operand for this row. If several changes have the same row, they are applied in the order in which
the op receives them.

    sort_changes(...)      `order` and `keys` (scratch memory): the changes, sorted by their rows
    combine_changes(...)   for associative rules: combines the changes of each row in parallel
    apply_in_order(...)    for other rules: applies the changes of each row one after the other
    keep_last(...)         for assignment: uses only the last change of each row

All these launches have deterministic results. The changed matrix has `rows` rows of `width`
elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.kernel import Arg, ErrorFlag, Launch, Scratch
from gpugraph.ops.framework.cuda_grids import THREADS, Arguments, grid_of, item_type, wide_type

FEW = 4096
"""The maximum number of changes that a single block sorts."""
_TILE = 4096
_DIGITS = 256
"""The number of values of a digit of a key, which has 8 bits."""
_FEW_TILES = 64
"""The number of tiles of a sort up to which each block adds up the counts of all tiles, instead of
reading sums that another launch has stored.
"""
_MAX_CHANGES = 1 << 31
_FULL = 1 << 18
"""The number of threads that fully occupies a large GPU."""


class UpdateRule(NamedTuple):
    """Two C expressions. `combine` combines two changes `a` and `b` into one change, and `finish`
    applies change `b` to row `a`.
    """

    combine: str
    finish: str


def _same(expression: str) -> UpdateRule:
    return UpdateRule(expression, expression)


ADD = _same("(a) + (b)")
SUB = UpdateRule("(a) + (b)", "(a) - (b)")
MUL = _same("(a) * (b)")
MIN = _same("(((a) < (b)) + ((a) != (a)) > 0 ? (a) : (b))")
MAX = _same("(((a) > (b)) + ((a) != (a)) > 0 ? (a) : (b))")
SMALLER = UpdateRule("(((a) <= (b)) + ((b) != (b)) > 0 ? (a) : (b))", "((b) < (a) ? (b) : (a))")
LARGER = UpdateRule("(((a) >= (b)) + ((b) != (b)) > 0 ? (a) : (b))", "((b) > (a) ? (b) : (a))")
"""Like MIN and MAX, except that NaN changes have no effect."""


class Changes(NamedTuple):
    """Changes of rows, sorted by row.

    Args:
      size: the number of changes.
      rows, width: the size of the changed matrix.
      keys: the row of each change.
      order: the position of each change before the sort.
      step: 0 if all rows are changed with the same number, otherwise 1.
    """

    size: int
    rows: int
    width: int
    keys: Scratch
    order: Scratch
    step: int = 1

    @property
    def sorted(self) -> tuple[Scratch, Scratch]:
        """The scratch arrays `keys` and `order`, in the order of the kernels' arguments."""
        return self.keys, self.order


def columns_and_rows(
    rows: int, width: int, max_across: int = THREADS
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return the grid and block of a launch for a matrix. threadIdx.x is the index along the
    columns.

    Args:
      max_across: the maximum number of threads along the columns in one block.
    """
    across = 1
    while across < min(width, max_across):
        across *= 2
    down = THREADS // across
    grid = min(1 << 16, ceil(rows / down)), min(1 << 10, ceil(width / across)), 1
    return grid, (across, down, 1)


def sort_changes(
    indices: Arg,
    dtype: DType,
    count: int,
    width: int,
    sizes: Sequence[int],
    drops: int = 0,
    step: int = 1,
    message: str = "",
) -> tuple[list[Launch], Changes]:
    """Return the launches that sort `count` changes by row, and the sorted `Changes`.

    Raises NotImplementedError if the number of changes or of rows exceeds 32 bits.

    Args:
      indices: for each change, the number of its row. If there are several `sizes`, it is the
        coordinates of the row instead.
      drops: 1 to ignore changes with negative row numbers, 2 to ignore changes with row numbers
        that are too high, 3 to ignore both. Any other row number that is out of range makes the run
        fail with `message`.
      step: see `Changes`.
    """
    rows = int(np.prod(sizes, dtype=object)) if sizes else 1
    if count >= _MAX_CHANGES or rows >= 2 * _MAX_CHANGES - 1:
        raise NotImplementedError(f"{count} changes of {rows} rows exceed 32 bits")
    if len(sizes) > 8:
        raise NotImplementedError(f"positions have {len(sizes)} coordinates, more than 8")
    keys, order = Scratch("keys", count, dtypes.uint32), Scratch("order", count, dtypes.int32)
    inside = "inside the shape " + str(list(sizes)) if len(sizes) != 1 else f"in [0, {sizes[0]})"
    failed = ErrorFlag(message or f"an index is not {inside}")
    padded = [*sizes, *(1,) * (8 - len(sizes))]
    numbers = count, rows, int(drops), len(sizes)
    arguments: Arguments = (indices, keys, order, failed, *numbers, *padded)
    options: dict[str, Any] = {
        "defines": {"INDEX": f"int{8 * dtype.size}_t"},
        "file": "row_update_order.cu",
    }
    if count <= FEW:
        threads = max(32, min(512, 1 << (count - 1).bit_length()))
        launches = [Launch("gg_order_few", (1, 1, 1), (threads, 1, 1), arguments, **options)]
    else:
        first = Launch("gg_row_keys", grid_of(count), (THREADS, 1, 1), arguments, **options)
        passes, keys, order = radix_passes(count, rows.bit_length(), keys, order)
        launches = [first, *passes]
    return launches, Changes(count, rows, width, keys, order, step)


def radix_passes(
    count: int, bits: int, keys: Scratch, order: Scratch
) -> tuple[list[Launch], Scratch, Scratch]:
    """Return launches that sort `count` pairs, each of a key and a position, and the two buffers
    that hold the sorted pairs.

    The sort is stable, and compares only the lowest `bits` bits of the keys.
    """
    tiles = ceil(count / _TILE)
    counts = Scratch("counts", _DIGITS * (tiles + 1), dtypes.uint32)
    others = _other(keys), _other(order)
    here, there = (keys, order), others
    options: dict[str, Any] = {
        "defines": {"KEY": f"uint{8 * keys.dtype.size}_t", "COUNTED": int(tiles <= _FEW_TILES)},
        "file": "radix_sort.cu",
    }
    launches = []
    starts = Launch("gg_starts", (_DIGITS, 1, 1), (1024, 1, 1), (counts, tiles), **options)
    grid, block = (tiles, 1, 1), (256, 1, 1)
    for shift in range(0, bits, 8):
        digits = (here[0], counts, count, tiles, shift)
        places = (*here, counts, *there, count, tiles, shift)
        launches += [
            Launch("gg_digits", grid, block, digits, **options),
            *([starts] if tiles > _FEW_TILES else []),
            Launch("gg_place", grid, block, places, **options),
        ]
        here, there = there, here
    return launches, *here


def _other(buffer: Scratch) -> Scratch:
    """Return the second buffer of a pair for the first one, and vice versa. The passes of the sort
    alternate between the two buffers.
    """
    name = buffer.name.removeprefix("other ")
    return buffer._replace(name=f"other {name}" if name == buffer.name else name)


def combine_changes(
    target: Arg | Scratch,
    updates: Arg | Scratch,
    changes: Changes,
    dtype: DType,
    rule: UpdateRule,
    target_type: DType | None = None,
) -> list[Launch]:
    """Return launches that combine the changes of each row with `rule.combine`, and set target[row]
    to `rule.finish(target[row], combined)`.

    Args:
      dtype: the dtype of the updates. Unless `target_type` is passed, it is also the dtype of the
        target.
    """
    count, width = changes.size, changes.width
    piece = 4
    while piece < 64 and count * width > piece * _FULL:
        piece *= 2
    pieces = ceil(count / piece)
    wide = wide_type(dtype)
    heads = Scratch("heads", pieces * width, wide)
    tails = Scratch("tails", pieces * width, wide)
    options: dict[str, Any] = {
        "types": {"ELEMENT": dtype, "TARGET": target_type or dtype},
        "file": "scatter_combine.cu",
        "defines": {
            "COMBINE(a, b)": f"({rule.combine})",
            "FINISH(a, b)": f"({rule.finish})",
            "REFUSES(a)": "false",
        },
    }
    grid, block = columns_and_rows(pieces, width)
    sizes = (count, pieces, piece, width, changes.rows)
    runs = (target, updates, *changes.sorted, heads, tails, *sizes, changes.step)
    launches = [Launch("gg_runs", grid, block, runs, **options)]
    if pieces > 1:
        (_, down, _), block = columns_and_rows(pieces, width, 32)
        join = (target, changes.keys, heads, tails, *sizes)
        launches.append(Launch("gg_join", (pieces - 1, down, 1), block, join, **options))
    return launches


def apply_in_order(
    target: Arg,
    updates: Arg,
    changes: Changes,
    dtype: DType,
    finish: str,
    refuses: str,
    message: str,
) -> list[Launch]:
    """Return launches that set target[row] = finish(target[row], change), one change after another.

    If the C expression `refuses` is true for a change, the run fails with `message`.
    """
    grid, block = columns_and_rows(changes.size, changes.width)
    sizes = changes.size, changes.width, changes.rows, changes.step
    defines = {"COMBINE(a, b)": "a", "FINISH(a, b)": f"({finish})", "REFUSES(a)": f"({refuses})"}
    arguments = (target, updates, *changes.sorted, ErrorFlag(message), *sizes)
    options: dict[str, Any] = {"types": {"ELEMENT": dtype}, "defines": defines}
    return [Launch("gg_each", grid, block, arguments, **options, file="scatter_combine.cu")]


def keep_last(target: Arg, updates: Arg, changes: Changes, dtype: DType) -> list[Launch]:
    """Return a launch that sets target[row] to the last change of the row."""
    grid, block = columns_and_rows(changes.size, changes.width)
    sizes = changes.size, changes.width, changes.rows, changes.step
    arguments = (target, updates, *changes.sorted, *sizes)
    return [Launch("gg_put", grid, block, arguments, **_bits(dtype))]


def gather_rows(
    params: Arg,
    indices: Arg,
    out: Arg,
    index_type: DType,
    dtype: DType,
    sizes: Sequence[int],
    count: int,
    width: int,
) -> Launch:
    """Return a launch that sets out[i] = params[indices[i]] for `count` rows of `width` elements.

    Args:
      indices: the coordinates of rows within `sizes`.
    """
    if len(sizes) > 8:
        raise NotImplementedError(f"positions have {len(sizes)} coordinates, more than 8")
    grid, block = columns_and_rows(count, width)
    failed = ErrorFlag(f"an index is not inside the shape {list(sizes)}")
    padded = [*sizes, *(1,) * (8 - len(sizes))]
    arguments: Arguments = (params, indices, out, failed, count, width, len(sizes), *padded)
    return Launch("gg_gather_nd", grid, block, arguments, **_bits(dtype, index_type))


def _bits(dtype: DType, index_type: DType = dtypes.int32) -> dict[str, Any]:
    defines = {"ITEM": item_type(dtype), "INDEX": f"int{8 * index_type.size}_t"}
    return {"defines": defines, "file": "row_gather_and_put.cu"}


def copy_elements(source: Arg, target: Arg, count: int, dtype: DType) -> Launch:
    """Return a launch that copies `count` elements. If source and target are the same array, the
    launch copies nothing.
    """
    arguments = (source, target, count)
    return Launch("gg_copy", grid_of(count), (THREADS, 1, 1), arguments, **_bits(dtype))


def spread_value(value: Arg, target: Arg, count: int, dtype: DType) -> Launch:
    """Return a launch that sets all elements of `target` to `value`, a scalar in device memory."""
    block = (THREADS, 1, 1)
    return Launch("gg_spread", grid_of(count), block, (value, target, count), **_bits(dtype))


def check_order(changes: Changes, message: str) -> Launch:
    """Return a launch after which the run fails with `message` unless the row numbers of the
    changes strictly increase.
    """
    arguments = (*changes.sorted, ErrorFlag(message), changes.size)
    block = (THREADS, 1, 1)
    return Launch("gg_in_order", grid_of(changes.size), block, arguments, **_bits(dtypes.int32))


def fill_array(target: Arg | Scratch, value: Any, count: int, dtype: DType) -> Launch:
    """Return a launch that sets all `count` elements of `target` to the Python value `value`.

    Raises NotImplementedError if an element has more than 8 bytes.
    """
    raw = np.asarray(value, dtype.as_numpy_dtype).tobytes()
    if len(raw) > 8:
        raise NotImplementedError(f"there is no fill of {dtype.name}")
    bits = int.from_bytes(raw, "little")
    bits -= (bits >> 63) << 64
    arguments = (target, bits, count)
    return Launch("gg_fill", grid_of(count), (THREADS, 1, 1), arguments, **_bits(dtype))
