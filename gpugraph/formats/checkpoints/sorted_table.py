"""The index of a checkpoint: a table of sorted keys and values in LevelDB's file format.

The table consists of blocks of entries, an index block that locates these blocks, and a footer of
48 bytes. Each block is followed by a type byte and a masked checksum. Every 16th key is stored
whole. Each other key is stored as its difference from the preceding key.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from gpugraph.base.errors import DataLossError
from gpugraph.base.lfs_pointers import BEGINNING, pointer_text
from gpugraph.formats.checkpoints.snappy import uncompressed
from gpugraph.formats.checkpoints.wire import MalformedError, read_varint, varint
from gpugraph.formats.crc32c import crc32c, mask_crc, masked_crc32c

_MAGIC = 0xDB4775248B80FB57
_FOOTER, _TRAILER, _RESTARTS = 48, 5, 16
_BLOCK_SIZE = 256 << 10
_NUMBER, _FOOT = struct.Struct("<I"), struct.Struct("<Q")
_PLAIN, _SNAPPY = 0, 1
_LARGEST_GROWTH = 64
"""The maximum ratio of the total size of the keys to the size of the file.

Keys are stored without the prefixes that they share.
"""


class _Block:
    """A block of a table under construction.

    Args:
      restart_interval: the distance, in entries, between two keys that are stored whole.
    """

    def __init__(self, restart_interval: int) -> None:
        self.content = bytearray()
        self._interval = restart_interval
        self._restarts = [0]
        self._since_restart = 0
        self._last = b""

    def add(self, key: bytes, value: bytes) -> None:
        """Append an entry. Its key must be greater than the previous key."""
        shared = 0
        if self._since_restart < self._interval:
            shared = _shared(self._last, key)
        else:
            self._restarts.append(len(self.content))
            self._since_restart = 0
        rest = key[shared:]
        self.content += varint(shared) + varint(len(rest)) + varint(len(value)) + rest + value
        self._last = key
        self._since_restart += 1

    def size(self) -> int:
        """Return the current size of the block in bytes."""
        return len(self.content) + 4 * len(self._restarts) + 4

    def whole(self) -> bytes:
        """Return the block's bytes with its trailer: the type byte and the checksum."""
        restarts = b"".join(map(_NUMBER.pack, [*self._restarts, len(self._restarts)]))
        content = bytes(self.content) + restarts + bytes((_PLAIN,))
        return content + _NUMBER.pack(masked_crc32c(content))


def _shared(first: bytes, second: bytes) -> int:
    limit = min(len(first), len(second))
    if first[:limit] == second[:limit]:
        return limit
    count = 0
    while first[count] == second[count]:
        count += 1
    return count


def _separator(key: bytes, following: bytes) -> bytes:
    """Return a short key between two adjacent keys. The returned key is at least `key`, and less
    than `following`.
    """
    shared = _shared(key, following)
    if shared < min(len(key), len(following)):
        byte = key[shared]
        if byte < 0xFF and byte + 1 < following[shared]:
            return key[:shared] + bytes((byte + 1,))
    return key


def _successor(key: bytes) -> bytes:
    """Return a short key that is at least `key`."""
    for index, byte in enumerate(key):
        if byte != 0xFF:
            return key[:index] + bytes((byte + 1,))
    return key


