"""Conversion between arrays and serialized TensorProto messages, without protobuf."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.formats.example_bytes import varints
from gpugraph.formats.message_bytes import LENGTH, VARINT, bytes_field, fields_of, int_field, varint

_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
_FIXED = {5: "<f4", 6: "<f8", 9: "<f4", 12: "<f8"}
_INTEGERS = (7, 10, 11, 13, 16, 17)
_FIELD_OF: dict[DType, int] = {
    dtypes.float32: 5,
    dtypes.float64: 6,
    dtypes.complex64: 9,
    dtypes.complex128: 12,
    dtypes.int64: 10,
    dtypes.bool: 11,
    dtypes.float16: 13,
    dtypes.bfloat16: 13,
    dtypes.uint32: 16,
    dtypes.uint64: 17,
    **dict.fromkeys((dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint8, dtypes.uint16), 7),
    **dict.fromkeys(dtypes.QUANTIZED, 7),
}
_LARGEST_EXPANSION = 1 << 24
"""The maximum number of elements of a tensor whose message has values for less than half of
them.
"""


def tensor_bytes(array: Any, dtype: DType, shape: Any = None) -> bytes:
    """Return a serialized TensorProto. Numbers are stored as raw bytes, strings as one field each.

    Raises TypeError if a TensorProto can't hold the dtype as bytes.

    Args:
      shape: a shape that replaces the array's shape, or None.
    """
    sizes = array.shape if shape is None else shape
    dims = b"".join(bytes_field(2, int_field(1, size)) for size in sizes)
    head = int_field(_DTYPE, dtype.as_datatype_enum) + bytes_field(_SHAPE, dims)
    if dtype is dtypes.string:
        return head + b"".join(bytes_field(_STRINGS, text) for text in array.reshape(-1).tolist())
    if dtype not in _FIELD_OF:
        raise TypeError(f"Element type not supported in TensorProto: {dtype.name}")
    content = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    return head + (bytes_field(_CONTENT, content.tobytes()) if content.size else b"")


def read_tensor_bytes(message: bytes) -> tuple[Any, DType]:
    """Return the array of a serialized TensorProto, and its dtype.

    Raises ValueError if the bytes are malformed.
    """
    dtype, raw = 0, b""
    sizes: list[int] = []
    parts: dict[int, list[tuple[int, bytes]]] = {}
    for number, kind, content, _, _ in fields_of(message):
        if number == _DTYPE and kind == VARINT:
            dtype = int(varints(content)[0])
        elif number == _SHAPE and kind == LENGTH:
            sizes += _sizes(content)
        elif number == _CONTENT and kind == LENGTH:
            raw = content
        else:
            parts.setdefault(number, []).append((kind, content))
    try:
        known = as_dtype(dtype)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if known is not dtypes.string and known not in _FIELD_OF:
        raise ValueError(f"a tensor of {known.name} has no bytes")
    count = prod(sizes)
    if raw and known is not dtypes.string:
        numpy_type = np.dtype(known.as_numpy_dtype)
        stored = np.dtype(np.uint16) if known is dtypes.bfloat16 else numpy_type
        values = np.frombuffer(raw, stored.newbyteorder("<")).astype(stored).view(numpy_type)
        if values.size != count:
            raise ValueError(f"{values.size} values are not those of shape {sizes}")
        return values.reshape(sizes), known
    values = _typed(known, parts, raw, count)
    return _filled(values, count).reshape(sizes), known


def _sizes(content: bytes) -> list[int]:
    sizes = []
    for number, kind, dim, _, _ in fields_of(content):
        if number == 3 and kind == VARINT and varints(dim)[0]:
            raise ValueError("the shape is not known")
        if number == 2 and kind == LENGTH:
            size = 0
            for part, part_kind, value, _, _ in fields_of(dim):
                if part == 1 and part_kind == VARINT:
                    size = int(varints(value)[0])
            if size < 0:
                raise ValueError(f"a size is {size}")
            sizes.append(size)
    return sizes


def _typed(dtype: DType, parts: dict[int, list[tuple[int, bytes]]], raw: bytes, count: int) -> Any:
    """Return the values in the field for `dtype`. In this field, values may be packed or separate.

    Args:
      parts: (wire type, content) of all fields, by number.
      raw: the content of `tensor_content`, which may contain strings.
    """
    if dtype is dtypes.string:
        texts = [content for _, content in parts.get(_STRINGS, ())]
        if raw and not texts:
            texts = decoded_strings(raw, count)
        values = np.empty(len(texts), object)
        values[:] = texts
        return values
    field = _FIELD_OF[dtype]
    content = b"".join(content for _, content in parts.get(field, ()))
    numpy_type = np.dtype(dtype.as_numpy_dtype)
    if field in _FIXED:
        numbers = np.frombuffer(content, _FIXED[field])
        if dtype.is_complex:
            return numbers[::2].astype(numpy_type) + 1j * numbers[1::2].astype(numpy_type)
        return numbers.astype(numpy_type)
    integers = varints(content)
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return integers.astype(np.uint16).view(numpy_type)
    return integers.astype(numpy_type)


def decoded_strings(raw: bytes, count: int) -> list[bytes]:
    """Decode `count` strings from TensorFlow's raw bytes, which contain all lengths as varints,
    followed by all strings.
    """
    if count > len(raw):
        raise ValueError(f"{len(raw)} bytes are too few for {count} strings")
    groups = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(groups < 0x80)[:count]
    if len(ends) < count:
        raise ValueError("the lengths of strings are cut off")
    head = int(ends[-1]) + 1 if count else 0
    texts, position = [], head
    for size in varints(raw[:head]).tolist():
        if not 0 <= size <= len(raw) - position:
            raise ValueError("a string is cut off")
        texts.append(raw[position : position + size])
        position += size
    return texts


def encoded_strings(texts: list[bytes]) -> bytes:
    """Encode strings as TensorFlow's raw bytes, which contain all lengths as varints, followed by
    all strings.
    """
    return b"".join([*(varint(len(text)) for text in texts), *texts])


def _filled(values: Any, count: int) -> Any:
    """Extend the values to `count` elements by repeating the last value. If there are no values,
    use zeros.

    Raises ValueError if there are too many values, or if a few values would expand to a huge array.
    """
    if values.size == count:
        return values
    if values.size > count:
        raise ValueError(f"{values.size} values are more than {count}")
    if count > max(_LARGEST_EXPANSION, 2 * values.size):
        raise ValueError(f"{values.size} values are too few for {count}")
    result = np.zeros(count, values.dtype)
    if values.dtype == object:
        result.fill(b"")
    result[: values.size] = values
    if values.size:
        result[values.size :] = values[-1]
    return result
