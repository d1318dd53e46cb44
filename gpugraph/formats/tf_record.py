"""TFRecord: the format of files of records. Each record has a length and checksums.

A record is stored as its length (8 bytes), the masked CRC-32C of the length, its bytes, and the
masked CRC-32C of the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from gpugraph.base.errors import DataLossError
from gpugraph.base.lfs_pointers import BEGINNING, pointer_text
from gpugraph.formats.crc32c import masked_crc32c
from gpugraph.formats.inflation import most_inflated

_LENGTH, _CRC = struct.Struct("<Q"), struct.Struct("<I")
_HEAD = _LENGTH.size + _CRC.size
_READ_AT_ONCE = 16 << 20


def write_record(target: Any, record: Any) -> int:
    """Write a record to a binary file. Return the number of bytes written.

    Args:
      record: bytes or a buffer.
    """
    length = _LENGTH.pack(memoryview(record).nbytes)
    target.write(length + _CRC.pack(masked_crc32c(length)))
    target.write(record)
    target.write(_CRC.pack(masked_crc32c(record)))
    return _HEAD + memoryview(record).nbytes + _CRC.size


def read_records(source: Any, name: Any) -> Iterator[bytes]:
    """Yield the records from the current position of a binary file to its end.

    Raises DataLossError, with the record's offset, if a checksum is wrong, if the file ends within
    a record, or if a record is far larger than the compressed bytes read. Memory is allocated only
    for bytes that the file has, even if a record claims a greater length.

    Args:
      source: an object whose `read(n)` returns at most n bytes, and no bytes at the end. If it has
        an attribute `consumed` that is not None, this attribute is the number of compressed bytes
        that the source has read.
      name: the path for errors.
    """
    for records in read_record_lists(source, name):
        yield from records


def read_record_lists(source: Any, name: Any) -> Iterator[list[bytes]]:
    """Yield the records that `read_records` yields, in lists."""
    offset, ahead = 0, _ReadAhead(source)
    while True:
        records = ahead.whole_records()
        if records:
            yield records
            offset += sum(map(len, records)) + len(records) * (_HEAD + _CRC.size)
        last = read_record(ahead, name, offset)
        if last is None:
            return
        yield [last]
        offset += _HEAD + len(last) + _CRC.size


class _ReadAhead:
    """A file from which bytes were read in advance, so that native code can find the records in
    them.

    If there is no native code, no bytes are read in advance.
    """

    def __init__(self, source: Any) -> None:
        self._source, self._rest = source, b""

    @property
    def consumed(self) -> int | None:
        """The number of compressed bytes that were read, or None if the file is not compressed."""
        return getattr(self._source, "consumed", None)

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`."""
        if not self._rest:
            result: bytes = self._source.read(size)
            return result
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def whole_records(self) -> list[bytes]:
        """Return the next records, as long as they are undamaged and were read in advance. More
        records may follow.
        """
        scan = _scanner()
        if scan is None:
            return []
        content = self._rest + self._source.read(_SCANNED)
        ends = np.empty(_MOST_RECORDS, np.int64)
        address = np.frombuffer(content, np.uint8).__array_interface__["data"][0]
        where = ends.__array_interface__["data"][0]
        count = scan(address, len(content), where, _MOST_RECORDS) if content else 0
        places = [0, *ends[:count].tolist()]
        self._rest = content[places[-1] :]
        return [content[a + _HEAD : b - _CRC.size] for a, b in pairwise(places)]


RecordScanner = Callable[[int, int, int, int], int]
"""`scan(address, number of bytes, address of int64s, their number)` stores the ends of records."""

_SCANNED, _MOST_RECORDS = 256 << 10, 16 << 10


class _Scanner:
    """The native scanner of records. It is requested repeatedly until it is available."""

    def __init__(self) -> None:
        self._function: RecordScanner | None = None
        self._find: Callable[[], RecordScanner | None] | None = None

    def provide(self, find: Callable[[], RecordScanner | None]) -> None:
        """Set the function that returns the native scanner, or None."""
        self._find = find

    def __call__(self) -> RecordScanner | None:
        """Return the scanner, or None if it is not available yet."""
        if self._function is None and self._find is not None:
            self._function = self._find()
        return self._function


_scanner = _Scanner()
provide_scanner = _scanner.provide


def read_record(source: Any, name: Any, offset: int) -> bytes | None:
    """Return the record at the current position. Return None at the end of the file.

    Raises DataLossError as `read_records` does. The position is then somewhere in the record.

    Args:
      offset: the position in bytes from the start of the file, for errors.
    """
    head = _read(source, _HEAD, name, offset)
    if not head:
        return None
    if len(head) < _HEAD:
        raise _truncated(name, offset, f"{len(head)} bytes of its head")
    (size,), (crc,) = _LENGTH.unpack_from(head), _CRC.unpack_from(head, _LENGTH.size)
    if masked_crc32c(head[: _LENGTH.size]) != crc:
        pointer = "" if offset else _pointer_text(head, source)
        reason = f"the checksum of its length is wrong: {name}{pointer}"
        raise DataLossError(None, None, f"corrupted record at {offset}: {reason}")
    record = _read(source, size, name, offset)
    foot = _read(source, _CRC.size, name, offset) if len(record) == size else b""
    if len(foot) < _CRC.size:
        raise _truncated(name, offset, f"{len(record)} of its {size} bytes")
    if masked_crc32c(record) != _CRC.unpack(foot)[0]:
        raise DataLossError(
            None, None, f"corrupted record at {offset}: the checksum of its data is wrong: {name}"
        )
    return record


def _read(source: Any, size: int, name: Any, offset: int) -> bytes:
    """Return the next `size` bytes. If the file has fewer bytes left, return these.

    Memory is only allocated for bytes that exist.

    Raises DataLossError if compressed bytes expand beyond the limit of `most_inflated`.
    """
    parts: list[bytes] = []
    count = 0
    while count < size and (part := source.read(min(size - count, _READ_AT_ONCE))):
        parts.append(part)
        count += len(part)
        consumed = getattr(source, "consumed", None)
        if consumed is not None and count > most_inflated(consumed):
            raise DataLossError.of_no_node(
                f"record at {offset} is too large: over {count} bytes out of {consumed} compressed "
                f"ones: {name}"
            )
    return b"".join(parts)


def _pointer_text(head: bytes, source: Any) -> str:
    """Return an explanation if the file that starts with `head` is a Git LFS pointer, otherwise
    "".
    """
    return pointer_text(head + source.read(_READ_AT_ONCE)) if BEGINNING.startswith(head) else ""


def _truncated(name: Any, offset: int, present: str) -> DataLossError:
    return DataLossError(
        None, None, f"truncated record at {offset}: the file ends after {present}: {name}"
    )
