"""Native calls with open sizes. A call reads its arguments from a block of memory, which consists
of words of 64 bits. This module finds the words that depend on sizes.

    call      = function.call(arrays, ...)      bound to arrays
    open_call = the same over `OpenView`s       the fields of its block as Sizes and Addresses
    words_of(call, open_call)                   where in memory these words are

For other sizes, only these words change, and no call is bound again. `OpenBlocks` writes the words
of all calls of a plan at once. Then it divides the computation of each call for the new sizes. For
this it calls the call's C function in host_cuts.c, or a plan function.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.sizes import Size
from gpugraph.config.environment import thread_count
from gpugraph.devices.codegen.program import NotNativeError
from gpugraph.devices.native.native_runtime import Call, Runtime, call_of
from gpugraph.devices.native.open_views import Address, OpenView

_WORD, _LINE = 8, 64
"""The size of a word, and of a cache line, in bytes."""


class OpenTable(NamedTuple):
    """A table of addresses that is an argument of a call. Its entries are `start` plus the offset
    of each index along some axes.

    Args:
      axes: (size, stride in bytes) of each axis. If there are no axes, the table has one entry and
        is not replaced. Any other table is replaced for each set of sizes.
    """

    start: Address
    axes: Sequence[tuple[Any, Any]]

    @property
    def size(self) -> Any:
        """The number of entries."""
        return prod(size for size, _ in self.axes)

    @property
    def ctypes(self) -> Any:
        """An object whose attribute `data` is the table."""
        return _Data(self)

    def moved(self, source: Address, target: Address) -> OpenTable:
        """Return this table after a move from `source` to `target`: `target - source` is added to
        each address.
        """
        return OpenTable(target + (self.start - source), self.axes)


class _Data(NamedTuple):
    data: OpenTable


def open_addresses(view: OpenView, axes: int) -> OpenTable:
    """Return a table with the address of each index of the first `axes` axes."""
    pairs = [pair for pair in zip(view.shape[:axes], view.strides[:axes]) if pair[0] != 1]
    return OpenTable(view.ctypes.data, pairs)


def table_of(start: int, axes: Sequence[tuple[int, int]]) -> Any:
    """Return the entries of a table for known sizes."""
    starts = np.full((1,), start, np.int64)
    for size, stride in axes:
        starts = (starts[:, None] + np.arange(size) * stride).reshape(-1)
    return starts


@dataclass(frozen=True)
class OpenCall:
    """The block of a call whose sizes are open.

    Args:
      fields: the words of the block, by field.
      tables: for each field that points to a table, the entries of the table.
      cut: the address of the C function that divides the computation, or 0.
      results: the fields that the function `cut` sets.
      scratch: functions that receive the block and return a size of scratch memory in bytes, by
        index in the table `at`.
      work: the field that contains the amount of computation, and the amount from which the GIL is
        released.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    cut: int = 0
    results: Sequence[str] = ()
    scratch: Mapping[int, Callable[[Any], int]] = field(default_factory=dict)
    work: tuple[str, float] = ("", 0.0)
    new_scratch: Callable[[int], Any] | None = None

    def __call__(self) -> int:
        """Raise an error. An OpenCall is used in place of a call, but has no memory for the
        computation.
        """
        raise NotNativeError("a call with open sizes")


class Words(NamedTuple):
    """The words of one block: the words that depend on sizes, as a dict from address to value, and
    the words that the division of the computation sets.
    """

    values: dict[int, Any]
    results: dict[int, bool]  # whether the cut reads it too, as the number of threads
    block: Any

    def place(self, field: str) -> int:
        """Return the address of a field of the block."""
        return _place(self.block, field)


