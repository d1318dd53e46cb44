"""The locations of features in a batch of Examples. NumPy computes the locations for all examples
together.

Examples usually have the form that protobuf writes: one `Features` message. Each entry in this
message is a name followed by a feature, and each feature is one list. NumPy then reads the n-th
entries of all examples in one step, and checks their sizes and tags.

Other forms raise `Irregular`. The caller then parses the examples one by one (`example_bytes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.formats.example_bytes import varints

_PADDING = bytes(16)  # for reads beyond the end, before the error is detected
_ENTRY, _VALUE = 0x0A, 0x12
_LISTS = np.zeros(256, np.int8)
_LISTS[[0x0A, 0x12, 0x1A]] = 1, 2, 3  # BYTES, FLOATS, INTEGERS by the tags of their lists
_SHORT = 64  # up to this many bytes, lists are gathered by indexing, which is faster than slicing
_FEW = 8  # with fewer examples left, parsing one by one is faster


class Irregular(ValueError):
    """The bytes do not have the form that protobuf writes for an Example.

    The bytes may be a valid Example in another form.
    """


def _require(conditions: Any) -> None:
    if not conditions.all():
        raise Irregular("an example is written in another order")


def _sizes(content: Any, positions: Any) -> tuple[Any, Any]:
    """Return the sizes (varints below 2 ** 28) at some positions, and the positions after them."""
    sizes = content[positions].astype(np.int64)
    positions = positions + 1
    continued, shift = sizes >= 0x80, 7
    if not continued.any():
        return sizes, positions
    sizes &= 0x7F
    while continued.any():
        if shift > 21:
            raise Irregular("a size of more than 4 bytes")
        groups = content[positions]
        sizes += np.where(continued, (groups & 0x7F).astype(np.int64) << shift, 0)
        positions += continued
        continued &= groups >= 0x80
        shift += 7
    return sizes, positions


class Column(NamedTuple):
    """One feature of each example. All fields are arrays with one element per example.

    Args:
      kinds: the kind of the feature's list, or 0 if the example does not have the feature.
      features: the position where the content of the feature starts.
      starts: the position where the content of the list starts.
      ends: the position where the feature and its list end.
    """

    kinds: Any
    features: Any
    starts: Any
    ends: Any


class ExampleColumns:
    """The locations of the features `keys` in a batch of serialized Examples.

    Raises Irregular if an Example does not have the form that protobuf writes.
    """

    def __init__(self, examples: Sequence[bytes], keys: Sequence[bytes]) -> None:
        self.content = b"".join([*examples, _PADDING])
        self._bytes = np.frombuffer(self.content, np.uint8)
        self._total = len(self.content) - len(_PADDING)
        self._codes = {key: code for code, key in enumerate(keys)}
        self._table = np.zeros((4, len(keys) + 1, len(examples)), np.int64)  # last: for other names
        self._scan(np.array([len(example) for example in examples], np.int64))

    def column(self, key: bytes) -> Column:
        """Return the locations of the feature `key` in all examples."""
        return Column(*self._table[:, self._codes[key]])

    def _scan(self, lengths: Any) -> None:
        ends = np.cumsum(lengths)
        rows = np.flatnonzero(lengths)
        positions, ends = (ends - lengths)[rows], ends[rows]
        _require(self._bytes[positions] == _ENTRY)
        sizes, positions = _sizes(self._bytes, positions + 1)
        _require(positions + sizes == ends)
        while True:
            left = positions < ends
            if not left.all():
                rows, positions, ends = rows[left], positions[left], ends[left]
            if not rows.size:
                return
            if rows.size < _FEW:
                raise Irregular("few examples have so many features")
            positions = self._step(rows, positions, ends)

    def _step(self, rows: Any, positions: Any, ends: Any) -> Any:
        """Read one entry of each remaining example. Return the positions of the following entries.

        Args:
          rows: the numbers of the remaining examples.
          positions, ends: the positions where the entry starts, and where the example ends.
        """
        content = self._bytes
        sizes, starts = _sizes(content, positions + 1)
        stops = starts + sizes
        sizes, names = _sizes(content, starts + 1)
        values = np.minimum(names + sizes, self._total)
        value_sizes, features = _sizes(content, values + 1)
        list_sizes, lists = _sizes(content, features + 1)
        kinds = _LISTS[content[features]]
        _require(
            (content[positions] == _ENTRY) & (stops <= ends) & (content[starts] == _ENTRY)
            & (values < stops) & (content[values] == _VALUE) & (features + value_sizes == stops)
            & (kinds > 0) & (lists + list_sizes == stops) & (value_sizes > 0)
        )  # fmt: skip
        text, codes = self.content, self._codes
        spans = zip(names.tolist(), values.tolist())
        columns = [codes.get(text[first:last], -1) for first, last in spans]
        self._table[:, columns, rows] = kinds, features, lists, stops
        return stops

    def _packed(self, column: Column) -> tuple[Any, Any]:
        """Return the start and size of the content of each list that has exactly one field.

        The content is the run of a packed list of numbers, or a single string. If a list is empty
        or a feature is missing, the size is 0. Raises Irregular for any other list.
        """
        some = column.starts < column.ends
        sizes = np.zeros_like(column.starts)
        starts = column.ends.copy()
        _require(self._bytes[column.starts[some]] == _ENTRY)
        sizes[some], starts[some] = _sizes(self._bytes, column.starts[some] + 1)
        _require(starts + sizes == column.ends)
        return starts, sizes

    def _slices(self, starts: Any, ends: Any) -> list[bytes]:
        content = self.content
        return [content[first:last] for first, last in zip(starts.tolist(), ends.tolist())]

    def strings(self, column: Column) -> list[bytes]:
        """Return the string of each example that has the feature.

        Raises Irregular unless each list has exactly one string.
        """
        some = column.kinds > 0
        _require(column.starts[some] < column.ends[some])
        starts, _ = self._packed(column)
        return self._slices(starts[some], column.ends[some])

    def floats(self, column: Column) -> tuple[Any, Any]:
        """Return the floats of all examples, concatenated, and the number of floats in each
        example.
        """
        starts, sizes = self._packed(column)
        _require(sizes % 4 == 0)
        if sizes.size and (sizes == sizes[0]).all() and sizes[0] <= _SHORT:
            run = self._bytes[starts[:, np.newaxis] + np.arange(sizes[0])]
            return run.view("<f4").reshape(-1), sizes // 4
        run = b"".join(self._slices(starts, column.ends))
        return np.frombuffer(run, "<f4"), sizes // 4

    def integers(self, column: Column) -> tuple[Any, Any]:
        """Return the integers of all examples, concatenated, and the number of integers in each
        example.
        """
        starts, sizes = self._packed(column)
        run = b"".join(self._slices(starts, column.ends))
        last = np.frombuffer(run, np.uint8) < 0x80
        ends = np.cumsum(sizes)
        _require(last[ends[sizes > 0] - 1])  # no number extends into the next example
        return varints(run), np.diff(np.searchsorted(np.flatnonzero(last), ends), prepend=0)
