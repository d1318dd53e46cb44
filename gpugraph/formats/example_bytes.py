"""Parsing and writing of `Example` and `SequenceExample` messages without protobuf.

An Example maps names to features. A feature is a list of strings, floats or integers. A list of
numbers is either packed in one run of bytes or has a tag before each value. NumPy reads both forms.
If a name or a list occurs several times, the last occurrence is used. Malformed bytes raise
ValueError, and all lengths are checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gpugraph.formats.message_bytes import LENGTH, bytes_field, varint

NOTHING, BYTES, FLOATS, INTEGERS = 0, 1, 2, 3
"""The kinds of a feature's list; the values are the field numbers in the message `Feature`."""

_MAX_BY_PYTHON = 24  # up to this many bytes, Python reads a list of numbers faster than NumPy
_LONGEST = 10
_TOO_LONG = f"a number of more than {_LONGEST} bytes"
_AT_ONCE = 1 << 14  # bytes decoded at once, so that arrays stay in the cache
_MASK = (1 << 64) - 1
_SKIPPED = {1: 8, 5: 4}
_FLOAT_TAG, _INTEGER_TAG = 0x0D, 0x08
_ENTRY, _VALUE = 0x0A, 0x12  # tags in a map: of an entry and of its key; of its value
_LISTS = frozenset((0x0A, 0x12, 0x1A))  # tags of the lists of a feature


class ExampleFeature(NamedTuple):
    """A feature: the kind of its list, and the values in the list. The values are a list of bytes,
    or a vector of float32 or int64.
    """

    kind: int
    values: Any

    def __len__(self) -> int:
        return len(self.values)


_EMPTY = ExampleFeature(NOTHING, ())


def _number(content: bytes, position: int, end: int) -> tuple[int, int]:
    """Return the varint at `position`, and the position after it. Raises ValueError if the varint
    extends beyond `end`.
    """
    value = shift = 0
    while position < end and shift < 7 * _LONGEST:
        byte = content[position]
        position += 1
        if byte < 0x80:
            return (value | byte << shift) & _MASK, position
        value |= (byte & 0x7F) << shift
        shift += 7
    raise ValueError(f"a number at byte {position} has no end")


