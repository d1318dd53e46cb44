"""Decompression of Snappy blocks in tables. It follows the format description of google/snappy.

length of the content (varint), then elements: literal bytes, or copies of earlier content
"""

from __future__ import annotations

from gpugraph.formats.checkpoints.wire import MalformedError, read_varint

_LARGEST_RATE = 32
"""The maximum ratio of content to compressed bytes: an element of 2 bytes yields at most 64."""


def uncompressed(data: bytes) -> bytes:
    """Return the content of a Snappy block. Raises MalformedError if the bytes are not a Snappy
    block.
    """
    size, position = read_varint(data, 0, min(5, len(data)))
    if size > _LARGEST_RATE * len(data):
        raise MalformedError(f"{len(data)} bytes can't hold {size}")
    content, end = bytearray(), len(data)
    while position < end:
        tag = data[position]
        position += 1
        extra = _extra_bytes(tag)
        if position + extra > end:
            raise MalformedError("an element is cut off")
        number = int.from_bytes(data[position : position + extra], "little")
        position += extra
        if tag & 3 == 0:
            length = (tag >> 2 if extra == 0 else number) + 1
            if length > end - position:
                raise MalformedError("a literal is cut off")
            content += data[position : position + length]
            position += length
        else:
            length, offset = (tag >> 2) + 1, number
            if tag & 3 == 1:
                length, offset = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | number
            _copy(content, offset, length)
        if len(content) > size:
            break
    if len(content) != size:
        raise MalformedError(f"it holds other than the {size} bytes that it names")
    return bytes(content)


def _extra_bytes(tag: int) -> int:
    """Return the number of bytes after a tag that contain a literal's length or a copy's offset."""
    kind = tag & 3
    if kind == 0:
        return max((tag >> 2) - 59, 0)
    return (1, 2, 4)[kind - 1]


def _copy(content: bytearray, offset: int, length: int) -> None:
    """Append a copy of `length` bytes, which start `offset` bytes before the end of `content`.

    If this range extends beyond the end, the bytes from its start to the end are repeated.
    """
    start = len(content) - offset
    if offset == 0 or start < 0:
        raise MalformedError("a copy begins before the content")
    piece = bytes(content[start : start + length])
    content += (piece * (length // len(piece) + 1))[:length]
