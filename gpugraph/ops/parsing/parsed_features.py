"""Functions for all ops that parse examples. They convert features to dense or sparse tensors.

The error messages are TensorFlow's. They contain the example's name, the feature's key and the
example's index in the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.formats.example_bytes import (
    BYTES,
    FLOATS,
    INTEGERS,
    NOTHING,
    ExampleFeature,
    Span,
    read_feature,
)
from gpugraph.ops.framework.op_declaration import Attr

PARSED_TYPES = (dtypes.float32, dtypes.int64, dtypes.string)
KIND_OF = {dtypes.string: BYTES, dtypes.float32: FLOATS, dtypes.int64: INTEGERS}
"""By dtype, the kind of list (in a Feature message) that holds values of the dtype."""
_NAME_OF = {BYTES: "string", FLOATS: "float", INTEGERS: "int64"}
_MAX_SHOWN = 1000


def type_name(dtype: DType) -> str:
    """Return TensorFlow's name of a dtype in the error messages of these ops."""
    return _NAME_OF[KIND_OF[dtype]]


TYPES = Attr("list(type)", required=True, minimum=0, allowed=PARSED_TYPES)
SHAPES = Attr("list(shape)", required=True, minimum=0)
COUNT = Attr("int", minimum=0)


class DenseFeature(NamedTuple):
    """The specification of a feature that becomes a dense tensor.

    Args:
      shape: the shape of the feature's values in each example. The first size is None if the number
        of rows varies.
      default: the values of a missing feature, or an array without elements if the feature is
        required.
    """

    key: bytes
    dtype: DType
    shape: tuple[int | None, ...]
    default: Any

    @property
    def is_ragged(self) -> bool:
        """Whether the number of rows may vary between examples."""
        return bool(self.shape) and self.shape[0] is None

    @property
    def stride(self) -> int:
        """The number of values in a row, or in the whole feature if its shape is fixed."""
        return prod(size or 0 for size in (self.shape[1:] if self.is_ragged else self.shape))


class Location(NamedTuple):
    """The example that contains a feature, for error messages.

    Args:
      name: the example's name, or b"".
      row: the example's index in the batch, or None for a single example.
      in_context: whether the feature is in the context of a SequenceExample.
    """

    name: bytes
    row: int | None = None
    in_context: bool = False

    def of(self, key: bytes) -> str:
        """Return the beginning of an error message about the feature `key`."""
        index = "" if self.row is None else f", Index: {self.row}"
        return f"{self.prefix}Key: {key.decode('utf-8', 'replace')}{index}.  "

    def required(self, dense: DenseFeature) -> str:
        """Return the beginning of the error message about a missing dense feature."""
        key = dense.key.decode("utf-8", "replace")
        if self.in_context:
            name = self.name.decode("utf-8", "replace") or "<unknown>"
            return f"Name: {name}, Context feature '{key}'"
        return f"{self.prefix}Feature: {key} (data type: {type_name(dense.dtype)})"

    @property
    def prefix(self) -> str:
        """The example's name for a message. It is empty for a single example without a name."""
        if self.row is None and not self.name:
            return ""
        return f"Name: {self.name.decode('utf-8', 'replace') or '<unknown>'}, "


def dense_features(
    keys: Sequence[bytes], types: Sequence[Any], shapes: Sequence[Any], defaults: Sequence[Any]
) -> list[DenseFeature]:
    """Return the dense features of a parsing op.

    Raises InvalidArgumentError if a default is invalid.
    """
    features = []
    for number, (key, default) in enumerate(zip(keys, defaults)):
        dtype = dtypes.as_dtype(types[number])
        feature = DenseFeature(key, dtype, _sizes(shapes[number]), default)
        _check_default(feature, number)
        features.append(feature)
    return features


def _sizes(shape: Any) -> tuple[int | None, ...]:
    known = as_shape(shape)
    if known.rank is None or None in known.as_list()[1:]:
        raise invalid_argument(f"dense_shapes: only the first size may be open, not {shape}")
    return tuple(known.as_list())


def _check_default(feature: DenseFeature, number: int) -> None:
    default = feature.default
    if feature.is_ragged:
        if default.size != 1 and default.size != feature.stride:
            raise invalid_argument(
                f"dense_shape[{number}] is a variable length shape: "
                f"{shape_text(feature.shape)}, therefore def_value[{number}] must contain a single "
                f"element ( the padding element).  But its shape is: {shape_text(default.shape)}"
            )
    elif default.size and default.shape != feature.shape:
        raise invalid_argument(
            f"def_value[{number}].shape() == {shape_text(default.shape)} is not compatible with "
            f"dense_shapes_[{number}] == {shape_text(feature.shape)}"
        )


def text_keys(arrays: Sequence[Any]) -> list[bytes]:
    """Return keys as bytes. Each of the scalar arrays contains one key."""
    return [array[()] for array in arrays]


def strings(values: Sequence[bytes]) -> Any:
    """Return a list of bytes as a vector of objects."""
    vector = np.empty(len(values), object)
    vector[:] = values
    return vector


def as_vector(values: Any, dtype: DType) -> Any:
    """Return the values of a feature as a vector of `dtype`."""
    return strings(values) if dtype is dtypes.string else np.asarray(values, dtype.as_numpy_dtype)


def unparsable(content: bytes) -> InvalidArgumentError:
    """Return the error for bytes that are not a serialized Example."""
    text = content[:_MAX_SHOWN].decode("utf-8", "backslashreplace")
    return invalid_argument(f"Could not parse example input, value: '{text}'")