def words_of(call: Call, open_call: OpenCall) -> Words:
    """Return the words of a call's block. Raises NotNativeError if a word that does not depend on
    sizes differs between the block and `open_call`.
    """
    block = call_of(call)[2]
    values: dict[int, Any] = {}
    for name, entry in open_call.fields.items():
        _add(values, _place(block, name), entry)
    for name, entries in open_call.tables.items():
        table = getattr(block, name)
        for index, entry in enumerate(entries):
            _add(values, table + _WORD * index, entry)
    results: dict[int, bool] = {}
    for name in open_call.results:
        place, kind = _place(block, name), _type(block, name)
        for index in range(ctypes.sizeof(kind) // _WORD):
            results[place + _WORD * index] = name == "threads"
    return Words(values, results, block)


def _add(values: dict[int, Any], place: int, entry: Any) -> None:
    """Add a word. If it points to a table, also add the words of the table."""
    if isinstance(entry, OpenTable) and not entry.axes:
        _add(values, ctypes.c_int64.from_address(place).value, entry.start)
    elif type(entry) is Size or isinstance(entry, (Address, OpenTable)):
        values[place] = entry
    elif ctypes.c_int64.from_address(place).value != entry:
        raise NotNativeError("a word of the open call differs")


def _place(block: Any, name: str) -> int:
    name, _, index = name.partition(":")
    offset: int = getattr(type(block), name).offset
    return ctypes.addressof(block) + offset + _WORD * int(index or 0)


def _type(block: Any, name: str) -> Any:
    return dict(type(block)._fields_)[name]


class OpenBlocks:
    """The words of the blocks of several calls, which are written and read together."""

    def __init__(self, runtime: Runtime, calls: Sequence[tuple[Words, OpenCall]]) -> None:
        self._library = runtime.library
        self._calls = calls
        cut = [(words, call) for words, call in calls if call.cut]
        self._cuts = np.array([call.cut for _, call in cut], np.uintp)
        self._blocks = np.array([ctypes.addressof(words.block) for words, _ in cut], np.uintp)
        results = [item for words, _ in calls for item in words.results.items()]
        self.results = np.array([place for place, _ in results], np.uintp)
        self._limits = np.array([place for place, is_limit in results if is_limit], np.uintp)
        self._scratch: dict[int, Any] = {}  # by address of the word that points to it

    def write(self, places: Any, values: Any) -> None:
        """Write words.

        Args:
          places, values: the addresses and the values of the words, as arrays of 64-bit integers.
        """
        self._library.gg_write_words(len(places), _pointer(places), _pointer(values))

    def read(self, places: Any) -> Any:
        """Return the words at these addresses."""
        values = np.empty(len(places), np.int64)
        self._library.gg_read_words(len(places), _pointer(places), _pointer(values))
        return values

    def cut(self) -> bool:
        """Divide the computation of all calls for the sizes in their blocks, and allocate their
        scratch memory.

        Returns whether the calls should release the GIL.
        """
        self.write(self._limits, np.full(len(self._limits), thread_count(), np.int64))
        self._library.gg_cut_all(len(self._cuts), _pointer(self._cuts), _pointer(self._blocks))
        releases = False
        for words, call in self._calls:
            block = words.block
            if call.work[0]:
                releases |= getattr(block, call.work[0]) >= call.work[1]
            for index, size in call.scratch.items():
                table = block.at + _WORD * index
                self._provide(table, size(block), _new_bytes)
            if call.new_scratch is not None:
                self._provide(_place(block, "scratch"), block.scratch_bytes, call.new_scratch)
        return releases

    def _provide(self, place: int, size: int, new: Callable[[int], Any]) -> None:
        """Make the word at `place` point to memory of at least `size` bytes that begins at a cache
        line.
        """
        known = self._scratch.get(place)
        if known is not None and known.nbytes >= size:
            return
        buffer = new(size + _LINE)
        buffer = buffer[-buffer.ctypes.data % _LINE :]
        self._scratch[place] = buffer
        ctypes.c_int64.from_address(place).value = buffer.ctypes.data


def _new_bytes(size: int) -> Any:
    return np.empty(size, np.uint8)


def _pointer(array: Any) -> Any:
    return ctypes.c_void_p(array.ctypes.data)
