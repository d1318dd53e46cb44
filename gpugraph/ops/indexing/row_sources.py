"""Native kernels on rows of matrices, with their integer parameters.

    gathered   rows that are copied from a tensor                host_gather.h
    put        rows of a variable that are replaced              host_gather.h
    scattered  rows that are combined with updates, in order     host_scatter.h
    different_elements, coordinates_of_nonzero                   host_unique.h, host_where.h

These files and host_rows.h define the integer parameters: numbers that identify the rules for
combining rows, and numbers that describe the indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.kernel import RowSource, Signature
from gpugraph.ops.framework.kernel_helpers import item_size

ADD, SUB, MUL, MIN, MAX, DIV, SET = range(7)
"""The numbers of the rules that combine an update with a row."""

_IN_PLACE, _OF_TENSOR, _OF_NUMBER = range(3)

_MAX_COORDINATES = 8


def places(
    count: int, index_type: DType, sizes: Sequence[int], drops_negative: bool = False
) -> list[int]:
    """Return the integer parameters of a native kernel that describe `count` indices. The indices
    are coordinates along axes of the sizes `sizes`.

    Raises NotImplementedError if there are more than 8 coordinates.
    """
    if len(sizes) > _MAX_COORDINATES:
        raise NotImplementedError(f"positions have {len(sizes)} coordinates, more than 8")
    if drops_negative and len(sizes) != 1:
        raise NotImplementedError("negative coordinates are not dropped")
    padded = [*sizes, *(1,) * (_MAX_COORDINATES - len(sizes))]
    return [count, int(index_type.size == 8), len(sizes), int(drops_negative), *padded]


# -- rows that are copied


Matrices = Callable[[Signature], tuple[int, Sequence[int], int, int, int]]


def gathered(matrices: Matrices) -> RowSource:
    """Return the native kernel that copies the rows of input 0 at the indices in input 1.

    Args:
      matrices: a function that receives the signature and returns five values: the number of
        indices, the sizes of the axes to which the indices refer, the number of matrices per batch
        entry, the number of indices per batch entry, and the width of a row.
    """

    def parameters(signature: Signature) -> list[int]:
        count, sizes, outer, of_each, width = matrices(signature)
        item = item_size(signature.output_types[0])
        return [*places(count, signature.input_types[1], sizes), item, width, outer, of_each]

    return RowSource("host_gather.h", "gg_gather", parameters, None)


def put(by_coordinates: bool) -> RowSource:
    """Return the native kernel that replaces rows of the variable in input 0, at the indices in
    input 1, with input 2.

    Args:
      by_coordinates: whether the last axis of input 1 has coordinates. Otherwise input 1 has row
        numbers.
    """

    def parameters(signature: Signature) -> list[int]:
        count, sizes, width = _changed_rows(signature, 0, 1, by_coordinates)
        _refuse_scalar(signature, 2, count * width)
        item = item_size(signature.input_types[0])
        return [*places(count, signature.input_types[1], sizes), item, width]

    return RowSource("host_gather.h", "gg_put", parameters, None)


def _changed_rows(
    signature: Signature, whole: int, indices: int, by_coordinates: bool
) -> tuple[int, Sequence[int], int]:
    """Return the number of indices, the sizes of the axes to which they refer, and the width of a
    row.

    Args:
      whole: the index of the input with the changed tensor.
      indices: the index of the input with the indices.
    """
    sizes, shape = signature.input_shapes[whole], signature.input_shapes[indices]
    depth = shape[-1] if by_coordinates else 1
    count = prod(shape[:-1]) if by_coordinates else prod(shape)
    return count, sizes[:depth], prod(sizes[depth:])


def _refuse_scalar(signature: Signature, updates: int, wanted: int) -> None:
    if prod(signature.input_shapes[updates]) != wanted:
        raise NotImplementedError("one number is written to all rows")


MAX_LISTS = 32
"""The maximum number of lists of rows that native code merges, or distributes rows to."""


def merged_rows() -> RowSource:
    """Return the native kernel of DynamicStitch."""

    def parameters(signature: Signature) -> list[int]:
        lists = len(signature.input_types) // 2
        if lists > MAX_LISTS:
            raise NotImplementedError(f"there are more than {MAX_LISTS} lists of rows")
        rows, *row = signature.output_shapes[0]
        counts = [prod(shape) for shape in signature.input_shapes[:lists]]
        return [lists, rows, prod(row), item_size(signature.output_types[0]), *counts]

    def sizes(_: Signature, *arrays: Any) -> list[tuple[int, ...]]:
        indices, data = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
        rows = max(int(where.max(initial=-1)) for where in indices) + 1
        return [(rows, *data[0].shape[indices[0].ndim :])]

    return RowSource(
        *("host_stitch.h", "gg_stitch", parameters, None),
        sizes=sizes,
        counted=[0],
        takes_empty=True,
        counter="gg_stitch_count",
    )


def distributed_rows() -> RowSource:
    """Return the native kernel of DynamicPartition."""

    def parameters(signature: Signature) -> list[int]:
        data, numbers = signature.input_shapes
        if data[: len(numbers)] != numbers:
            raise NotImplementedError("data does not start with the shape of partitions")
        lists = len(signature.output_types)
        if lists > MAX_LISTS:
            raise NotImplementedError(f"there are more than {MAX_LISTS} lists of rows")
        width, item = prod(data[len(numbers) :]), item_size(signature.output_types[0])
        return [lists, prod(numbers), width, item, *(shape[0] for shape in signature.output_shapes)]

    def sizes(signature: Signature, data: Any, numbers: Any) -> list[tuple[int, ...]]:
        lists, rest = len(signature.output_types), data.shape[numbers.ndim :]
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < lists:
            raise NotImplementedError("a partition has a number outside of the list")
        return [(int(rows), *rest) for rows in np.bincount(numbers.reshape(-1), minlength=lists)]

    return RowSource(
        *("host_partition.h", "gg_partition", parameters, None),
        sizes=sizes,
        separate=True,
        takes_empty=True,
        counter="gg_partition_count",
    )


# -- rows that updates change


def scattered(rule: int, by_coordinates: bool) -> RowSource:
    """Return the native kernel that combines rows of the variable in input 0, at the indices in
    input 1, with input 2.
    """

    def parameters(signature: Signature) -> list[int]:
        count, sizes, width = _changed_rows(signature, 0, 1, by_coordinates)
        _refuse_scalar(signature, 2, count * width)
        if rule == DIV and not signature.input_types[0].is_floating:
            raise NotImplementedError("a division by zero is an error")
        described = places(count, signature.input_types[1], sizes)
        return [*described, prod(sizes), width, rule, _IN_PLACE, 0, 1, 2, -1, 0]

    return RowSource("host_scatter.h", "gg_scatter", parameters)


def scattered_in_tensor(rule: int, by_coordinates: bool = True) -> RowSource:
    """Return the native kernel that copies input 0 and combines its rows, at the indices in input
    1, with input 2.
    """

    def parameters(signature: Signature) -> list[int]:
        count, sizes, width = _changed_rows(signature, 0, 1, by_coordinates)
        described = places(count, signature.input_types[1], sizes)
        return [*described, prod(sizes), width, rule, _OF_TENSOR, 3, 1, 2, 0, 0]

    return RowSource("host_scatter.h", "gg_scatter", parameters)


def added_at(rule: int) -> RowSource:
    """Return the native kernel that copies input 3 and then combines elements of the copy with the
    elements of input 1. Input 0 has the coordinates of the combined elements. Input 2, the shape,
    is in host memory.
    """

    def parameters(signature: Signature) -> list[int]:
        sizes, count = signature.output_shapes[0], signature.input_shapes[0][0]
        described = places(count, signature.input_types[0], sizes)
        return [*described, prod(sizes), 1, rule, _OF_TENSOR, 3, 0, 1, 2, 0]

    return RowSource("host_scatter.h", "gg_scatter", parameters, element=1)


def scattered_in_zeros() -> RowSource:
    """Return the native kernel that adds input 1 to a tensor of zeros, at the coordinates in input
    0. Input 2, which is in host memory, is the tensor's shape.
    """

    def parameters(signature: Signature) -> list[int]:
        shape, out = signature.input_shapes[0], signature.output_shapes[0]
        sizes, width = out[: shape[-1]], prod(out[shape[-1] :])
        described = places(prod(shape[:-1]), signature.input_types[0], sizes)
        return [*described, prod(sizes), width, ADD, _OF_NUMBER, 2, 0, 1, -1, 0]

    return RowSource("host_scatter.h", "gg_scatter", parameters, element=1)


def ascending_segments(
    rule: int,
    by: bool = False,
    empty: int = 0,
    divided: str = "",
    counted: bool = False,
    is_exact: bool = True,
) -> RowSource:
    """Return the native kernel that combines the rows of input 0 by ascending segment numbers.

    The segment numbers are the last input that is not in host memory.

    Args:
      by: whether to combine only the rows whose indices are in input 1.
      empty: the value of segments without rows.
      divided: "mean" to divide sums by the number of rows, "root" to divide them by the square root
        of this number.
      counted: whether the last segment number determines the number of segments.
    """

    def parameters(signature: Signature) -> list[int]:
        data, types = signature.input_shapes[0], signature.input_types
        [count], out = signature.input_shapes[1 + by], signature.output_shapes[0]
        if count != (signature.input_shapes[1][0] if by else data[0]):
            raise NotImplementedError("ids and rows do not fit together")
        wide = [int(types[slot].size == 8) for slot in (1 + by, 1)]
        divisor = ("", "mean", "root").index(divided)
        described = [count, wide[0], prod(data[1:]), out[0], rule, empty, divisor, data[0]]
        return [*described, int(by), wide[1], int(counted)]

    def sizes(signature: Signature, data: Any, *numbers: Any) -> list[tuple[int, ...]]:
        ids = numbers[-1]
        return [(max(0, int(ids[-1]) + 1) if ids.size else 0, *data.shape[1:])]

    file, function = "host_segments.h", "gg_segments"
    if not counted:
        return RowSource(file, function, parameters, is_exact=is_exact)
    return RowSource(
        *(file, function, parameters),
        sizes=sizes,
        counted=[0],
        is_exact=is_exact,
        counter="gg_segments_count",
    )


def segment_gradients(divided: str) -> RowSource:
    """Return the native kernel of the gradient of segment sums. The sums are computed from rows at
    given indices, and divided as in `ascending_segments`.
    """

    def parameters(signature: Signature) -> list[int]:
        given, indices, out = *signature.input_shapes[:2], signature.output_shapes[0]
        if indices != signature.input_shapes[2]:
            raise NotImplementedError("ids and rows do not fit together")
        divisor = ("", "mean", "root").index(divided)
        described = places(prod(indices), signature.input_types[1], out[:1])
        return [*described, given[0], prod(given[1:]), divisor]

    return RowSource("host_segment_gradient.h", "gg_segment_back", parameters)


def scattered_by_segment(rule: int, start: Callable[[Any], Any]) -> RowSource:
    """Return the native kernel that combines the rows of input 0 by the segment numbers in input 1.

    Each segment starts with the value `start(dtype)`. Rows with negative segment numbers are
    ignored.
    """
    return RowSource("host_scatter.h", "gg_scatter", partial(_segment_parameters, rule, start))


def _segment_parameters(rule: int, start: Callable[[Any], Any], signature: Signature) -> list[int]:
    ids, out = signature.input_shapes[1], signature.output_shapes[0]
    dtype = np.dtype(signature.output_types[0].as_numpy_dtype)
    described = places(prod(ids), signature.input_types[1], out[:1], drops_negative=True)
    bits = int.from_bytes(np.array(start(dtype), dtype).tobytes(), "little")
    bits -= bits >> 63 << 64
    return [*described, out[0], prod(out[1:]), rule, _OF_NUMBER, 2, 1, 0, -1, bits]


# -- elements that are counted

_MAX_UNIQUE = 1 << 30


_ELEMENT_KINDS = {
    **dict.fromkeys((dtypes.bool, dtypes.int8, dtypes.uint8), 0),
    **dict.fromkeys((dtypes.int16, dtypes.uint16), 1),
    **dict.fromkeys((dtypes.int32, dtypes.uint32), 2),
    **dict.fromkeys((dtypes.int64, dtypes.uint64), 3),
    dtypes.float32: 4,
    dtypes.float64: 5,
}
"""The kinds of elements in host_unique.h."""


def different_elements(with_axis: bool = False) -> RowSource:
    """Return the native kernel that finds the distinct rows of input 0, which are the elements of a
    vector or the slices along the first axis.

    The second output is the index of each row among the distinct rows. A third output, if the op
    has one, is the count of each distinct row.

    Args:
      with_axis: whether input 1 is the axis. If it is not the first axis, NumPy runs instead.
    """

    def parameters(signature: Signature) -> list[int]:
        x, place = signature.input_types[0].base_dtype, signature.output_types[1]
        if x not in _ELEMENT_KINDS:
            raise NotImplementedError(f"elements of {x.name} are compared by NumPy")
        shape = signature.input_shapes[0]
        if not shape or shape[0] >= _MAX_UNIQUE:
            raise NotImplementedError(f"rows of {shape} are not numbered by native code")
        counts = len(signature.output_types) - 2
        kinds = [_ELEMENT_KINDS[x], int(place.size == 8), counts, prod(shape[1:])]
        if not with_axis:
            return [shape[0], *kinds, -1, 0]
        axes = signature.input_shapes[1][0]
        if axes > 1 or (not axes and len(shape) > 1):
            raise NotImplementedError("the axis is not one number")
        return [shape[0], *kinds, axes, int(signature.input_types[1].size == 8)]

    def sizes(signature: Signature, x: Any, *_: Any) -> list[tuple[int, ...]]:
        return [x.shape, *[x.shape[:1]] * (len(signature.output_types) - 1)]

    return RowSource(
        *("host_unique.h", "gg_unique", parameters, None),
        sizes=sizes,
        counted=[0, 2],
        takes_empty=with_axis,
    )


_INTEGERS, _FLOATS, _TRUTHS = range(3)
"""The numbers of the kinds of elements in host_where.h."""


def coordinates_of_nonzero() -> RowSource:
    """Return the native kernel that finds the coordinates of the nonzero elements of input 0."""

    def parameters(signature: Signature) -> list[int]:
        shape, dtype = signature.input_shapes[0], signature.input_types[0].base_dtype
        if len(shape) > _MAX_COORDINATES:
            raise NotImplementedError(f"positions have {len(shape)} coordinates, more than 8")
        words = 2 if dtype.is_complex else 1
        signs = _FLOATS if dtype.is_floating or dtype.is_complex else _INTEGERS
        kind = _TRUTHS if dtype is dtypes.bool else signs
        room = signature.output_shapes[0][0]
        return [prod(shape), len(shape), dtype.size // words, words, kind, room, *shape]

    def sizes(_: Signature, x: Any) -> list[tuple[int, ...]]:
        return [(int(np.count_nonzero(x)), x.ndim)]

    return RowSource(
        *("host_where.h", "gg_where", parameters, None),
        sizes=sizes,
        counted=[0],
        counter="gg_where_count",
    )