def feature_at(
    content: bytes, spans: Mapping[bytes, Span], key: bytes, dtype: DType, location: Location
) -> ExampleFeature | None:
    """Return the values of a feature, or None if it is missing or empty.

    Raises InvalidArgumentError if the values do not have the dtype `dtype`, or if the bytes are
    invalid.

    Args:
      spans: the range of bytes of each feature in `content`.
    """
    span = spans.get(key)
    if span is None:
        return None
    feature = feature_of(content, span, key, location)
    if feature.kind == NOTHING:
        return None
    check_kind(feature, key, dtype, location)
    return feature


def feature_of(content: bytes, span: Span, key: bytes, location: Location) -> ExampleFeature:
    """Return the feature in a range of bytes of `content`. Raises InvalidArgumentError if it is
    invalid.
    """
    try:
        return read_feature(content, span)
    except ValueError as error:
        raise invalid_argument(
            f"{location.of(key)}Can't parse serialized Example. ({error})"
        ) from None


def check_kind(feature: ExampleFeature, key: bytes, dtype: DType, location: Location) -> None:
    """Raise InvalidArgumentError if a feature does not hold values of `dtype`."""
    if feature.kind != KIND_OF[dtype]:
        raise invalid_argument(
            f"{location.of(key)}Data types don't match. Data type: {_NAME_OF[feature.kind]} but "
            f"expected type: {_NAME_OF[KIND_OF[dtype]]}"
        )


def dense_value(feature: ExampleFeature | None, dense: DenseFeature, location: Location) -> Any:
    """Return the values of a dense feature in one example, or its default if it is missing.

    The array has the feature's shape. If the number of rows varies, it has as many rows as the
    example.
    """
    if feature is None:
        if dense.is_ragged:
            return as_vector((), dense.dtype).reshape(0, *dense.shape[1:])
        if not dense.default.size:
            raise invalid_argument(
                f"{location.required(dense)} is required but could not be found."
            )
        return dense.default
    count, kind = len(feature), _NAME_OF[feature.kind]
    if dense.is_ragged:
        if not dense.stride or count % dense.stride:
            raise invalid_argument(
                f"{location.of(dense.key)}Number of {kind} values is not a multiple of stride "
                f"length. Saw {count} values but output shape is: {shape_text(dense.shape)}"
            )
        rows = as_vector(feature.values, dense.dtype)
        return rows.reshape(count // dense.stride, *dense.shape[1:])
    if count != dense.stride:
        raise invalid_argument(
            f"{location.of(dense.key)}Number of {kind} values != expected.  Values size: {count} "
            f"but output shape: {shape_text(dense.shape)}"
        )
    return as_vector(feature.values, dense.dtype).reshape(dense.shape)


def batch_of(values: Sequence[Any], dense: DenseFeature) -> Any:
    """Return the arrays of a dense feature in all examples as one array, whose first axis is the
    example.

    If the number of rows varies, each array is padded with the default to the length of the longest
    array.
    """
    if not dense.is_ragged:
        if not values:
            return as_vector((), dense.dtype).reshape(0, *dense.shape)
        return np.stack(values)
    longest = max((len(value) for value in values), default=0)
    inner = tuple(size or 0 for size in dense.shape[1:])
    result = np.empty((len(values), longest, *inner), dense.dtype.as_numpy_dtype)
    default = dense.default
    filler = default.reshape(())[()] if default.size == 1 else default.reshape(inner)
    for row, value in zip(result, values):
        row[: len(value)] = value
        row[len(value) :] = filler
    return result


def sparse_batch(values: Sequence[Any], dtype: DType) -> tuple[Any, Any, Any]:
    """Return a sparse feature of a batch as the indices, values and shape of a matrix with a row
    for each example.

    Args:
      values: the Feature of each example, or None if it is missing.
    """
    lists = [() if value is None else value.values for value in values]
    counts = np.array([len(value) for value in lists], np.int64)
    vectors = [as_vector(value, dtype) for value in lists]
    joined = np.concatenate([as_vector((), dtype), *vectors])
    return ragged_indices(counts), joined, matrix_shape(counts)


def ragged_indices(counts: Any) -> Any:
    """Return the indices of a sparse matrix whose row i has counts[i] values.

    The result is int64 [sum of counts, 2], with a (row, column) pair for each value.
    """
    total = int(counts.sum())
    indices = np.empty((total, 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(counts.size), counts)
    indices[:, 1] = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    return indices


def matrix_shape(counts: Any) -> Any:
    """Return the shape, int64 [2], of the smallest matrix whose row i has counts[i] values."""
    return np.array([counts.size, counts.max(initial=0)], np.int64)


def sparse_vector(feature: ExampleFeature | None, dtype: DType) -> tuple[Any, Any, Any]:
    """Return a sparse feature of one example as indices, values and shape of a vector."""
    values = as_vector(() if feature is None else feature.values, dtype)
    count = len(values)
    return np.arange(count, dtype=np.int64).reshape(-1, 1), values, np.array([count], np.int64)


def by_part(sparse: Sequence[tuple[Any, Any, Any]]) -> list[Any]:
    """Return one list with the indices of all sparse features, then their values, then their
    shapes.
    """
    return [part[kind] for kind in range(3) for part in sparse]


def split(arrays: Sequence[Any], *counts: int) -> list[Sequence[Any]]:
    """Split `arrays` into consecutive groups with the sizes `counts`. A last group contains the
    remaining arrays.
    """
    groups, start = [], 0
    for count in counts:
        groups.append(arrays[start : start + count])
        start += count
    return [*groups, arrays[start:]]


def sparse_shapes(count: int, rank: int) -> list[TensorShape]:
    """Return static shapes for `count` SparseTensors of rank `rank`.

    The shapes of all indices come first, followed by the shapes of all values and the shapes of all
    dense shapes.
    """
    kinds = (None, rank), (None,), (rank,)
    return [TensorShape.of(kind) for kind in kinds for _ in range(count)]
