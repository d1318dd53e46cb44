"""Native kernels on strings (host_texts.h), which read the memory of CPython's bytes objects
directly.

They require CPython's layout of bytes objects, and reject arrays that contain other objects. The
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

_FUNCTIONS = (
    *("PyBytes_FromStringAndSize", "Py_DecRef", "Py_IncRef"),
    *("PyGILState_Ensure", "PyGILState_Release"),
)
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
    """Return the integer parameters that are common to all functions for strings in input 0."""
    return [prod(signature.input_shapes[0]), *_addresses()]


def texts(function: str, numbers: Numbers = lambda _: (), file: str = "host_texts.h") -> RowSource:
    """Return the native kernel that applies a C function to each string.

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
    """Return the native kernel that returns the number of bytes or characters in each string."""
    return texts("gg_text_length", lambda signature: [_counts_characters(signature)], _CHARACTERS)


def _counts_characters(signature: Signature) -> int:
    return int(signature.attrs["unit"] != "BYTE")


_NUMBERS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
"""The dtypes of the numbers that are parsed, in the order of host_texts.h."""


def numbers_read() -> RowSource:
    """Return the native kernel of StringToNumber, which converts text to numbers."""

    def numbers(signature: Signature) -> list[int]:
        dtype = signature.output_types[0].base_dtype
        if dtype not in _NUMBERS:
            raise NotImplementedError(f"numbers of {dtype.name} are read by NumPy")
        return [_NUMBERS.index(dtype)]

    return texts("gg_text_to_number", numbers)


def cased(function: str) -> RowSource:
    """Return the native kernel that converts ASCII letters to upper or lower case. It rejects
    strings with other letters of UTF-8.
    """

    def numbers(signature: Signature) -> list[int]:
        return [int(bool(signature.attrs["encoding"]))]

    return texts(function, numbers)


_WRITTEN = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.bool)
"""The dtypes of the numbers that are written, in the order of host_more_texts.h."""

_FORMAT_BYTES = 24


def decimals(forms_of: Callable[[Signature], tuple[int, Sequence[str]]]) -> RowSource:
    """Return the native kernel that converts numbers to text.

    Args:
      forms_of: a function that receives the signature and returns either the number of digits after
        the point and an empty list, or -1 and two printf formats: for finite numbers, and for
        infinities and NaN.
    """

    def numbers(signature: Signature) -> list[int]:
        dtype = signature.input_types[0].base_dtype
        if dtype not in _WRITTEN:
            raise NotImplementedError(f"numbers of {dtype.name} are written by NumPy")
        digits, texts_of_forms = forms_of(signature)
        forms = [form.encode() for form in texts_of_forms]
        if any(len(form) >= _FORMAT_BYTES for form in forms):
            raise NotImplementedError("the format is too long")
        words = [word for form in forms for word in words_of(form.ljust(_FORMAT_BYTES, b"\0"))]
        return [_WRITTEN.index(dtype), digits, *words]

    return texts("gg_text_of_number", numbers, _MORE)


def scalars() -> RowSource:
    """Return the native kernel of ScalarSummary."""

    def parameters(signature: Signature) -> list[int]:
        (tags, values), dtype = signature.input_shapes, signature.input_types[1].base_dtype
        if tags != values or dtype not in _WRITTEN[:-1]:
            raise NotImplementedError(f"other shapes than the tags', or numbers of {dtype.name}")
        return [*text_numbers(signature), _WRITTEN.index(dtype)]

    return RowSource(_MORE, "gg_text_scalars", parameters, None)


def words_of(data: bytes) -> list[int]:
    """Return bytes as 64-bit integers. Zero bytes are appended to fill the last integer."""
    padded = data + bytes(-len(data) % 8)
    return [
        int.from_bytes(padded[start : start + 8], "little", signed=True)
        for start in range(0, len(padded), 8)
    ]


def joined() -> RowSource:
    """Return the native kernel of StringJoin."""

    def numbers(signature: Signature) -> list[int]:
        shape, shapes = signature.output_shapes[0], signature.input_shapes
        if len(shapes) > _MAX_JOINED or any(size and size != shape for size in shapes):
            raise NotImplementedError(
                f"more than {_MAX_JOINED} tensors, or tensors of other shapes"
            )
        separator = signature.attrs["separator"].encode("utf-8")
        scalars = [int(not size) for size in shapes]
        return [len(shapes), *scalars, len(separator), *words_of(separator)]

    def parameters(signature: Signature) -> list[int]:
        return [prod(signature.output_shapes[0]), *_addresses(), *numbers(signature)]

    return RowSource(_MORE, "gg_text_join", parameters, None)


