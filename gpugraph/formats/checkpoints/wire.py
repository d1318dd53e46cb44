"""Encoding and decoding of the protobuf fields in the index of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

Value = int | bytes

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BITS = (1 << 64) - 1
_SINGLE = [bytes((number,)) for number in range(0x80)]


class MalformedError(ValueError):
    """The bytes are not a valid message or table. The caller adds the file's name."""


def varint(value: int) -> bytes:
    """Encode an unsigned number as a varint (groups of 7 bits). A negative number is encoded as its
    64 bits.
    """
    if 0 <= value < 0x80:
        return _SINGLE[value]
    value &= _BITS
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Return the varint at `position`, and the position after it.

    Raises MalformedError if the varint extends beyond `end`.
    """
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _BITS, position
        shift += 7
    raise MalformedError("a number does not end")


def signed(value: int) -> int:
    """Interpret a 64-bit unsigned number as an int64."""
    return value - (1 << 64) if value >> 63 else value


def field(number: int, value: int | bytes, always: bool = False) -> bytes:
    """Encode a field, which is a number, or bytes preceded by their length.

    A number that is zero is omitted unless `always`.
    """
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value or always else b""
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


def fixed32(number: int, value: int) -> bytes:
    """Encode a field of four bytes. If the value is zero, return no bytes."""
    return varint(number << 3 | _FIXED32) + value.to_bytes(4, "little") if value else b""


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield (number, value) of each field of a message. Raises MalformedError if the bytes are
    malformed.

    Unknown fields are included. A value is bytes, or an unsigned number.
    """
    position, end = 0, len(data)
    while position < end:
        tag = data[position]
        position += 1
        if tag >= 0x80:
            tag, position = read_varint(data, position - 1, end)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise MalformedError(f"a field has the number {number}")
        if kind == _VARINT:
            value, position = read_varint(data, position, end)
            yield number, value
            continue
        if kind == _BYTES:
            size, position = read_varint(data, position, end)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise MalformedError(f"a field has the wire type {kind}")
        if size > end - position:
            raise MalformedError(f"a field of {size} bytes has {end - position}")
        content = data[position : position + size]
        position += size
        yield number, content if kind == _BYTES else int.from_bytes(content, "little")


def as_number(value: Value) -> int:
    """Return a field's value as an int64. Raises MalformedError if the value is bytes."""
    if isinstance(value, bytes):
        raise MalformedError("a number is given as bytes")
    return signed(value)


def as_bytes(value: Value) -> bytes:
    """Return a field's value as bytes. Raises MalformedError if the value is a number."""
    if not isinstance(value, bytes):
        raise MalformedError("bytes are given as a number")
    return value
