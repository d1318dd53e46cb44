"""The parsing of a whole batch of Examples at once, feature by feature.

Native code reads Examples in the layout in which protobuf writes them. If there is no native code,
NumPy reads the Examples, provided that all Examples of the batch have the same byte layout
(`formats/example_columns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.formats.example_columns import ExampleColumns, Irregular
from gpugraph.ops.parsing.native_examples import NativeExamples
from gpugraph.ops.parsing.parsed_features import (
    KIND_OF,
    DenseFeature,
    as_vector,
    matrix_shape,
    ragged_indices,
    strings,
)

Values = Callable[[int, bytes, DType], tuple[Any, Any, Any]]
"""A function of the number, the key and the dtype of a feature, sparse ones first. It returns the
values in all examples, concatenated, their number in each, and whether each has the feature."""


def parse_columns(
    examples: Sequence[bytes],
    sparse: Sequence[tuple[bytes, DType]],
    dense: Sequence[DenseFeature],
    native: NativeExamples | None = None,
) -> tuple[list[tuple[Any, Any, Any]], list[Any]]:
    """Return the sparse features as (indices, values, shape), and the dense features as arrays.

    Raises ValueError if the batch must be read example by example instead. This is the case if
    Examples have different byte layouts and native code can't read them, if features do not have
    the expected dtype or size, or if dense features without a default are missing.
    """
    kinds = [*sparse, *((feature.key, feature.dtype) for feature in dense)]
    values = _native_values(examples, kinds, native)
    if values is None:
        columns = ExampleColumns(examples, [key for key, _ in kinds])
        values = partial(_values, columns)
    parts = [sparse_parts(values(n, *one), one[1]) for n, one in enumerate(sparse)]
    rows = [
        dense_batch(values(n, feature.key, feature.dtype), feature)
        for n, feature in enumerate(dense, len(sparse))
    ]
    return parts, rows


def _native_values(
    examples: Sequence[bytes],
    features: Sequence[tuple[bytes, DType]],
    native: NativeExamples | None,
) -> Values | None:
    if native is None or not examples or not features:
        return None
    keys, kinds = [key for key, _ in features], [KIND_OF[dtype] for _, dtype in features]
    located = native.located(examples, keys, kinds) if len(set(keys)) == len(keys) else None
    if located is None:
        return None
    return lambda number, key, dtype: located.values(number)


def _values(columns: ExampleColumns, number: int, key: bytes, dtype: DType) -> tuple[Any, Any, Any]:
    """Read the values of a feature with NumPy. See `Values` for the result."""
    column = columns.column(key)
    if not ((column.kinds == KIND_OF[dtype]) | (column.kinds == 0)).all():
        raise Irregular("a feature of another kind")
    present = column.kinds > 0
    if dtype is dtypes.string:
        return strings(columns.strings(column)), present.astype(np.int64), present
    read = columns.floats if dtype is dtypes.float32 else columns.integers
    return *read(column), present


def sparse_parts(feature_values: tuple[Any, Any, Any], dtype: DType) -> tuple[Any, Any, Any]:
    """Return the values of a feature as the indices, values and shape of a sparse tensor.

    Args:
      feature_values: the result of a `Values` function.
    """
    values, counts, _ = feature_values
    return ragged_indices(counts), as_vector(values, dtype), matrix_shape(counts)


def dense_batch(feature_values: tuple[Any, Any, Any], feature: DenseFeature) -> Any:
    """Return the values of a feature as an array. Raises Irregular if an example has too few or too
    many values.

    Args:
      feature_values: the result of a `Values` function.
    """
    values, counts, present = feature_values
    dtype = feature.dtype
    rows = as_vector(values, dtype)
    if feature.is_ragged:
        return _padded(rows, counts, feature)
    expected = np.where(present, feature.stride, 0)
    if (counts != expected).any():
        raise Irregular("a dense feature of another size")
    if present.all():
        return rows.reshape(-1, *feature.shape)
    if not feature.default.size:
        raise Irregular("a dense feature that is missing")
    batch = np.empty((counts.size, *feature.shape), dtype.as_numpy_dtype)
    batch[...] = feature.default
    batch[present] = rows.reshape(-1, *feature.shape)
    return batch


def _padded(values: Any, counts: Any, feature: DenseFeature) -> Any:
    """Return the values of each example, padded with the default to the maximum number of rows.

    Args:
      values: the values of all examples.
      counts: the number of values in each example.
    """
    stride = feature.stride
    if not stride or (counts % stride).any() or feature.default.size != 1:
        raise Irregular("a feature whose rows are not whole, or are padded by a row")
    batch = np.empty((counts.size, counts.max(initial=0)), feature.dtype.as_numpy_dtype)
    batch[...] = feature.default.reshape(())
    batch[np.arange(batch.shape[1]) < counts[:, np.newaxis]] = values
    return batch.reshape(counts.size, -1 if batch.size else 0, *feature.shape[1:])
