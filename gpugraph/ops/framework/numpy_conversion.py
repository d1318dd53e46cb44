"""The conversion of Python values to arrays, with the rules for the dtype and shape of a constant.

By default, Python floats become float32, ints become int32 (or int64 if 32 bits do not suffice),
and NumPy arrays keep their dtype. If a dtype is requested, a Python value of an incompatible type
raises TypeError. For example, 1.5 is not silently rounded to an int.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.bfloat16 import kind_of
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import ResourceExhaustedError
from gpugraph.base.shapes import Dimension, as_shape

if TYPE_CHECKING:
    from numpy.typing import NDArray


def zero_of(dtype: Any) -> Any:
    """Return the zero of a NumPy dtype, which is 0, or empty bytes for strings."""
    return b"" if np.dtype(dtype).kind == "O" else 0


def constant_array(value: Any, dtype: Any = None, shape: Any = None) -> NDArray[Any]:
    """Convert `value` to an array of `dtype` and `shape`. By default, they follow from the value.

    A scalar, or the last element of a value with too few elements, fills the rest of `shape`.
    Raises TypeError if the value is incompatible with the dtype, and ValueError if it does not fit
    the shape.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    number_type = _type_of_numbers(value, wanted)
    if number_type is not None:
        array = np.array(value, number_type)
    elif isinstance(value, (np.ndarray, np.generic)) or hasattr(type(value), "__array__"):
        array = _from_numpy(np.asarray(value), wanted)
    else:
        array = _from_python(value, wanted)
    return array if shape is None else filled_up(array, shape)


_FLOATS = frozenset([dtypes.float32, dtypes.float64])
_MAX_BYTE = 1 << 7
_MAX_EXACT = 1 << 24
_MAX_INT32 = 1 << 31
_MAX_FLOAT = 1e38


def type_of_number(value: Any, wanted: DType | None) -> Any:
    """Return the NumPy type for a number that certainly fits the dtype `wanted`, or None if more
    checks are needed.
    """
    if type(value) is float:
        if -_MAX_FLOAT < value < _MAX_FLOAT and (wanted is None or wanted in _FLOATS):
            return np.float32 if wanted is None else wanted._numpy_type
    elif type(value) is int:
        if wanted is None:
            return np.int32 if -_MAX_INT32 <= value < _MAX_INT32 else None
        if wanted.is_integer and not wanted.is_unsigned and -_MAX_BYTE <= value < _MAX_BYTE:
            return wanted._numpy_type
        if wanted in _FLOATS and -_MAX_EXACT < value < _MAX_EXACT:
            return wanted._numpy_type
    return None


def _type_of_numbers(value: Any, wanted: DType | None) -> Any:
    """Return the NumPy type for a number as `type_of_number` does. For a list of ints, such as a
    shape, return a type that all of them fit.
    """
    if type(value) not in (list, tuple):
        return type_of_number(value, wanted)
    if {*map(type, value)} != {int}:
        return None
    smallest, largest = type_of_number(min(value), wanted), type_of_number(max(value), wanted)
    return smallest if smallest is largest else None


def _from_numpy(array: NDArray[Any], wanted: DType | None) -> NDArray[Any]:
    if wanted is None:
        if array.dtype.kind in "SUO":
            return _strings(array)
        as_dtype(array.dtype)  # the call raises TypeError for an unsupported dtype
        return array.copy()
    if wanted is dtypes.string:
        return _strings(array)
    return array.astype(wanted.as_numpy_dtype)


def _from_python(value: Any, wanted: DType | None) -> NDArray[Any]:
    if value is None:
        raise ValueError("None values not supported.")
    try:
        array = np.array(value)
    except UnicodeDecodeError:  # a mixture of str and bytes
        array = np.array("")
    except ValueError as error:
        raise ValueError(f"Argument must be a dense tensor: {value!r} - {error}") from error
    kind = array.dtype.kind
    if wanted is not None and (kind == "O" or (kind == "f" and wanted.is_integer)):
        array = _from_large_ints(array, value, wanted)
    if array.dtype.kind == "O":
        array = _from_objects(array, value)
    if wanted is not None:
        _check_kind(value, array, wanted)
    if array.dtype.kind in "SU" or wanted is dtypes.string:
        return _strings(np.array(value, object))  # NumPy's strings lose trailing NULs
    if wanted is not None:
        return _cast(array, wanted)
    if array.dtype == np.float64:
        with np.errstate(over="ignore"):  # values too large for float32 become infinite
            return array.astype(np.float32)
    if array.dtype == np.int64:
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    return array


def _from_large_ints(array: NDArray[Any], value: Any, wanted: DType) -> NDArray[Any]:
    """Convert an array of ints for which NumPy has no common type. They become floats or, for an
    integer dtype, ints modulo 2**64.

    An array of any other type is returned unchanged.
    """
    items = np.array(value, object) if array.dtype.kind == "f" else array
    if not all(type(item) is int for item in items.flat):
        return array
    if wanted.is_floating or wanted.is_complex:
        try:
            return items.astype(np.float64)
        except OverflowError:
            return array
    if wanted.is_integer and all(-(2**63) <= item < 2**64 for item in items.flat):
        bits = [item % 2**64 for item in items.flat]
        return np.array(bits, np.uint64).reshape(items.shape)
    return array


