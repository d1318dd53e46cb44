"""Native calls with open sizes. A call reads its arguments from a block of memory, which consists
of words of 64 bits. This module finds the words that depend on sizes.

    call      = function.call(arrays, ...)      bound to arrays
    open_call = the same call with `OpenView`s  the fields of its block as Sizes and Addresses
    words_of(call, open_call)                   the addresses of these words

When the sizes change, only these words change, and nothing is bound again. `SizeStages` writes the
words of all calls of a plan at once. Then it calls the C functions that divide the work of the
calls for the new sizes (in host_cuts.c, or a function's plan function).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from gpugraph.base.sizes import Size
from gpugraph.devices.codegen.program import NotNativeError
from gpugraph.devices.native.native_runtime import Call, call_of
from gpugraph.devices.native.open_views import Address, OpenView

_WORD = 8
"""The size of a word in bytes."""

SCRATCH_KINDS = "parts", "whole", "columns", "source"
"""The kinds of scratch memory of a call, by the values that determine its size (host_sizes.c)."""


class OpenTable(NamedTuple):
    """A table of addresses that is an argument of a call. Each entry is `start` plus the byte
    offset of an index along some axes.

    Args:
      axes: (size, stride in bytes) of each axis. A table without axes has one entry, and is changed
        in place. Any other table is replaced by a new one for each set of sizes.
    """

    start: Address
    axes: Sequence[tuple[Any, Any]]

    @property
    def size(self) -> Any:
        """The number of entries."""
        return prod(size for size, _ in self.axes)

    @property
    def ctypes(self) -> Any:
        """An object whose attribute `data` is this table."""
        return _Data(self)

    def moved(self, source: Address, target: Address) -> OpenTable:
        """Return this table with `target - source` added to each entry, because the memory has
        moved from the address `source` to `target`.
        """
        return OpenTable(target + (self.start - source), self.axes)


class _Data(NamedTuple):
    data: OpenTable


def open_addresses(view: OpenView, axes: int) -> OpenTable:
    """Return a table with the address of the element at each index of the first `axes` axes."""
    pairs = [pair for pair in zip(view.shape[:axes], view.strides[:axes]) if pair[0] != 1]
    return OpenTable(view.ctypes.data, pairs)


@dataclass(frozen=True)
class OpenCall:
    """A native call with open sizes, described by the fields of its block.

    Args:
      fields: the value of each field that depends on sizes.
      tables: for each field that points to a table, the entries of the table.
      cut: the address of the C function that divides the work, or 0. The function reads the field
        `threads` as the maximum number of threads, and replaces it by the number to use.
      scratch: maps an index in the block's table `at` to the kind of scratch memory
        (`SCRATCH_KINDS`) and the bytes of an element.
      work: the name of the field with the amount of work, and the minimum amount for which the
        call releases the GIL.
      replaces: whether constant fields are written as well. This is necessary if they may differ in
        the call that is bound to arrays, for example because its axes have another order.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    cut: int = 0
    scratch: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    work: tuple[str, float] = ("", 0.0)
    new_scratch: Callable[[int], Any] | None = None
    replaces: bool = False

    def __call__(self) -> int:
        """Raise an error. An OpenCall is used in place of a call, but has no memory for the
        computation.
        """
        raise NotNativeError("a call with open sizes")


class BlockWords(NamedTuple):
    """The words of one block that depend on sizes. `values` maps the address of each word to its
    value.
    """

    values: dict[int, Any]
    block: Any

    def place(self, field: str) -> int:
        """Return the address of a field of the block."""
        return _place(self.block, field)

    def is_real(self, field: str) -> bool:
        """Return whether a field of the block is a float."""
        return _type(self.block, field) is ctypes.c_double


def words_of(call: Call, open_call: OpenCall) -> BlockWords:
    """Return the words in the block of a call that depend on sizes.

    Raises NotNativeError if the block of `call` and `open_call` have different words.

    Args:
      call: the call, bound to arrays.
      open_call: the same call, bound to views with open sizes.
    """
    block = call_of(call)[2]
    values: dict[int, Any] = {}
    for name, entry in open_call.fields.items():
        if open_call.replaces and isinstance(entry, int):
            values[_place(block, name)] = entry
        else:
            _add(values, _place(block, name), entry)
    for name, entries in open_call.tables.items():
        table = getattr(block, name)
        for index, entry in enumerate(entries):
            _add(values, table + _WORD * index, entry)
    return BlockWords(values, block)


def _add(values: dict[int, Any], place: int, entry: Any) -> None:
    """Add a word. If the word points to a table, also add the words of the table."""
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
