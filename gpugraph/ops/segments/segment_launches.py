"""Launches of the kernels in segments.cu, which reduce rows whose segment ids are in ascending
order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import REAL, DType
from gpugraph.kernel import SIZES, Arg, Call, ErrorFlag, Launch, Scratch, Signature, Sized
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, wide_type
from gpugraph.ops.framework.row_update_launches import (
    Changes,
    UpdateRule,
    columns_and_rows,
    combine_changes,
    fill_array,
    sort_changes,
)

_MAX_COUNT = 1 << 31
_BLOCK = (THREADS, 1, 1)


class SegmentReduction(NamedTuple):
    """The rule by which the rows of a segment are combined.

    Args:
      combine: a C statement that combines two rows, elementwise.
      divided: "mean" to divide the result by the number of rows, "root" to divide it by the square
        root of this number, or "" for no division.
    """

    combine: str
    empty: int = 0
    divided: str = ""


def _options(
    dtype: DType, ids: DType, index: DType, divided: str = "", wide: DType | None = None
) -> dict[str, Any]:
    count = "(long long)(n)" if dtype.is_integer else "(SUM_VALUE)(n)"
    root = "sqrt((double)(n))"
    return {
        "types": {"ELEMENT": dtype, "SUM": wide or wide_type(dtype)},
        "defines": {
            "IDS": f"int{8 * ids.size}_t",
            "INDEX": f"int{8 * index.size}_t",
            "DIVIDED(a, n)": f"((a) / {f'(SUM_VALUE){root}' if divided == 'root' else count})",
            "WEIGHT(n)": f"(1.0 / {root if divided == 'root' else '(double)(n)'})",
        },
        "file": "segments.cu",
    }


def _changes(count: int, segments: int, width: int) -> Changes:
    keys, order = Scratch("keys", count, dtypes.uint32), Scratch("order", count, dtypes.int32)
    return Changes(count, segments, width, keys, order)


def _keys(signature: Signature, by: bool, num_segments: int = -1) -> list[Launch]:
    """Return the launches that compute the segment of each row, and check the ids.

    Args:
      by: whether the rows are the rows of input 0 at the indices in input 1. If True, the ids are
        input 2, otherwise input 1.
      num_segments: the number of segments, or -1 if it is one more than the last id.
    """
    data, ids = signature.input_shapes[0], signature.input_shapes[1 + by]
    count, size = ids[0], data[0]
    if max(count, size, num_segments) >= _MAX_COUNT:
        raise NotImplementedError(f"{count} of {size} rows are more than 31 bits count")
    if by and not size:
        raise NotImplementedError("there are no rows to take")
    falls = ErrorFlag("segment ids are not increasing, or one is negative")
    above = ErrorFlag(f"a segment id is not in [0, {num_segments}), the number of segments")
    outside = ErrorFlag(f"an index is not in [0, {size})")
    total = Scratch(SIZES, 1, dtypes.int64)
    inputs = (Arg(1 + by), Arg(1), *_changes(count, 0, 0).sorted)
    arguments = (*inputs, total, falls, above, outside)
    types = signature.input_types
    options = _options(types[0], types[1 + by], types[1] if by else dtypes.int32)
    sizes = (count, num_segments, size, int(by))
    return [Launch("gg_segment_keys", grid_of(count), _BLOCK, (*arguments, *sizes), **options)]


def _combine(
    rule: SegmentReduction, signature: Signature, by: bool, out: Arg, shape: Sequence[int]
) -> list[Launch]:
    """Return the launches that combine rows. They must run after the launches that `_keys` returns.

    Args:
      out: the output.
      shape: the shape of the output.
    """
    types, dtype = signature.input_types, signature.input_types[0]
    count, segments, width = signature.input_shapes[1][0], shape[0], prod(shape[1:])
    changes, wide = _changes(count, segments, width), wide_type(dtype)
    is_separate = bool(rule.divided) and wide is not dtype
    sums = Scratch("sums", segments * width, wide) if is_separate else out
    summed = wide if is_separate else dtype
    launches = [
        fill_array(sums, rule.empty, segments * width, summed),
        *combine_changes(sums, Arg(0), changes, dtype, UpdateRule(rule.combine, "(b)"), summed),
    ]
    if rule.divided:
        options = _options(dtype, types[1 + by], dtypes.int32, rule.divided)
        grid, block = columns_and_rows(segments, width)
        arguments = (sums, out, changes.keys, count, segments, width)
        launches.append(Launch("gg_segment_mean", grid, block, arguments, **options))
    return launches


def sized_segments(rule: SegmentReduction, by: bool, host: Call) -> Sized:
    """Return the GPU kernel of an op whose number of segments is one more than the last id.

    The ids are read first, and the output is then allocated.

    Args:
      by: whether the rows are the rows of input 0 at the indices in input 1.
      host: the NumPy kernel.
    """

    def count(signature: Signature) -> list[Launch]:
        data, ids = signature.input_shapes[0], signature.input_shapes[1 + by]
        if len(ids) != 1 or not data or (signature.input_shapes[1] if by else data[:1]) != ids:
            raise NotImplementedError("ids and rows do not match")
        return _keys(signature, by) if ids[0] else []

    def shapes(signature: Signature, numbers: Sequence[int]) -> list[tuple[int, ...]]:
        if sum(numbers) >= _MAX_COUNT:
            raise NotImplementedError(f"{sum(numbers)} segments are more than 31 bits count")
        return [(sum(numbers), *signature.input_shapes[0][1:])]

    def fill(signature: Signature, numbers: Sequence[int]) -> list[Launch]:
        (shape,) = shapes(signature, numbers)
        return _combine(rule, signature, by, Arg(2 + by), shape) if prod(shape) else []

    return Sized("segments.cu", count, shapes, fill, host, REAL, _known_size)


def _known_size(signature: Signature) -> list[int]:
    return [signature.output_shapes[0][0]]


def counted_segments(rule: SegmentReduction, signature: Signature) -> list[Launch]:
    """Return the launches that combine the rows of input 0 at the indices in input 1, with the ids
    in input 2.

    The number of segments is the number of rows of the output. There may be no rows and no ids.
    """
    shape, count = signature.output_shapes[0], signature.input_shapes[2][0]
    if signature.input_shapes[1] != signature.input_shapes[2]:
        raise NotImplementedError("ids and rows do not match")
    if not count:
        return [fill_array(Arg(3), rule.empty, prod(shape), signature.output_types[0])]
    return [*_keys(signature, True, shape[0]), *_combine(rule, signature, True, Arg(3), shape)]


def segment_gradient(divided: str, signature: Signature) -> list[Launch]:
    """Return the launches for the gradient of `counted_segments` with respect to the data.

    Row j of input 0 is the gradient of segment j. Inputs 1 and 2 have the row indices and the
    segment ids. For each position k, the gradient of segment ids[k] is divided as
    `SegmentReduction.divided` requires, and is added to row indices[k] of the output.
    """
    (segments, *_), (count,) = signature.input_shapes[0], signature.input_shapes[1]
    shape, dtype = signature.output_shapes[0], signature.input_types[0]
    width, wide = prod(shape[1:]), wide_type(dtype)
    zeros = fill_array(Arg(3), 0, prod(shape), dtype)
    if not count:
        return [zeros]
    if not segments or signature.input_shapes[2] != (count,):
        raise NotImplementedError("ids and rows do not match")
    options = _options(dtype, signature.input_types[2], dtypes.int32, divided)
    launch: Callable[..., Launch] = partial(Launch, **options)
    sizes = Scratch("sizes of segments", segments, dtypes.uint32)
    weighted = Scratch("weighted", segments * width, wide)
    named = Scratch("segments", count, dtypes.int32)
    outside = ErrorFlag(f"a segment id is not in [0, {segments})")
    order, changes = sort_changes(Arg(1), signature.input_types[1], count, width, shape[:1])
    grid, block = columns_and_rows(segments, width)
    named_arguments = (changes.order, Arg(2), named, count, segments)
    return [
        fill_array(sizes, 0, segments, dtypes.uint32),
        launch(
            "gg_segment_sizes", grid_of(count), _BLOCK, (Arg(2), sizes, outside, count, segments)
        ),
        launch("gg_segment_weighted", grid, block, (Arg(0), sizes, weighted, segments, width)),
        *order,
        launch("gg_segment_of", grid_of(count), _BLOCK, named_arguments),
        zeros,
        *combine_changes(Arg(3), weighted, changes._replace(order=named), wide, _ADDED, dtype),
    ]


_ADDED = UpdateRule("(a) + (b)", "(b)")
