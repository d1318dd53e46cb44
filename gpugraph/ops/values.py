"""Python values as arrays: the rules by which a constant gets its dtype and shape.

Python floats become float32, ints int32 (int64 where 32 bits are too few), NumPy arrays keep
their dtype. A Python value of another kind than the dtype asked for is a TypeError: no silent
rounding of 1.5 to an int.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpugraph import dtypes
from gpugraph.dtypes import DType, as_dtype
from gpugraph.shapes import TensorShape, as_shape

__all__ = ["constant_array", "zero_of"]


def zero_of(dtype: Any) -> Any:
    """The element that arrays of a NumPy dtype are cleared with: 0, of strings the empty one."""
    return b"" if dtype == object else 0


def constant_array(value: Any, dtype: Any = None, shape: Any = None) -> NDArray[Any]:
    """`value` as an array of `dtype` (by the rules above where None), filled up to `shape`.

    Raises TypeError when the value is not of that kind, ValueError when it does not fit the
    shape. A scalar, or the last element of too short a value, fills the rest of `shape`.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if isinstance(value, (np.ndarray, np.generic)):
        array = _from_numpy(np.asarray(value), wanted)
    else:
        array = _from_python(value, wanted)
    return array if shape is None else _fill(array, as_shape(shape))


def _from_numpy(array: NDArray[Any], wanted: DType | None) -> NDArray[Any]:
    if wanted is None:
        if array.dtype.kind in "SU":
            return _strings(array)
        as_dtype(array.dtype)  # TypeError for what is no dtype of ours
        return array.copy()
    if wanted is dtypes.string:
        return _strings(array)
    return array.astype(wanted.as_numpy_dtype)


def _from_python(value: Any, wanted: DType | None) -> NDArray[Any]:
    if value is None:
        raise ValueError("None values not supported.")
    try:
        array = np.array(value)
    except ValueError as error:
        raise ValueError(f"Argument must be a dense tensor: {value!r} - {error}") from error
    if array.dtype.kind == "O":
        raise TypeError(
            f"Failed to convert object of type {type(value)} to Tensor. Contents: {value!r}. "
            "Consider casting elements to a supported type."
        )
    if wanted is not None:
        _check_kind(value, array, wanted)
        return _strings(array) if wanted is dtypes.string else _cast(array, wanted, value)
    if array.dtype.kind in "SU":
        return _strings(array)
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    return array


def _check_kind(value: Any, array: NDArray[Any], wanted: DType) -> None:
    kind = array.dtype.kind
    if array.size == 0:
        return
    accepted = {
        "b": wanted.is_bool,
        "i": wanted.is_integer or wanted.is_floating or wanted.is_complex,
        "u": wanted.is_integer or wanted.is_floating or wanted.is_complex,
        "f": wanted.is_floating or wanted.is_complex,
        "c": wanted.is_complex,
        "S": wanted is dtypes.string,
        "U": wanted is dtypes.string,
    }
    if not accepted.get(kind, False):
        raise TypeError(
            f"Expected {wanted.name}, got {value!r} of type '{type(value).__name__}' instead."
        )


def _cast(array: NDArray[Any], wanted: DType, value: Any) -> NDArray[Any]:
    if wanted.is_integer and array.dtype.kind in "iu" and array.size:
        limits = np.iinfo(wanted.as_numpy_dtype)
        if builtins.int(array.min()) < limits.min or builtins.int(array.max()) > limits.max:
            raise ValueError(f"{value!r} is out of the range of {wanted.name}")
    return array.astype(wanted.as_numpy_dtype)


def _strings(array: NDArray[Any]) -> NDArray[Any]:
    """Text as an object array of bytes."""
    result = np.empty(array.shape, object)
    flat = result.reshape(-1)
    for index, item in enumerate(array.reshape(-1).tolist()):
        flat[index] = item.encode() if isinstance(item, str) else item
    return flat.reshape(array.shape)


def _fill(array: NDArray[Any], shape: TensorShape) -> NDArray[Any]:
    sizes = [size for size in shape.as_list() if size is not None]
    if len(sizes) != shape.rank:
        raise ValueError(f"A constant needs a fully defined shape, but got {shape}")
    if array.shape == tuple(sizes):
        return array
    count = builtins.int(np.prod(sizes, dtype=np.int64))
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Needed at most {count}, but received {array.size}"
        )
    if array.size == count:
        return array.reshape(sizes)
    if array.size == 0:
        raise ValueError(f"An empty value can't fill the shape {shape}")
    flat = np.full(count, array.reshape(-1)[-1], array.dtype)
    flat[: array.size] = array.reshape(-1)
    return flat.reshape(sizes)
