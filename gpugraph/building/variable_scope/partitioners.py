"""Partitioners: functions that choose the number of parts into which a variable is divided along
one axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import DType, string as string_type
from gpugraph.base.shapes import TensorShape

Partitioner = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Return a partitioner that divides a variable into `num_shards` parts along `axis`. If the
    axis has fewer rows, each row is a part.
    """

    def partitioner(shape: TensorShape, dtype: DType, **_: Any) -> list[int]:
        del dtype
        return _along(axis, shape, min(num_shards, _rows(shape, axis)))

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """Return a partitioner that chooses the smallest number of parts with at most `max_shard_bytes`
    each.

    Raises ValueError if a limit isn't positive.

    Args:
      axis: the axis to divide.
      max_shards: the maximum number of parts. A part has at least one row, even if the row is
        larger than `max_shard_bytes`.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive, but they are "
            f"{max_shard_bytes} and {bytes_per_string_element}"
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards must be positive, but it is {max_shards}")

    def partitioner(shape: TensorShape, dtype: DType, **_: Any) -> list[int]:
        rows = _rows(shape, axis)
        row_bytes = _bytes(shape, dtype, bytes_per_string_element) // max(1, rows)
        rows_per_shard = max(1, max_shard_bytes // max(1, row_bytes))
        shards = math.ceil(rows / rows_per_shard)
        return _along(axis, shape, shards if max_shards is None else min(max_shards, shards))

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Return a partitioner that divides the variable's size in bytes by `min_slice_size`, rounds
    up, and returns this number of parts.

    The number of parts is at least one, and at most `max_partitions` or the number of rows,
    whichever is less.
    """

    def partitioner(shape: TensorShape, dtype: DType, **_: Any) -> list[int]:
        rows = _rows(shape, axis)
        parts = math.ceil(_bytes(shape, dtype, bytes_per_string_element) / min_slice_size)
        return _along(axis, shape, max(1, min(rows, max_partitions, parts)))

    return partitioner


def _along(axis: int, shape: TensorShape, parts: int) -> list[int]:
    partitions = [1] * len(shape)
    partitions[axis] = parts
    return partitions


def _rows(shape: TensorShape, axis: int) -> int:
    """Return the size of the axis to divide. Raises ValueError if the axis does not exist or its
    size is unknown.
    """
    if not isinstance(shape, TensorShape):
        raise ValueError(f"shape is not a TensorShape: {shape!r}")
    sizes = shape.as_list()
    if not -len(sizes) <= axis < len(sizes):
        raise ValueError(f"Can not partition variable along axis {axis} when shape is only {shape}")
    size = sizes[axis]
    if size is None:
        raise ValueError(f"shape is not fully defined: {shape}")
    return size


def _bytes(shape: TensorShape, dtype: DType, bytes_per_string_element: int) -> int:
    """Return the size of the whole variable in bytes.

    Raises ValueError if a size of the shape is unknown or the dtype is invalid.
    """
    elements = shape.num_elements()
    if elements is None:
        raise ValueError(f"shape is not fully defined: {shape}")
    if not isinstance(dtype, DType):
        raise ValueError(f"dtype is not a DType: {dtype!r}")
    base = dtype.base_dtype
    return elements * (bytes_per_string_element if base == string_type else base.size)
