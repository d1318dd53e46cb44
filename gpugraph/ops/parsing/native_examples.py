"""Native code that locates and reads the features of Examples (host_examples.h), without the GIL.

    located = NativeExamples(context).located(contents, keys, kinds)
    values, counts, present = located.values(number)

These methods return None or raise `Irregular` if the native code cannot read the input. This is the
case if a message is not in the layout in which protobuf writes it, if a feature does not have the
expected dtype, or if the code is not compiled yet. The callers then parse with NumPy or Python, and
raise errors for invalid input.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.formats.example_bytes import BYTES, FLOATS
from gpugraph.formats.example_columns import Irregular
from gpugraph.kernel import KernelContext
from gpugraph.kernel.reused_memory import empty_array
from gpugraph.ops.parsing.parsed_features import strings

_FILE = "host_examples.h"
_NUMBERS = 14
_LOCATE, _READ, _STEPS = range(3)
_BYTES_BEFORE = 32
"""The bytes of a bytes object before its content."""
_LONG = 1 << 16
"""The size of examples, in bytes, from which the GIL is released."""

IS_USUAL = (
    sys.implementation.name == "cpython"
    and sys.byteorder == "little"
    and bytes.__basicsize__ == _BYTES_BEFORE + 1
)
"""Whether bytes objects have CPython's layout."""


class Located(NamedTuple):
    """The locations of features in examples.

    Args:
      contents: the examples.
      kinds: the kind of values (bytes, floats or integers) of each feature.
      counts, starts, ends: arrays [features, examples] with the number of values and the range of
        bytes of each feature.
    """

    reader: NativeExamples
    contents: Any
    kinds: Any
    counts: Any
    starts: Any
    ends: Any
    is_long: bool

    def values(self, number: int) -> tuple[Any, Any, Any]:
        """Return three arrays. The first has the values of a feature in all examples, concatenated.
        The second has the number of values in each example. The third tells whether each example
        has the feature.
        """
        counts, starts = self.counts[number], self.starts[number]
        kind = int(self.kinds[number])
        out = self.reader.read(kind, counts, starts, self.ends[number], self.is_long)
        if kind == BYTES:
            rows = np.repeat(np.arange(counts.size), counts)
            out = self._strings(out, rows)
        return out, counts, starts > 0

    def _strings(self, spans: Any, rows: Any) -> Any:
        """Return the strings at these addresses and of these sizes.

        Args:
          rows: the indices of the examples that contain the strings.
        """
        contents = self.contents.tolist()
        first = np.fromiter(map(id, contents), np.int64, len(contents)) + _BYTES_BEFORE
        begin = spans[:, 0] - first[rows]
        parts = zip(rows.tolist(), begin.tolist(), (begin + spans[:, 1]).tolist())
        return strings([contents[row][start:end] for row, start, end in parts])

    def steps(self, number: int, kind: int) -> tuple[Located, Any]:
        """Return the steps of a feature list in all examples, and the number of steps in each
        example. Each step is represented as an example with one feature.
        """
        reader, count = self.reader, len(self.contents)
        spans = np.stack([self.starts[number], self.ends[number]], 1)
        steps, kinds = np.zeros(count, np.int64), np.array([kind], np.int64)
        reader.call(self.is_long, _STEPS, count, counts=steps, out=spans)
        total = int(steps.sum())
        parts = [np.zeros((1, total), np.int64) for _ in range(3)]
        offsets = np.cumsum(steps) - steps
        reader.call(
            self.is_long, _STEPS, count, kinds=kinds, counts=parts[0], starts=parts[1],
            ends=parts[2], offsets=offsets, out=spans,
        )  # fmt: skip
        owners = strings(np.repeat(self.contents, steps).tolist())
        located = Located(reader, owners, kinds, parts[0], parts[1], parts[2], self.is_long)
        return located, steps


class _Calls(threading.local):
    """The native functions that are bound for one thread, with the memory for their parameters."""

    calls: Sequence[Callable[[], int]] = ()
    request: Any = None


_CALLS = _Calls()


class NativeExamples:
    """The native code for one node. Any number of threads may call it."""

    def __init__(self, context: KernelContext) -> None:
        self._compiled = context.compiled(_FILE, "bytes") if IS_USUAL else None

    @property
    def is_ready(self) -> bool:
        """Whether the code is compiled."""
        file = None if self._compiled is None else self._compiled(0.0)
        if file is not None and not _CALLS.calls:
            _CALLS.request = np.zeros(_NUMBERS, np.int64)
            _CALLS.calls = [
                file.bind(name, [], [_CALLS.request], dtype="bytes")
                for name in ("gg_examples_held", "gg_examples")
            ]
        return file is not None

    def call(self, is_long: bool, mode: int, count: int, field: int = 1, **arrays: Any) -> None:
        """Call the native code. Raises Irregular if it cannot read the input.

        Args:
          arrays: the arrays for the fields of the C struct `gg_request`.
        """
        kind = int(arrays.pop("kind", 0))
        numbers = [mode, count, _address(arrays, "items"), id(bytes)]
        keys = arrays.get("keys")
        numbers += [0 if keys is None else len(keys)]
        names = ("keys", "kinds", "counts", "starts", "ends", "offsets", "out")
        numbers += [_address(arrays, name) for name in names]
        _CALLS.request[:] = [*numbers, kind, field]
        if _CALLS.calls[is_long]():
            raise Irregular("native code refuses the examples")

    def located(
        self, contents: Sequence[bytes], keys: Sequence[bytes], kinds: Sequence[int], field: int = 1
    ) -> Located | None:
        """Return the locations of features, or None if the native code cannot read the examples.

        Args:
          field: 1 for the features of Examples, or of the context of SequenceExamples. 2 for
            feature lists. The numbers of values are then 0 in the result.
        """
        if not self.is_ready:
            return None
        items = strings(contents)
        table = np.empty((3, len(keys), len(contents)), np.int64)
        names = np.array([(id(key) + _BYTES_BEFORE, len(key)) for key in keys], np.int64)
        wanted = np.array(kinds, np.int64)
        is_long = len(contents) > 1 and len(contents) * len(contents[0]) > _LONG
        try:
            self.call(
                is_long, _LOCATE, len(contents), field, items=items, keys=names, kinds=wanted,
                counts=table[0], starts=table[1], ends=table[2],
            )  # fmt: skip
        except Irregular:
            return None
        return Located(self, items, wanted, table[0], table[1], table[2], is_long)

    def read(self, kind: int, counts: Any, starts: Any, ends: Any, is_long: bool) -> Any:
        """Return the values of lists, concatenated. For strings, return their addresses and
        sizes.
        """
        total = int(counts.sum())
        shape = (total, 2) if kind == BYTES else (total,)
        out = empty_array(shape, np.dtype(np.float32 if kind == FLOATS else np.int64))
        offsets = np.cumsum(counts) - counts
        self.call(
            is_long, _READ, counts.size, counts=counts, starts=starts, ends=ends, offsets=offsets,
            out=out, kind=kind,
        )  # fmt: skip
        return out


def _address(arrays: dict[str, Any], name: str) -> int:
    array = arrays.get(name)
    if array is None:
        return 0
    address: int = array.__array_interface__["data"][0]
    return address
