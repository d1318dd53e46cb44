"""`OpenWords`: computes and writes those words of a plan's native calls that depend on sizes.

    word = polynomial of the fed sizes + address of a buffer (or 0)

A word is one of the 64-bit numbers from which a native call reads its arguments. One matrix product
computes all polynomials (`SizeTable`). All words are written in one operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.sizes import SizeTable, SizeValues
from gpugraph.compile.binding.open_steps import Opened
from gpugraph.compile.unit.compile_unit import Storage
from gpugraph.devices.native import Address, OpenBlocks, OpenTable, open_blocks, table_of

_EQUAL, _LESS, _AT_MOST = range(3)
_COMPARISONS = {"==": _EQUAL, "<": _LESS, "<=": _AT_MOST}


class OpenWords:
    """The words of native steps that depend on sizes.

    Attributes:
      written: the addresses of all words. The last of these words hold results of the division of
        work among threads.
    """

    def __init__(self, natives: Sequence[Opened], storages: Sequence[Storage]) -> None:
        """Collect the words and the polynomials of their values.

        Args:
          storages: the buffers. The argument `starts` of `bind` has their addresses in the same
            order.
        """
        self._table = SizeTable()
        bases: dict[Any, int] = {id(storage): i + 1 for i, storage in enumerate(storages)}
        places, numbers, base_numbers = [], [], []
        self._tables: list[tuple[int, int, list[tuple[int, int]]]] = []
        table_places = []
        number = self._table.number
        for native in natives:
            for words, _ in native.calls:
                for place, value in words.values.items():
                    if isinstance(value, OpenTable):
                        table_places.append(place)
                        axes = [(number(size), number(stride)) for size, stride in value.axes]
                        start = value.start
                        base = 0 if start.base == 0 else bases[id(start.base)]
                        self._tables.append((base, number(start.offset), axes))
                        continue
                    base, offset = value if isinstance(value, Address) else (0, value)
                    places.append(place)
                    numbers.append(number(offset))
                    base_numbers.append(0 if base == 0 else bases[id(base)])
        self._places = np.array([*places, *table_places], np.uintp)
        self._numbers = np.array(numbers, np.intp)
        self._bases = np.array(base_numbers, np.intp)
        self._number_conditions(natives)
        self._buffers = np.array([number(storage.size) for storage in storages], np.intp)
        self.blocks: OpenBlocks = open_blocks([pair for step in natives for pair in step.calls])
        self.written = np.concatenate([self._places, self.blocks.results])

    def _number_conditions(self, natives: Sequence[Opened]) -> None:
        conditions = [
            (index, self._table.difference(left, right), _COMPARISONS[name], outcome)
            for index, native in enumerate(natives)
            for name, left, right, outcome in native.conditions
        ]
        columns = np.array(conditions, np.intp).reshape(-1, 4).T
        self._owners, self._differences, self._kinds, self._outcomes = columns
        self._closed = [index for index, native in enumerate(natives) if not native.calls]

    def sizes(self, values: SizeValues) -> Any:
        """Return the values of all Sizes. Raises OverflowError if a value may not fit into 63
        bits.
        """
        return self._table.values(values)

    def buffers(self, sizes: Any) -> list[int]:
        """Return the sizes of the buffers in bytes."""
        known: list[int] = sizes[self._buffers].tolist()
        return known

    def exceptions(self, sizes: Any) -> list[int]:
        """Return the indices of the native steps that must be bound to arrays for these sizes."""
        differences, kinds = sizes[self._differences], self._kinds
        outcomes = np.where(
            kinds == _EQUAL,
            differences == 0,
            np.where(kinds == _LESS, differences < 0, differences <= 0),
        )
        unmet = self._owners[outcomes != self._outcomes]
        return sorted({*self._closed, *unmet.tolist()})

    def bind(self, sizes: Any, starts: Sequence[int]) -> tuple[Any, bool, list[Any]]:
        """Write the words for these sizes and buffer addresses, and divide the work among threads.

        Returns the values of `written`, whether releasing the GIL is worthwhile, and the tables
        that words point to.
        """
        bases = np.array([0, *starts], np.int64)
        tables = [
            table_of(bases[base] + sizes[offset], [(sizes[n], sizes[by]) for n, by in axes])
            for base, offset, axes in self._tables
        ]
        pointers = np.array([table.ctypes.data for table in tables], np.int64)
        words = np.concatenate([sizes[self._numbers] + bases[self._bases], pointers])
        self.blocks.write(self._places, words)
        releases = self.blocks.cut()
        return np.concatenate([words, self.blocks.read(self.blocks.results)]), releases, tables
