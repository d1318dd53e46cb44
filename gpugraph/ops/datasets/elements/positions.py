"""The serialization of iterators' positions and of elements in files.

A value is a number, a text, bytes, an array, None, or a list of values. The bytes of each value
start with a character that states its type:

    n           None                    i, f        a number as text of some length
    t, u, b     true, text, bytes       [           the number of values, then the values
    a           dtype, shape, bytes     s           an array of objects: shape, list of values
    d           a dataset in memory: dtypes, shapes, and its elements, or None and its columns
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import DataLossError, UnimplementedError
from gpugraph.base.shapes import TensorShape
from gpugraph.ops.datasets.list_stages import ListStage

_SIZE = struct.Struct("<q")


def packed(value: Any) -> bytes:
    """Return a value as bytes. Raises UnimplementedError if the value can't be stored."""
    parts: list[bytes] = []
    _pack(value, parts)
    return b"".join(parts)


def _sized(content: bytes) -> bytes:
    return _SIZE.pack(len(content)) + content


def _pack(value: Any, parts: list[bytes]) -> None:
    if value is None:
        parts.append(b"n")
    elif isinstance(value, np.generic):
        _pack_array(np.asarray(value), parts)
    elif isinstance(value, bool):
        parts.append(b"t\1" if value else b"t\0")
    elif isinstance(value, int):
        parts.append(b"i" + _sized(str(value).encode()))
    elif isinstance(value, float):
        parts.append(b"f" + _sized(value.hex().encode()))
    elif isinstance(value, str):
        parts.append(b"u" + _sized(value.encode("utf-8", "surrogateescape")))
    elif isinstance(value, bytes):
        parts.append(b"b" + _sized(value))
    elif isinstance(value, (list, tuple)):
        parts.append(b"[" + _SIZE.pack(len(value)))
        for part in value:
            _pack(part, parts)
    elif isinstance(value, np.ndarray):
        _pack_array(value, parts)
    elif isinstance(value, ListStage):
        parts.append(b"d")
        _pack([dtype.name for dtype in value.types], parts)
        _pack([None if one.sizes is None else list(one.sizes) for one in value.shapes], parts)
        block = value.block
        _pack([list(row) for row in value.rows] if block is None else [None, list(block)], parts)
    else:
        raise UnimplementedError.of_no_node(
            f"An element that holds a {type(value).__name__} can't be stored"
        )


def _pack_array(array: Any, parts: list[bytes]) -> None:
    if array.dtype == object:
        parts.append(b"s")
        _pack(list(array.shape), parts)
        _pack(array.ravel().tolist(), parts)
        return
    parts.append(b"a")
    _pack(as_dtype(array.dtype).name, parts)
    _pack(list(array.shape), parts)
    parts.append(_sized(np.ascontiguousarray(array).tobytes()))


def unpacked(content: bytes) -> Any:
    """Return the value for which `packed` returned `content`. Raises DataLossError if `content`
    can't be a result of `packed`.
    """
    try:
        value, place = _unpack(content, 0)
    except (IndexError, struct.error, ValueError, TypeError, RecursionError) as error:
        raise DataLossError.of_no_node(f"The stored value is damaged: {error}") from error
    if place != len(content):
        raise DataLossError.of_no_node("The stored value is damaged: it is too long")
    return value


def _unpack(content: bytes, place: int) -> tuple[Any, int]:
    kind = content[place : place + 1]
    place += 1
    if kind == b"n":
        return None, place
    if kind == b"t":
        return content[place] == 1, place + 1
    if kind == b"s":
        shape, place = _unpack(content, place)
        items, place = _unpack(content, place)
        array = np.empty(len(items), object)
        array[:] = items or array
        return array.reshape(shape), place
    if kind == b"a":
        name, place = _unpack(content, place)
        shape, place = _unpack(content, place)
        raw, place = _raw(content, place)
        return np.frombuffer(raw, as_dtype(name).as_numpy_dtype).reshape(shape).copy(), place
    if kind == b"d":
        names, place = _unpack(content, place)
        sizes, place = _unpack(content, place)
        rows, place = _unpack(content, place)
        types = [as_dtype(name) for name in names]
        shapes = [TensorShape.of(one if one is None else tuple(one)) for one in sizes]
        if rows and rows[0] is None:
            return ListStage([], types, shapes, tuple(rows[1])), place
        return ListStage([tuple(row) for row in rows], types, shapes), place
    if kind == b"[":
        (count,) = _SIZE.unpack_from(content, place)
        place += _SIZE.size
        values = []
        for _ in range(count):
            value, place = _unpack(content, place)
            values.append(value)
        return values, place
    raw, place = _raw(content, place)
    readers: dict[bytes, Callable[[bytes], Any]] = {
        b"i": int,
        b"f": lambda text: float.fromhex(text.decode()),
        b"b": bytes,
    }
    if kind == b"u":
        return raw.decode("utf-8", "surrogateescape"), place
    if kind not in readers:
        raise ValueError(f"no value starts with {kind!r}")
    return readers[kind](raw), place


def _raw(content: bytes, place: int) -> tuple[bytes, int]:
    (size,) = _SIZE.unpack_from(content, place)
    start = place + _SIZE.size
    if size < 0 or start + size > len(content):
        raise ValueError("it is cut off")
    return content[start : start + size], start + size