def _parts(content: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield (number, start, end) of each length-delimited field between two positions.

    Other fields are skipped. Raises ValueError if the bytes are malformed.
    """
    position = start
    while position < end:
        key = content[position]
        position += 1
        if key >= 0x80:
            key, position = _number(content, position - 1, end)
        kind = key & 7
        if kind == LENGTH:
            size, position = _number(content, position, end)
            if size > end - position:
                raise ValueError(f"a field of {size} bytes at byte {position} is cut off")
            yield key >> 3, position, position + size
            position += size
        elif kind == 0:
            _, position = _number(content, position, end)
        elif kind in _SKIPPED and end - position >= _SKIPPED[kind]:
            position += _SKIPPED[kind]
        else:
            raise ValueError(f"a field of kind {kind} at byte {position} can't be read")
        if key < 8:
            raise ValueError(f"a field has number 0 at byte {position}")


Span = tuple[int, int]
"""The start and end of a message within the bytes that contain it."""


def example_features(content: bytes) -> dict[bytes, Span]:
    """Return the span of each feature of an Example, by the feature's name."""
    try:
        spans = _plain_entries(content)
    except (IndexError, ValueError):
        spans = None
    return _maps(content, 1) if spans is None else spans


def _plain_entries(content: bytes) -> dict[bytes, Span] | None:
    """Return the spans of an Example whose bytes have the form that protobuf writes.

    In the form that protobuf writes, there is one `Features` message, and each of its entries has a
    key and then a value. For other bytes, return None or raise IndexError or ValueError. The caller
    then uses a general parser.
    """
    end = len(content)
    if not end or content[0] != _ENTRY:
        return None
    size, position = _number(content, 1, end)
    if position + size != end:
        return None
    spans = {}
    while position < end:
        tag, size, start = content[position], content[position + 1], position + 2
        if size >= 0x80:
            size, start = _number(content, position + 1, end)
        stop = start + size
        name_tag, size, name = content[start], content[start + 1], start + 2
        if size >= 0x80:
            size, name = _number(content, start + 1, end)
        value = name + size
        if stop > end or value >= stop:
            return None
        value_tag, size, feature = content[value], content[value + 1], value + 2
        if size >= 0x80:
            size, feature = _number(content, value + 1, end)
        if feature + size != stop or not tag == name_tag == _ENTRY or value_tag != _VALUE:
            return None
        spans[content[name:value]] = feature, stop
        position = stop
    return spans


def sequence_features(content: bytes) -> tuple[dict[bytes, Span], dict[bytes, Span]]:
    """Return the spans of a SequenceExample's context features and feature lists, by name."""
    return _maps(content, 1), _maps(content, 2)


def _maps(content: bytes, field: int) -> dict[bytes, Span]:
    """Return the spans of all entries of a map, by key.

    Args:
      field: the number of the message's field that holds the map.
    """
    return {
        name: span
        for number, start, end in _parts(content, 0, len(content))
        if number == field
        for part, entry_start, entry_end in _parts(content, start, end)
        if part == 1
        for name, span in [_entry(content, entry_start, entry_end)]
    }


def _entry(content: bytes, start: int, end: int) -> tuple[bytes, Span]:
    """Return the key of a map's entry, and the span of its value."""
    name, span = b"", (start, start)
    for number, first, last in _parts(content, start, end):
        if number == 1:
            name = content[first:last]
        elif number == 2:
            span = first, last
    return name, span


def list_of_features(content: bytes, span: Span) -> list[Span]:
    """Return the spans of the features of a FeatureList."""
    return [(first, last) for number, first, last in _parts(content, *span) if number == 1]


def read_feature(content: bytes, span: Span) -> ExampleFeature:
    """Return the feature in a span. If the feature has several lists, use the last one."""
    first, last = span
    if last - first > 2 and content[first] in _LISTS and first + 2 + content[first + 1] == last:
        number = content[first] >> 3  # the usual case: one list with a length below 128
        return ExampleFeature(number, _READERS[number](content, first + 2, last))
    chosen = None
    for number, first, last in _parts(content, *span):
        if number in _READERS:
            chosen = number, first, last
    if chosen is None:
        return _EMPTY
    number, first, last = chosen
    return ExampleFeature(number, _READERS[number](content, first, last))


def _read_strings(content: bytes, start: int, end: int) -> list[bytes]:
    return [
        content[first:last] for number, first, last in _parts(content, start, end) if number == 1
    ]


def _read_floats(content: bytes, start: int, end: int) -> Any:
    if start == end:
        return np.empty(0, np.float32)
    if content[start] == 0x0A:
        size, first = _number(content, start + 1, end)
        if first + size == end and size % 4 == 0:  # packed: one run of values
            return np.frombuffer(content, "<f4", size // 4, first).astype(np.float32, copy=False)
    tagged = np.frombuffer(content, np.uint8, end - start, start)
    if tagged.size % 5 == 0 and (tagged[::5] == _FLOAT_TAG).all():
        return tagged.reshape(-1, 5)[:, 1:].copy().view("<f4").reshape(-1)
    runs = _runs(content, start, end, _FLOAT_TAG)
    return np.concatenate([np.empty(0, np.float32), *(_whole_floats(run) for run in runs)])


def _whole_floats(run: bytes) -> Any:
    if len(run) % 4:
        raise ValueError(f"{len(run)} bytes are no whole number of floats")
    return np.frombuffer(run, "<f4")


def _read_integers(content: bytes, start: int, end: int) -> Any:
    if start == end:
        return np.empty(0, np.int64)
    if content[start] == 0x0A:
        size, first = _number(content, start + 1, end)
        if first + size == end:  # packed: one run of values
            return varints(content[first:end])
    return varints(b"".join(_runs(content, start, end, _INTEGER_TAG)))


def _runs(content: bytes, start: int, end: int, tag: int) -> Iterator[bytes]:
    """Yield the bytes of the values in a list of numbers. The values may be packed or tagged one by
    one, even within one list.

    Args:
      tag: the tag of a single value.
    """
    position = start
    while position < end:
        key, position = _number(content, position, end)
        first = position
        if key == tag == _FLOAT_TAG:
            position += 4
        elif key == tag:
            _, position = _number(content, position, end)
        elif key == 0x0A:
            size, first = _number(content, position, end)
            position = first + size
        else:
            raise ValueError(f"a list of numbers has key {key} at byte {position}")
        if position > end:
            raise ValueError(f"a list of numbers is cut off at byte {end}")
        yield content[first:position]


def varints(content: bytes) -> Any:
    """Return the varints in a run of bytes as an int64 vector. Raises ValueError if a varint is
    malformed.
    """
    if len(content) <= _MAX_BY_PYTHON:
        numbers, position = [], 0
        while position < len(content):
            number, position = _number(content, position, len(content))
            numbers.append(number)
        return np.array(numbers, np.uint64).view(np.int64)
    groups = np.frombuffer(content, np.uint8)
    if groups[-1] >= 0x80:
        raise ValueError("a list of numbers ends within a number")
    blocks, start = [], 0
    while start < groups.size:
        block = groups[start : start + _AT_ONCE]
        ends = np.flatnonzero(block < 0x80)
        if not ends.size:
            raise ValueError(_TOO_LONG)
        start += int(ends[-1]) + 1
        blocks.append(block.astype(np.int64) if ends.size == block.size else _numbers(block, ends))
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _numbers(groups: Any, ends: Any) -> Any:
    """Return the numbers of consecutive varints as int64.

    Args:
      groups: the bytes of the varints.
      ends: the position of the last byte of each varint.
    """
    lengths = np.diff(ends, prepend=-1)
    longest = lengths.max()
    if longest > _LONGEST:
        raise ValueError(_TOO_LONG)
    values = groups[ends].astype(np.uint64)
    for distance in range(1, longest):  # from the last byte of each number to its first
        longer = values << np.uint64(7) | groups[ends - distance] & 0x7F
        values = np.where(lengths > distance, longer, values)
    return values.view(np.int64)


_READERS = {BYTES: _read_strings, FLOATS: _read_floats, INTEGERS: _read_integers}


# -- writing


def feature_bytes(kind: int, values: Any) -> bytes:
    """Return a serialized Feature with a list of strings, floats or integers. Numbers are packed.

    Args:
      kind: BYTES, FLOATS or INTEGERS.
    """
    if kind == BYTES:
        content = b"".join(bytes_field(1, value) for value in values)
    elif kind == FLOATS:
        content = bytes_field(1, struct.pack(f"<{len(values)}f", *values)) if len(values) else b""
    else:
        packed = b"".join(varint(int(value)) for value in values)
        content = bytes_field(1, packed) if packed else b""
    return bytes_field(kind, content)


def example_bytes(features: dict[str, bytes]) -> bytes:
    """Return a serialized Example.

    Args:
      features: maps names to serialized features.
    """
    entries = (
        bytes_field(1, bytes_field(1, name.encode()) + bytes_field(2, feature))
        for name, feature in features.items()
    )
    return bytes_field(1, b"".join(entries))
