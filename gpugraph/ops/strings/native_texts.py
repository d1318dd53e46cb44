"""Native kernels on strings (host_texts.h), which read the memory of CPython's bytes objects
directly.

They require CPython's layout of bytes objects, and refuse arrays that contain other objects. The
NumPy kernels then run instead.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

from gpugraph.base import dtypes
from gpugraph.kernel import RowSource, Signature

_FUNCTIONS = ("PyBytes_FromStringAndSize", "Py_DecRef", "PyGILState_Ensure", "PyGILState_Release")
_BYTES_BEFORE = 32
"""The bytes of a bytes object before its content."""

Numbers = Callable[[Signature], Sequence[int]]


@cache
def _addresses() -> list[int]:
    """Return the addresses of the type `bytes` and of the CPython functions that the kernels call.
    Raises NotImplementedError if bytes objects have another layout.
    """
    is_usual = sys.implementation.name == "cpython" and sys.byteorder == "little"
    if not is_usual or bytes.__basicsize__ != _BYTES_BEFORE + 1:
        raise NotImplementedError("strings have another layout than CPython's")
    functions = [
        ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _FUNCTIONS
    ]
    return [id(bytes), *(int(function.value or 0) for function in functions)]


def text_numbers(signature: Signature) -> list[int]:
    """Return the integer parameters that all functions for strings in input 0 have."""
    return [prod(signature.input_shapes[0]), *_addresses()]


def texts(function: str, numbers: Numbers = lambda _: (), file: str = "host_texts.h") -> RowSource:
    """Return the native kernel of a function of each string.

    Args:
      numbers: the function's integer parameters.
      file: the file of the function.
    """
    return RowSource(
        file, function, lambda signature: [*text_numbers(signature), *numbers(signature)], None
    )


def hashed(function: str) -> RowSource:
    """Return the native kernel that assigns strings to buckets."""

    def numbers(signature: Signature) -> list[int]:
        key = list(signature.attrs.get("key", (0, 0)))
        if len(key) != 2:
            raise NotImplementedError("the key has not two numbers")
        return [signature.attrs["num_buckets"], *(n - (n >> 63 << 64) for n in key)]

    return texts(function, numbers)


def lengths() -> RowSource:
    """Return the native kernel that returns the number of bytes in each string."""

    def numbers(signature: Signature) -> list[int]:
        return _only_bytes(signature)

    return texts("gg_text_length", numbers)


def _only_bytes(signature: Signature) -> list[int]:
    if signature.attrs["unit"] != "BYTE":
        raise NotImplementedError("characters are counted by NumPy")
    return []


_NUMBERS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
"""The dtypes of the numbers that are parsed, in the order of host_texts.h."""


def numbers_read() -> RowSource:
    """Return the native kernel of StringToNumber."""

    def numbers(signature: Signature) -> list[int]:
        dtype = signature.output_types[0].base_dtype
        if dtype not in _NUMBERS:
            raise NotImplementedError(f"numbers of {dtype.name} are read by NumPy")
        return [_NUMBERS.index(dtype)]

    return texts("gg_text_to_number", numbers)


def cased(function: str) -> RowSource:
    """Return the native kernel that converts ASCII letters to upper or lower case."""

    def numbers(signature: Signature) -> list[int]:
        if signature.attrs["encoding"]:
            raise NotImplementedError("letters of UTF-8 are converted by NumPy")
        return []

    return texts(function, numbers)


def decimals() -> RowSource:
    """Return the native kernel that converts numbers to text."""

    def numbers(signature: Signature) -> list[int]:
        dtype, attrs = signature.input_types[0].base_dtype, signature.attrs
        is_plain = attrs["width"] < 0 and attrs["precision"] < 0 and not attrs["fill"]
        if attrs["scientific"] or attrs["shortest"] or not is_plain:
            raise NotImplementedError("native code writes plain numbers")
        if dtype not in _NUMBERS:
            raise NotImplementedError(f"numbers of {dtype.name} are written by NumPy")
        return [dtype.size, int(dtype.is_floating)]

    return texts("gg_text_of_number", numbers, _MORE)


def joined() -> RowSource:
    """Return the native kernel of StringJoin."""

    def numbers(signature: Signature) -> list[int]:
        shape, shapes = signature.output_shapes[0], signature.input_shapes
        if len(shapes) > _MAX_JOINED or any(size and size != shape for size in shapes):
            raise NotImplementedError(
                f"more than {_MAX_JOINED} tensors, or tensors of other shapes"
            )
        separator = signature.attrs["separator"].encode("utf-8")
        padded = separator + bytes(-len(separator) % 8)
        words = [
            int.from_bytes(padded[start : start + 8], "little", signed=True)
            for start in range(0, len(padded), 8)
        ]
        return [len(shapes), *(int(not size) for size in shapes), len(separator), *words]

    def parameters(signature: Signature) -> list[int]:
        return [prod(signature.output_shapes[0]), *_addresses(), *numbers(signature)]

    return RowSource(_MORE, "gg_text_join", parameters, None)


_MORE = "host_more_texts.h"
_MAX_JOINED = 11


def decoded() -> RowSource:
    """Return the native kernel of DecodeBase64."""
    return texts("gg_text_decoded", file=_MORE)


def parts() -> RowSource:
    """Return the native kernel of Substr."""

    def numbers(signature: Signature) -> list[int]:
        _only_bytes(signature)
        strings, positions, _ = signature.input_shapes
        one = int(prod(positions) == 1)
        if prod(strings) != prod(signature.output_shapes[0]) or (
            not one and tuple(positions) != tuple(strings)
        ):
            raise NotImplementedError("strings and positions are broadcast")
        return [signature.input_types[1].size, one]

    return texts("gg_text_part", numbers)


def cuts(mode: Callable[[Any], int]) -> RowSource:
    """Return the native kernel of StringSplit.

    Args:
      mode: a function that receives the attrs and returns the number of a mode in host_texts.h.
    """

    def parameters(signature: Signature) -> list[int]:
        room, chosen = signature.output_shapes[1][0], mode(signature.attrs)
        return [*text_numbers(signature), room, chosen]

    def sizes(_: Signature, strings: Any, delimiter: Any) -> list[tuple[int, ...]]:
        room = sum(map(len, strings.ravel().tolist())) + strings.size
        return [(room, 2), (room,), (2,)]

    return RowSource("host_texts.h", "gg_text_cut", parameters, None, sizes=sizes, counted=[0, 1])
