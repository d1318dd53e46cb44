"""Parsing of a batch of Examples at once, feature by feature.

It requires that all Examples of the batch have the same byte layout: see
`formats/example_columns.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.formats.example_columns import Column, ExampleColumns, Irregular
from gpugraph.ops.parsing.parsed_features import (
    KIND_OF,
    Dense,
    as_vector,
    matrix_shape,
    ragged_indices,
    strings,
)


def parse_columns(
    examples: Sequence[bytes], sparse: Sequence[tuple[bytes, DType]], dense: Sequence[Dense]
) -> tuple[list[tuple[Any, Any, Any]], list[Any]]:
    """Return the sparse features as (indices, values, shape), and the dense features as arrays.

    Raises ValueError if the batch must be read example by example instead: for Examples with
    different byte layouts, features of another kind or size than expected, and missing dense
    features without a default.
    """
    keys = [*(key for key, _ in sparse), *(feature.key for feature in dense)]
    columns = ExampleColumns(examples, keys)
    parts = [_sparse(columns, columns.column(key), dtype) for key, dtype in sparse]
    return parts, [_dense(columns, feature) for feature in dense]


def _values(columns: ExampleColumns, column: Column, dtype: DType) -> tuple[Any, Any]:
    """Return the values of a feature in all examples, concatenated, and their number in each
    example.
    """
    if not ((column.kinds == KIND_OF[dtype]) | (column.kinds == 0)).all():
        raise Irregular("a feature of another kind")
    if dtype is dtypes.string:
        return strings(columns.strings(column)), (column.kinds > 0).astype(np.int64)
    read = columns.floats if dtype is dtypes.float32 else columns.integers
    return read(column)


def _sparse(columns: ExampleColumns, column: Column, dtype: DType) -> tuple[Any, Any, Any]:
    values, counts = _values(columns, column, dtype)
    return ragged_indices(counts), as_vector(values, dtype), matrix_shape(counts)


def _dense(columns: ExampleColumns, feature: Dense) -> Any:
    column, dtype = columns.column(feature.key), feature.dtype
    values, counts = _values(columns, column, dtype)
    rows = as_vector(values, dtype)
    if feature.is_ragged:
        return _padded(rows, counts, feature)
    expected = np.where(column.kinds > 0, feature.stride, 0)
    if (counts != expected).any():
        raise Irregular("a dense feature of another size")
    if column.kinds.all():
        return rows.reshape(-1, *feature.shape)
    if not feature.default.size:
        raise Irregular("a dense feature that is missing")
    batch = np.empty((counts.size, *feature.shape), dtype.as_numpy_dtype)
    batch[...] = feature.default
    batch[column.kinds > 0] = rows.reshape(-1, *feature.shape)
    return batch


def _padded(values: Any, counts: Any, feature: Dense) -> Any:
    """Return the values of each example, padded with the default to the maximum number of rows.

    values: the values of all examples; counts: their number in each example.
    """
    stride = feature.stride
    if not stride or (counts % stride).any() or feature.default.size != 1:
        raise Irregular("a feature whose rows are not whole, or are padded by a row")
    batch = np.empty((counts.size, counts.max(initial=0)), feature.dtype.as_numpy_dtype)
    batch[...] = feature.default.reshape(())
    batch[np.arange(batch.shape[1]) < counts[:, np.newaxis]] = values
    return batch.reshape(counts.size, -1 if batch.size else 0, *feature.shape[1:])
