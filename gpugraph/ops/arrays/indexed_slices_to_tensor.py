"""Functions on IndexedSlices: conversion to and from dense tensors, concatenation, elementwise
functions.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.graph.client.creation_origin import stack_level
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import (
    convert_to_tensor,
    register_tensor_conversion_function,
)

_LARGE = 100_000_000
"""The number of elements from which an implicit conversion to a dense tensor logs a warning."""


def _as_dense(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    del as_ref
    if dtype is not None and not dtype.base_dtype.is_compatible_with(value.dtype.base_dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype "
            f"{value.dtype.name}: {value}"
        )
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {value}"
        )
    count = value.shape.num_elements()
    if count is None:
        warnings.warn(
            f"Converting sparse IndexedSlices ('{value.name}') to a dense Tensor of unknown "
            "shape. This may consume a large amount of memory.",
            stacklevel=stack_level(),
        )
    elif count >= _LARGE:
        warnings.warn(
            f"Converting sparse IndexedSlices ('{value.name}') to a dense Tensor with {count} "
            "elements. This may consume a large amount of memory.",
            stacklevel=stack_level(),
        )
    return dense(value, name)


register_tensor_conversion_function(IndexedSlices, _as_dense)


def dense(slices: IndexedSlices | Tensor, name: str | None = None) -> Tensor:
    """Convert IndexedSlices to a dense tensor, without the warnings of the implicit conversion.

    Rows with the same index are added. A tensor is returned unchanged.
    """
    if not isinstance(slices, IndexedSlices):
        return slices
    rows = slices.dense_shape[0]
    whole: Tensor = raw_ops.UnsortedSegmentSum(slices.values, slices.indices, rows, name=name)
    whole.set_shape(slices.shape)
    return whole


def as_slices(value: IndexedSlices | Tensor) -> IndexedSlices:
    """Convert a dense tensor to IndexedSlices with all its rows. Return IndexedSlices unchanged."""
    if isinstance(value, IndexedSlices):
        return value
    shape = raw_ops.Shape(value)
    return IndexedSlices(value, raw_ops.Range(0, shape[0], 1, name="range"), shape)


def joined_slices(parts: Sequence[IndexedSlices]) -> IndexedSlices:
    """Return the sum of several IndexedSlices. Their values and indices are concatenated.

    The result has the dense shape of the first slices. Indices of different dtypes are cast to
    int64.
    """
    values = concat([part.values for part in parts], 0, name="concat")
    indices = [convert_to_tensor(part.indices) for part in parts]
    if len({part_indices.dtype.base_dtype for part_indices in indices}) > 1:
        indices = [cast(part_indices, dtypes.int64) for part_indices in indices]
    return IndexedSlices(values, concat(indices, 0, name="concat"), parts[0].dense_shape)


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """Convert `value` to a tensor with `convert_to_tensor`, except for IndexedSlices, which are
    returned unchanged.

    Raises ValueError if IndexedSlices do not have the dtype `dtype`.
    """
    if isinstance(value, IndexedSlices):
        if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    return convert_to_tensor(value, dtype, name=name)