def _from_objects(array: NDArray[Any], value: Any) -> NDArray[Any]:
    """Convert the Dimension objects in an array to ints. Raises TypeError if the array has any
    other objects.

    Raises ValueError if a Dimension is unknown.
    """
    items = array.reshape(-1).tolist()
    if not any(isinstance(item, Dimension) for item in items):
        raise _unknown(value)
    try:
        numbers = [int(item) if isinstance(item, Dimension) else item for item in items]
    except TypeError as error:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value!r}") from error
    converted = np.array(numbers)
    if converted.dtype.kind == "O":
        raise _unknown(value)
    return converted.reshape(array.shape)


def _unknown(value: Any) -> TypeError:
    return TypeError(
        f"Failed to convert object of type {type(value)} to Tensor. Contents: {value!r}. "
        "Consider casting elements to a supported type."
    )


def _check_texts(array: NDArray[Any]) -> None:
    """Raise TypeError if an item is not a string. NumPy itself would convert numbers to text."""
    for item in array.reshape(-1).tolist():
        if not isinstance(item, (str, bytes)):
            raise TypeError(
                f"Expected binary or unicode string, got {item!r} of type '{type(item).__name__}'"
            )


_WANTED_BY_KIND: dict[str, Callable[[DType], bool]] = {
    "b": lambda wanted: wanted is not dtypes.string,
    "i": lambda wanted: wanted.is_integer or wanted.is_floating or wanted.is_complex,
    "u": lambda wanted: wanted.is_integer or wanted.is_floating or wanted.is_complex,
    "f": lambda wanted: wanted.is_floating or wanted.is_complex,
    "c": lambda wanted: wanted.is_complex,
    "S": lambda wanted: wanted is dtypes.string,
    "U": lambda wanted: wanted is dtypes.string,
}
"""By NumPy's kind of an array of Python values, a test whether the values may become a dtype."""


def _check_kind(value: Any, array: NDArray[Any], wanted: DType) -> None:
    kind = kind_of(array.dtype)
    if array.size != 0 and not (kind in _WANTED_BY_KIND and _WANTED_BY_KIND[kind](wanted)):
        raise TypeError(
            f"Expected {wanted.name}, got {value!r} of type '{type(value).__name__}' instead."
        )


def _cast(array: NDArray[Any], wanted: DType) -> NDArray[Any]:
    """Cast the array to `wanted`. Ints that do not fit wrap around, as in C."""
    return array.astype(wanted.as_numpy_dtype)


def _strings(array: NDArray[Any]) -> NDArray[Any]:
    """Convert strings to an object array of bytes. Raises TypeError if an item is not a string."""
    items = array.reshape(-1).tolist()
    if array.dtype == object and set(map(type, items)) <= {bytes}:
        return array.copy()
    _check_texts(array)
    result = np.empty(array.shape, object)
    flat = result.reshape(-1)
    for index, item in enumerate(items):
        try:
            flat[index] = item.encode() if isinstance(item, str) else item
        except UnicodeEncodeError as error:
            raise ValueError(f"The text {item!r} can't be encoded: {error}") from None
    return flat.reshape(array.shape)


def filled_up(array: NDArray[Any], dims: Any) -> NDArray[Any]:
    """Return the array with the shape `dims`. If there are too few values, the last value fills the
    rest.

    Raises ValueError if the array is empty or has too many elements, or if the shape is not fully
    defined.
    """
    shape = as_shape(dims)
    sizes = [size for size in shape.as_list() if size is not None]
    if len(sizes) != shape.rank:
        raise ValueError(f"A constant needs a fully defined shape, but got {shape}")
    if array.shape == tuple(sizes):
        return array
    count = prod(sizes)
    if count == 0:  # TensorFlow accepts any value for an empty tensor
        return _full(sizes, 0, zero_of(array.dtype), array.dtype).reshape(sizes)
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Needed at most {count}, but received {array.size}"
        )
    if array.size == count:
        return array.reshape(sizes)
    if array.size == 0:
        raise ValueError(f"An empty value can't fill the shape {shape}")
    flat = _full(sizes, count, array.reshape(-1)[-1], array.dtype)
    flat[: array.size] = array.reshape(-1)
    return flat.reshape(sizes)


def _full(sizes: list[int], count: int, value: Any, dtype: Any) -> NDArray[Any]:
    try:
        return np.full(count, value, dtype)
    except (MemoryError, ValueError) as error:  # ValueError: the size exceeds the address space
        name = as_dtype(dtype).name
        raise ResourceExhaustedError(
            None, None, f"OOM when allocating tensor with shape{sizes} and type {name}: {error}"
        ) from None
