"""Serialization of protobuf messages, field by field, without protobuf.

A field consists of its number and wire type in a varint, followed by its value, which is a varint,
4 or 8 bytes, or a length and this number of bytes. This module is for messages that a run writes in
large numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5
"""protobuf's wire types: how the value of a field is stored."""

_FOUR, _EIGHT = struct.Struct("<f"), struct.Struct("<d")
_LONGEST_VARINT = 10
_MASK = (1 << 64) - 1


def varint(value: int) -> bytes:
    """Encode an integer as a varint (groups of 7 bits). A negative integer is encoded as its 64
    bits.
    """
    value &= _MASK
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def bytes_field(number: int, content: bytes) -> bytes:
    """Encode a field that is a string, bytes or a message. An empty field is encoded too."""
    return varint(number << 3 | LENGTH) + varint(len(content)) + content


def nested_field(number: int, parts: Sequence[Any]) -> list[Any]:
    """Return the parts of a field whose content is the concatenation of `parts`.

    Only the caller copies them, with `b"".join`. Parts are bytes, or memoryviews of bytes.
    """
    head = varint(number << 3 | LENGTH) + varint(sum(map(len, parts)))
    return [head, *parts]


def int_field(number: int, value: int) -> bytes:
    """Encode an integer field. 0 is omitted, since readers interpret an absent field as 0."""
    return varint(number << 3 | VARINT) + varint(value) if value else b""


def float_field(number: int, value: float) -> bytes:
    """Encode a float field. The value 0 is encoded too. Values out of the range of float32 become
    infinite.
    """
    try:
        content = _FOUR.pack(value)
    except OverflowError:
        content = _FOUR.pack(float("inf") if value > 0 else float("-inf"))
    return varint(number << 3 | FOUR_BYTES) + content


def double_field(number: int, value: float) -> bytes:
    """Encode a double field. +0 is omitted, since readers interpret an absent field as 0."""
    content = _EIGHT.pack(value)
    return varint(number << 3 | EIGHT_BYTES) + content if content != bytes(8) else b""


def doubles_field(number: int, values: Sequence[float]) -> bytes:
    """Encode a packed field of doubles. For an empty list, return no bytes."""
    return bytes_field(number, struct.pack(f"<{len(values)}d", *values)) if len(values) else b""


def _read_varint(content: bytes, start: int) -> tuple[int, int]:
    """Return the varint at `start`, and the position after it. Raises ValueError if the varint is
    truncated.
    """
    value = 0
    for index in range(_LONGEST_VARINT):
        if start + index >= len(content):
            raise ValueError(f"the message ends within a number, at byte {len(content)}")
        byte = content[start + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & _MASK, start + index + 1
    raise ValueError(f"a number of more than {_LONGEST_VARINT} bytes, at byte {start}")


def fields_of(content: bytes) -> Iterator[tuple[int, int, bytes, int, int]]:
    """Yield (number, wire type, content, start, end) of each field of a message.

    `start` and `end` are the positions of the whole field. The content of a varint is its encoded
    bytes. Raises ValueError if the bytes are not a message.
    """
    position = 0
    while position < len(content):
        start = position
        key, position = _read_varint(content, position)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            _, end = _read_varint(content, position)
        elif kind == LENGTH:
            size, position = _read_varint(content, position)
            end = position + size
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            end = position + (8 if kind == EIGHT_BYTES else 4)
        else:
            raise ValueError(f"a field of the unknown kind {kind}, at byte {start}")
        if not number or end > len(content):
            raise ValueError(f"field {number} at byte {start} is not whole")
        yield number, kind, content[position:end], start, end
        position = end
