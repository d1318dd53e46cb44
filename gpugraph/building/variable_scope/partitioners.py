"""Partitioners: functions that choose into how many parts a variable is cut, along one axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import DType, string as string_type
from gpugraph.base.shapes import TensorShape

Partitioner = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Return a partitioner into `num_shards` parts along `axis`, at most one part per row."""

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
    """Return a partitioner into as few parts as keep each within `max_shard_bytes`.

    Raises ValueError for limits that aren't positive.

    Args:
      axis: the axis to cut.
      max_shards: the maximum number of parts. A part has at least one row, even if the row is
        larger than the limit.
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
    """Return a partitioner into size in bytes / `min_slice_size` parts, rounded up.

    There are at most `max_partitions` parts, at most one per row, and at least one.
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
    """Return the size of the dimension to cut. Raises ValueError if it is missing or unknown."""
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

    Raises ValueError for a shape with unknown sizes or an invalid dtype.
    """
    elements = shape.num_elements()
    if elements is None:
        raise ValueError(f"shape is not fully defined: {shape}")
    if not isinstance(dtype, DType):
        raise ValueError(f"dtype is not a DType: {dtype!r}")
    base = dtype.base_dtype
    return elements * (bytes_per_string_element if base == string_type else base.size)
