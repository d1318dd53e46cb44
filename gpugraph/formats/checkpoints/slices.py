"""Slices, which are parts of tensors: their text form in ops, their keys in an index, and their
overlaps.

A slice is a (start, length) pair for each dimension. The length -1 means the whole dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.base.errors import invalid_argument
from gpugraph.formats.checkpoints.wire import MalformedError, as_bytes, as_number, field, fields

Slice = tuple[tuple[int, int], ...]

_HEADERS = [(0, 0), (0x80, 0), (0xC0, 0), (0xE0, 0), (0xF0, 0), (0xF8, 0), (0xFC, 0), (0xFE, 0)]
_HEADERS += [(0xFF, 0), (0xFF, 0x80), (0xFF, 0xC0)]
_WHOLE = (0, -1)


def parse_slice_spec(spec: str) -> tuple[tuple[int, ...], Slice] | None:
    """Parse the text of a slice, such as "4 2 0,2:-", and return the full shape and the slice.

    The text contains the sizes of the full shape, followed by `start,length` or `-` for each
    dimension. Returns None if the text is empty. Raises InvalidArgumentError if the text is
    malformed, or if the slice is not inside the shape.
    """
    if not spec:
        return None
    *sizes, parts = spec.split(" ")
    if not sizes:
        raise invalid_argument(
            f"Need least two elements in shape_and_slice specification: {spec!r}"
        )
    try:
        shape = tuple(int(size) for size in sizes if size)
        extents = [_extent(part) for part in parts.split(":")] if parts else []
    except ValueError:
        raise invalid_argument(f"Non numerical dimension in shape_and_slice: {spec!r}") from None
    if len(shape) != len(extents):
        raise invalid_argument(
            f"Slice spec has {len(extents)} dimensions for a shape of {len(shape)}: {spec!r}"
        )
    check_slice(shape, tuple(extents), repr(spec))
    return shape, tuple(extents)


def _extent(text: str) -> tuple[int, int]:
    if text == "-":
        return _WHOLE
    start, length = text.split(",")
    if int(length) < 1:  # TensorFlow's parser also rejects empty slices
        raise ValueError(text)
    return int(start), int(length)


def check_slice(shape: Sequence[int], part: Slice, where: str) -> None:
    """Raise InvalidArgumentError unless a slice is inside a shape.

    Args:
      where: the source of the slice, for the message.
    """
    if len(shape) != len(part):
        raise invalid_argument(f"A slice of {len(part)} dimensions in shape {list(shape)}: {where}")
    for size, (start, length) in zip(shape, part):
        if (start, length) == _WHOLE:
            continue
        if size < 0 or start < 0 or length < 0 or start + length > size:
            raise invalid_argument(
                f"Extent {start},{length} is out of the shape {list(shape)}: {where}"
            )


def bounds(shape: Sequence[int], part: Slice) -> tuple[slice, ...]:
    """Return a slice as a tuple of Python slices, one for each dimension."""
    return tuple(
        slice(0, size) if length == -1 else slice(start, start + length)
        for size, (start, length) in zip(shape, part)
    )


def shape_of_slice(shape: Sequence[int], part: Slice) -> tuple[int, ...]:
    """Return the shape of a slice of a tensor that has the full shape `shape`."""
    return tuple(size if length == -1 else length for size, (_, length) in zip(shape, part))


def overlap(first: Sequence[slice], second: Sequence[slice]) -> tuple[slice, ...] | None:
    """Return the intersection of two bounds, or None if the intersection is empty."""
    both = tuple(slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(first, second))
    return None if any(part.start >= part.stop for part in both) else both


def within(inner: Sequence[slice], outer: Sequence[slice]) -> tuple[slice, ...]:
    """Return the bounds `inner` relative to the start of the bounds `outer`. `outer` must contain
    `inner`.
    """
    return tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(inner, outer))


# -- encoding in the index of a checkpoint


def slice_message(part: Slice) -> bytes:
    """Return a slice as a TensorSliceProto. A whole dimension has an empty extent."""
    extents = []
    for start, length in part:
        extent = b"" if length == -1 else field(1, start) + field(2, length, always=True)
        extents.append(field(1, extent))
    return b"".join(extents)


def read_slice_message(message: bytes) -> Slice:
    """Return the slice in a TensorSliceProto.

    Raises MalformedError if the bytes are malformed or an extent is negative.
    """
    extents = []
    for number, value in fields(message):
        if number != 1:
            continue
        start, length = 0, -1
        for inner, item in fields(as_bytes(value)):
            if inner == 1:
                start = as_number(item)
            elif inner == 2:
                length = as_number(item)
        if start < 0 or length < -1 or (length == -1 and start):
            raise MalformedError(f"a slice has the extent {start},{length}")
        extents.append((start, length))
    return tuple(extents)


def slice_key(name: bytes, part: Slice) -> bytes:
    """Return the key of a slice's entry in the index.

    The order of keys is the order of name, rank and extents. The first byte is 0, so the keys come
    before the names of all tensors.
    """
    escaped = name.replace(b"\xff", b"\xff\x00").replace(b"\x00", b"\x00\xff")
    if b"\xff" in name:  # the zeros in the escape of \xff must not be escaped again
        escaped = b"".join(_ESCAPES.get(byte, bytes((byte,))) for byte in name)
    key = _unsigned(0) + escaped + b"\x00\x01" + _unsigned(len(part))
    return key + b"".join(_signed(start) + _signed(length) for start, length in part)


_ESCAPES = {0x00: b"\x00\xff", 0xFF: b"\xff\x00"}


def _unsigned(value: int) -> bytes:
    content = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes((len(content),)) + content


def _signed(value: int) -> bytes:
    magnitude = ~value if value < 0 else value
    size = magnitude.bit_length() // 7 + 1
    content = bytearray(value.to_bytes(size, "big", signed=True))
    first, second = _HEADERS[size]
    content[0] ^= first
    if size > 1:
        content[1] ^= second
    return bytes(content)
