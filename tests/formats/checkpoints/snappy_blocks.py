"""A compressor of Snappy, as simple as can be, and tables whose blocks are compressed by it."""

from __future__ import annotations

import struct
from collections.abc import Callable

from gpugraph.formats.checkpoints.wire import varint
from gpugraph.formats.crc32c import masked_crc32c


def compressed(content: bytes) -> bytes:
    """Return a Snappy block, with literals and copies of all kinds."""
    parts, position, start = [varint(len(content))], 0, 0
    places: dict[bytes, int] = {}
    while position < len(content):
        four = content[position : position + 4]
        before = places.get(four, -1)
        places[four] = position
        length = 0
        while before >= 0 and length < 64 and position + length < len(content):
            if content[before + length] != content[position + length]:
                break
            length += 1
        if length < 4:
            position += 1
            continue
        parts.append(literal(content[start:position]))
        parts.append(copy(position - before, length))
        position += length
        start = position
    parts.append(literal(content[start:]))
    return b"".join(parts)


def literal(content: bytes) -> bytes:
    if not content:
        return b""
    size = len(content) - 1
    if size < 60:
        return bytes((size << 2,)) + content
    count = (size.bit_length() + 7) // 8
    return bytes((59 + count << 2,)) + size.to_bytes(count, "little") + content


def copy(offset: int, length: int) -> bytes:
    if length < 12 and offset < 2048:
        return bytes((1 | length - 4 << 2 | offset >> 8 << 5, offset & 0xFF))
    if offset < 1 << 16:
        return bytes((2 | length - 1 << 2,)) + struct.pack("<H", offset)
    return bytes((3 | length - 1 << 2,)) + struct.pack("<I", offset)


def block(content: bytes, kind: int, change: Callable[[bytes], bytes] = bytes) -> bytes:
    """Return a block of a table with its trailer, compressed if `kind` is 1."""
    body = change(compressed(content) if kind == 1 else content) + bytes((kind,))
    return body + struct.pack("<I", masked_crc32c(body))


def table(
    items: list[tuple[bytes, bytes]], kind: int = 1, change: Callable[[bytes], bytes] = bytes
) -> bytes:
    """Return a table of one block, which `change` may damage; all blocks are compressed."""
    content = b"".join(varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in items)
    data = block(content + struct.pack("<II", 0, 1), kind, change)
    handle = varint(0) + varint(len(data) - 5)
    meta = block(struct.pack("<II", 0, 1), kind)
    footer = varint(len(data)) + varint(len(meta) - 5)
    key = items[-1][0]
    entry = varint(0) + varint(len(key)) + varint(len(handle)) + key + handle
    index = block(entry + struct.pack("<II", 0, 1), kind)
    footer += varint(len(data) + len(meta)) + varint(len(index) - 5)
    magic = struct.pack("<Q", 0xDB4775248B80FB57)
    return data + meta + index + footer.ljust(40, b"\0") + magic