def segments() -> RowSource:
    """Return the native kernel of UnsortedSegmentJoin."""

    def parameters(signature: Signature) -> list[int]:
        strings, ids, _ = signature.input_shapes
        if tuple(strings[: len(ids)]) != tuple(ids):
            raise NotImplementedError("the shapes do not fit")
        separator = signature.attrs["separator"].encode("utf-8")
        head = [*text_numbers(signature), prod(ids), int(signature.input_types[1].size == 8)]
        return [*head, signature.output_shapes[0][0], len(separator), *words_of(separator)]

    def sizes(_: Signature, strings: Any, ids: Any, count: Any) -> list[tuple[int, ...]]:
        if count.ndim or count < 0:
            raise NotImplementedError("the number of segments is not valid")
        return [(int(count), *strings.shape[ids.ndim :])]

    return RowSource(_MORE, "gg_text_segments", parameters, None, sizes=sizes)


_MORE, _CHARACTERS = "host_more_texts.h", "host_characters.h"
_MAX_JOINED = 11


def decoded() -> RowSource:
    """Return the native kernel of DecodeBase64."""
    return texts("gg_text_decoded", file=_MORE)


def parts() -> RowSource:
    """Return the native kernel of Substr."""

    def numbers(signature: Signature) -> list[int]:
        strings, positions, _ = signature.input_shapes
        one = int(prod(positions) == 1)
        if prod(strings) != prod(signature.output_shapes[0]) or (
            not one and tuple(positions) != tuple(strings)
        ):
            raise NotImplementedError("strings and positions are broadcast")
        return [signature.input_types[1].size, one, _counts_characters(signature)]

    return texts("gg_text_part", numbers, _CHARACTERS)


_UNITS = {"UTF-8": 1, "UTF-16-BE": 2, "UTF-32-BE": 4}
"""The minimum number of bytes of a character, by encoding."""


def transcoded() -> RowSource:
    """Return the native kernel of UnicodeTranscode. If errors are raised, it rejects strings that
    are not valid UTF-8.
    """

    def numbers(signature: Signature) -> list[int]:
        attrs = signature.attrs
        if attrs["input_encoding"].upper() not in ("UTF-8", "UTF8"):
            raise NotImplementedError("native code reads UTF-8")
        point = attrs["replacement_char"]
        if not 0 <= point <= sys.maxunicode:
            raise NotImplementedError("the replacement is not a character")
        controls = int(bool(attrs["replace_control_characters"]))
        errors = ("strict", "replace", "ignore").index(attrs["errors"])
        point = 0xFFFD if 0xD800 <= point < 0xE000 else point
        return [controls, _UNITS[attrs["output_encoding"]], errors, point]

    return texts("gg_text_transcode", numbers, _CHARACTERS)


def cuts(mode: Callable[[Any], tuple[int, int]]) -> RowSource:
    """Return the native kernel of StringSplit.

    Args:
      mode: a function that receives the attrs. It returns the number of a mode in host_texts.h, and
        the maximum number of splits, or -1 for no limit.
    """

    def parameters(signature: Signature) -> list[int]:
        room, chosen = signature.output_shapes[1][0], mode(signature.attrs)
        return [*text_numbers(signature), room, *chosen]

    def sizes(signature: Signature, strings: Any, delimiter: Any) -> list[tuple[int, ...]]:
        whole, _ = mode(signature.attrs)
        room = _most_parts(strings.ravel().tolist(), delimiter[()], whole == 2)
        return [(room, 2), (room,), (2,)]

    return RowSource("host_texts.h", "gg_text_cut", parameters, None, sizes=sizes, counted=[0, 1])


def _most_parts(strings: list[bytes], delimiter: bytes, is_whole: bool) -> int:
    """Return an upper bound for the number of parts into which strings are split.

    Args:
      is_whole: whether the strings are split at the whole delimiter, or at white space if it is
        empty. Otherwise they are split at each byte of the delimiter.
    """
    text = b" ".join(strings)
    if not delimiter:
        return (len(text) // 2 if is_whole else len(text)) + len(strings)
    if is_whole and len(delimiter) > 1:
        return sum([string.count(delimiter) for string in strings]) + len(strings)
    return sum(text.count(byte) for byte in {*delimiter}) + len(strings)
