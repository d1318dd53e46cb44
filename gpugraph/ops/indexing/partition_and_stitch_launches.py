"""Launches of the kernels in partition_and_stitch.cu for DynamicPartition and DynamicStitch.

DynamicPartition sorts rows by their partition number. DynamicStitch writes rows of several lists at
given indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import COMPLEX, REAL, DType
from gpugraph.kernel import SIZES, Arg, Call, ErrorFlag, Launch, Scratch, Signature, Sized
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, item_type
from gpugraph.ops.framework.row_update_launches import columns_and_rows, fill_array, sort_changes

_BLOCK = (THREADS, 1, 1)
_TYPES = (*REAL, *COMPLEX, dtypes.bool)

Shapes = list[tuple[int, ...]]


def _options(dtype: DType) -> dict[str, Any]:
    return {"defines": {"ITEM": item_type(dtype)}, "file": "partition_and_stitch.cu"}


# -- dynamic_partition


def _in_parts(signature: Signature) -> tuple[list[Launch], Any]:
    """Return the launches that sort the row numbers by partition, and the sorted `Changes`."""
    count, parts = prod(signature.input_shapes[1]), len(signature.output_types)
    message = f"partitions hold a number that is not in [0, {parts})"
    return sort_changes(Arg(1), dtypes.int32, count, 1, (parts,), message=message)


def _count_parts(signature: Signature) -> list[Launch]:
    data, numbers = signature.input_shapes
    if data[: len(numbers)] != numbers:
        raise NotImplementedError("data does not start with the shape of partitions")
    count, parts = prod(numbers), len(signature.output_types)
    if not count:
        return []
    launches, changes = _in_parts(signature)
    arguments = (changes.keys, Scratch(SIZES, parts, dtypes.int64), count, parts)
    options = _options(signature.input_types[0])
    return [*launches, Launch("gg_part_starts", grid_of(parts), _BLOCK, arguments, **options)]


def _part_sizes(signature: Signature, numbers: Sequence[int]) -> list[int]:
    if not numbers:
        return [0] * len(signature.output_types)
    ends = [*numbers[1:], prod(signature.input_shapes[1])]
    return [end - start for start, end in zip(numbers, ends, strict=True)]


def _part_shapes(signature: Signature, numbers: Sequence[int]) -> Shapes:
    data, partitions = signature.input_shapes
    return [(size, *data[len(partitions) :]) for size in _part_sizes(signature, numbers)]


def _fill_parts(signature: Signature, numbers: Sequence[int]) -> list[Launch]:
    data, partitions = signature.input_shapes
    width = prod(data[len(partitions) :])
    if not numbers or not width:
        return []
    order, options = _in_parts(signature)[1].order, _options(signature.input_types[0])
    launches = []
    sizes = _part_sizes(signature, numbers)
    for part, (start, size) in enumerate(zip(numbers, sizes, strict=True)):
        if size:
            grid, block = columns_and_rows(size, width)
            arguments = (Arg(0), order, Arg(2 + part), start, size, width)
            launches.append(Launch("gg_part_rows", grid, block, arguments, **options))
    return launches


def partitioned(host: Call) -> Sized:
    """Return the CUDA kernel that distributes the rows of input 0 among the outputs. Input 1 has
    the output's number for each row.

    Rows with the same number keep their order.

    Args:
      host: the NumPy kernel, which is the fallback.
    """
    return Sized("partition_and_stitch.cu", _count_parts, _part_shapes, _fill_parts, host, _TYPES)


# -- dynamic_stitch


def _lists(signature: Signature) -> tuple[list[int], tuple[int, ...]]:
    """Return the number of rows of each list, and the shape of one row."""
    shapes = signature.input_shapes
    lists = len(shapes) // 2
    rest = shapes[lists][len(shapes[0]) :]
    for indices, data in zip(shapes[:lists], shapes[lists:], strict=True):
        if data != (*indices, *rest):
            raise NotImplementedError("indices and data do not fit together")
    return [prod(indices) for indices in shapes[:lists]], rest


def _count_stitch(signature: Signature) -> list[Launch]:
    counts, _ = _lists(signature)
    if sum(counts) >= 1 << 31:
        raise NotImplementedError(f"{sum(counts)} rows exceed 31 bits")
    if not sum(counts):
        return []
    largest, failed = Scratch(SIZES, 1, dtypes.int32), ErrorFlag("indices can't be negative")
    options = _options(signature.output_types[0])
    launches = [fill_array(largest, -1, 1, dtypes.int32)]
    for index, count in enumerate(counts):
        if count:
            arguments = (Arg(index), largest, failed, count)
            launches.append(Launch("gg_stitch_size", grid_of(count), _BLOCK, arguments, **options))
    return launches


def _stitch_shape(signature: Signature, numbers: Sequence[int]) -> Shapes:
    return [(max(numbers, default=-1) + 1, *_lists(signature)[1])]


def _fill_stitch(signature: Signature, numbers: Sequence[int]) -> list[Launch]:
    counts, rest = _lists(signature)
    rows, width = max(numbers, default=-1) + 1, prod(rest)
    if not rows or not width:
        return []
    last, options = Scratch("last", rows, dtypes.int32), _options(signature.output_types[0])
    launches, copies, base = [fill_array(last, -1, rows, dtypes.int32)], [], 0
    out = Arg(2 * len(counts))
    for index, count in enumerate(counts):
        if count:
            numbers_of_rows = (Arg(index), last, count, base)
            launches.append(
                Launch("gg_stitch_last", grid_of(count), _BLOCK, numbers_of_rows, **options)
            )
            grid, block = columns_and_rows(count, width)
            arguments = (Arg(index), last, Arg(len(counts) + index), out, count, base, width)
            copies.append(Launch("gg_stitch_rows", grid, block, arguments, **options))
        base += count
    grid, block = columns_and_rows(rows, width)
    gaps = Launch("gg_stitch_gaps", grid, block, (last, out, rows, width), **options)
    return [*launches, *copies, gaps]


def stitched(host: Call) -> Sized:
    """Return the CUDA kernel that writes rows of several lists at given indices. If an index occurs
    twice, the last row is used.

    Args:
      host: the NumPy kernel, which is the fallback.
    """
    parts = _count_stitch, _stitch_shape, _fill_stitch, host, _TYPES
    return Sized("partition_and_stitch.cu", *parts, lambda known: [known.output_shapes[0][0] - 1])