def table_bytes(items: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Yield the bytes of a table, block by block.

    Args:
      items: (key, value) pairs with unique keys in sorted order.
    """
    index, block = _Block(1), _Block(_RESTARTS)
    offset, handle = 0, b""
    last: bytes | None = None
    for key, value in items:
        assert last is None or last < key, "keys are sorted"
        if handle:
            index.add(_separator(last or b"", key), handle)
            handle = b""
        block.add(key, value)
        last = key
        if block.size() >= _BLOCK_SIZE:
            content = block.whole()
            handle = _handle(offset, content)
            offset += len(content)
            yield content
            block = _Block(_RESTARTS)
    if block.content:
        content = block.whole()
        handle = _handle(offset, content)
        offset += len(content)
        yield content
    meta = _Block(_RESTARTS).whole()
    footer = _handle(offset, meta)
    offset += len(meta)
    yield meta
    if handle:
        index.add(_successor(last or b""), handle)
    content = index.whole()
    footer += _handle(offset, content)
    yield content
    yield footer.ljust(_FOOTER - 8, b"\0") + _FOOT.pack(_MAGIC)


def _handle(offset: int, block: bytes) -> bytes:
    return varint(offset) + varint(len(block) - _TRAILER)


def read_table(data: bytes, name: str) -> dict[bytes, bytes]:
    """Return all keys and values of a table, in order.

    If a checksum is wrong, or the bytes are not a table, raises DataLossError with the offset of
    the damage.

    Args:
      data: the bytes of the file.
      name: the path of the file, for errors.
    """
    start = len(data) - _FOOTER
    if data.startswith(BEGINNING):
        raise _loss(name, 0, f"not an sstable{pointer_text(data)}")
    if start < 0:
        raise _loss(name, len(data), f"the file has {len(data)} bytes, too few for a table")
    if _FOOT.unpack_from(data, len(data) - 8)[0] != _MAGIC:
        raise _loss(name, len(data) - 8, "not an sstable (bad magic number)")
    try:
        position = start
        handle: list[int] = []
        for _ in range(4):
            number, position = read_varint(data, position, len(data) - 8)
            handle.append(number)
    except MalformedError as error:
        raise _loss(name, start, f"bad block handle: {error}") from None
    items: dict[bytes, bytes] = {}
    last: bytes | None = None
    ends, room = 0, _LARGEST_GROWTH * len(data)
    for _, value in _entries(data, handle[2], handle[3], name, start):
        offset, size = _read_handle(value, handle[2], name)
        if offset < ends:
            raise _loss(name, offset, "blocks overlap or are out of order")
        ends = offset + size + _TRAILER
        for key, content in _entries(data, offset, size, name, start):
            if last is not None and key <= last:
                raise _loss(name, offset, "keys are not sorted")
            room -= len(key)
            if room < 0:
                raise _loss(name, offset, "keys share too much: they grow beyond the file's size")
            items[key] = content
            last = key
    return items


def _read_handle(value: bytes, offset: int, name: str) -> tuple[int, int]:
    try:
        first, position = read_varint(value, 0, len(value))
        return first, read_varint(value, position, len(value))[0]
    except MalformedError as error:
        raise _loss(name, offset, f"bad block handle: {error}") from None


def _entries(
    data: bytes, offset: int, size: int, name: str, limit: int
) -> Iterator[tuple[bytes, bytes]]:
    """Verify the checksum of the block at `offset`, then yield its entries.

    Args:
      limit: the offset of the footer, before which the block must end.
    """
    end = offset + size
    if end + _TRAILER > limit or size < 4:
        raise _loss(name, offset, f"a block of {size} bytes does not fit into the file")
    checksum = _NUMBER.unpack_from(data, end + 1)[0]
    if mask_crc(crc32c(memoryview(data)[offset : end + 1])) != checksum:
        raise _loss(name, offset, "block checksum mismatch")
    kind = data[end]
    if kind == _SNAPPY:
        try:
            data = uncompressed(data[offset:end])
        except MalformedError as error:
            raise _loss(name, offset, f"bad block compressed by Snappy: {error}") from None
        if len(data) < 4:
            raise _loss(name, offset, f"a block of {len(data)} bytes")
        offset, end = 0, len(data)
    elif kind != _PLAIN:
        raise _loss(name, offset, f"bad block type {kind}")
    restarts = _NUMBER.unpack_from(data, end - 4)[0]
    stop = end - 4 - 4 * restarts
    if stop < offset:
        raise _loss(name, offset, f"bad entry in block: {restarts} restarts")
    yield from _plain_entries(data, offset, stop, name)


def _plain_entries(data: bytes, offset: int, stop: int, name: str) -> Iterator[tuple[bytes, bytes]]:
    position, key = offset, b""
    while position < stop:
        begin = position
        try:
            shared, position = read_varint(data, position, stop)
            rest, position = read_varint(data, position, stop)
            size, position = read_varint(data, position, stop)
        except MalformedError as error:
            raise _loss(name, begin, f"bad entry in block: {error}") from None
        if shared > len(key) or rest + size > stop - position:
            raise _loss(name, begin, "bad entry in block: it is longer than the block")
        key = key[:shared] + data[position : position + rest]
        position += rest + size
        yield key, data[position - size : position]


def _loss(name: str, offset: int, what: str) -> DataLossError:
    return DataLossError(None, None, f"{name}: {what}, at offset {offset}")
