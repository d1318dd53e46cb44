"""The memory of a TensorArray's elements during a run.

    together  one block [capacity, *shape]: a write is `rows[i] = value`, a stack one copy
    apart     a block for each element, from the first one on whose shape is another

An array of fixed size takes the block at the first write; one that grows doubles it.
Arrays may be of any library that knows `rows[i] = value` and `out[...] = rows[i]`.

What lies together is also a record of numbers, for native code that reads and writes elements
itself (`kernels/host/host_iterations.c`).
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType

Allocate = Callable[[tuple[int, ...], DType], Any]
"""Takes memory for an array: gives a block, with its `array` and `release()`."""

Kind = tuple[tuple[int, ...], DType]
"""Shape and dtype of an element."""

HELD, READ, CLEARED = 1, 2, 4
"""Bits of an element's state: it has a value, was read, was read and forgotten. 0: nothing yet."""

ROWS, KIND, SIZE, STATES, AFTER, CLOSED = range(6)
"""The numbers of a record: the address of the rows; the number of their kind; how many rows and
states there are; the address of the states; the state of an element that was read; whether the
array is closed."""

NO_KIND = -1
"""Stands for the kind of rows that are not there, or not for native code."""

_numbers = count()
_kind_numbers: dict[Kind, int] = {}


def kind_number(kind: Kind) -> int:
    """The number of a kind, which is the same in the whole process."""
    number = _kind_numbers.get(kind)
    return _kind_numbers.setdefault(kind, next(_numbers)) if number is None else number


def address_of_rows(rows: Any) -> int:
    """Where rows lie in the host's memory; 0 where they don't, or are objects."""
    is_plain = isinstance(rows, np.ndarray) and not rows.dtype.hasobject
    return rows.ctypes.data if is_plain else 0


class ElementStore:
    """Elements by index, and the state of each.

    rows: the elements that lie together, as far as there is memory for them.
    kind: their shape and dtype, while there are rows; what is of another kind needs more care.
    """

    def __init__(self, dtype: DType, size: int, allocate: Allocate) -> None:
        self.dtype = dtype
        self.states = bytearray(size)
        self.rows: Any = None
        self.kind: Kind | None = None
        self.record = array("q", (0, NO_KIND, 0, 0, 0, 0))
        self._note_states()
        self._allocate = allocate
        self._block: Any = None
        self._row_shape: tuple[int, ...] | None = None  # also once the rows are gone
        self._apart: dict[int, Any] | None = None  # blocks by index
        self._shapes: dict[int, tuple[int, ...]] = {}  # of elements apart, gone ones too

    def put(self, index: int, value: Any, shape: tuple[int, ...]) -> None:
        """Stores a copy of `value` as an element that holds none."""
        self.reach(index + 1)
        if self.has_rows(shape):
            self.rows[index, ...] = value  # without the dots, strings would be nested
        else:
            assert self._apart is not None
            block = self._apart[index] = self._allocate(shape, self.dtype)
            block.array[...] = value
            self._shapes[index] = shape
        self.states[index] = HELD

    def get(self, index: int) -> Any:
        """The array of an element that is held, to be read or changed in place."""
        return self.rows[index, ...] if self._apart is None else self._apart[index].array

    def drop(self, index: int) -> None:
        """Gives up the memory of an element that lies apart; others are freed together."""
        if self._apart is not None:
            self._apart.pop(index).release()

    def reach(self, size: int) -> None:
        """Makes the elements `size` in number, if they are fewer."""
        missing = size - len(self.states)
        if missing > 0:
            self.states.extend(bytes(missing))
            self._note_states()

    def _note_states(self) -> None:
        """Notes in the record where the states are, and how many elements have one and a row."""
        self.record[SIZE] = min(len(self.states), 0 if self.rows is None else len(self.rows))
        if self.states:
            self.record[STATES] = ctypes.addressof(ctypes.c_char.from_buffer(self.states))

    def _set_block(self, block: Any, kind: Kind | None) -> Any:
        """Elements of a kind lie in a block from now on (None: in none); the block before."""
        before, self._block, self.kind = self._block, block, kind
        rows = self.rows = None if block is None else block.array
        address = self.record[ROWS] = address_of_rows(rows)
        self.record[KIND] = kind_number(kind) if kind is not None and address else NO_KIND
        self._note_states()
        return before

    def has_rows(self, shape: tuple[int, ...]) -> bool:
        """Whether elements of this shape lie in the rows, where there is room for all then."""
        if self._apart is None and self._row_shape not in (None, shape):
            self.part()
        if self._apart is not None:
            return False
        if self.rows is None or len(self.rows) < len(self.states):
            self._make_room(shape)
        return True

    def _make_room(self, shape: tuple[int, ...]) -> None:
        rows = self.rows
        capacity = len(self.states)
        if rows is not None:
            capacity = max(capacity, 2 * len(rows))
        block = self._allocate((capacity, *shape), self.dtype)
        old = self._set_block(block, (shape, self.dtype))
        self._row_shape = shape
        if rows is not None:
            self.rows[: len(rows)] = rows
            old.release()

    def part(self) -> None:
        """From now on each element lies apart."""
        if self._apart is not None:
            return
        self._apart = {}
        if self._row_shape is not None:
            self._move(self._row_shape)
        block = self._set_block(None, None)
        if block is not None:
            block.release()

    def _move(self, shape: tuple[int, ...]) -> None:
        assert self._apart is not None
        for index, state in enumerate(self.states):
            if state:
                self._shapes[index] = shape
            if state & HELD:
                block = self._apart[index] = self._allocate(shape, self.dtype)
                block.array[...] = self.rows[index, ...]

    def written_shape(self, index: int) -> tuple[int, ...] | None:
        """The shape of what was written as element `index`, also when it is gone; else None."""
        if self._apart is not None:
            return self._shapes.get(index)
        return self._row_shape if self.states[index] else None

    def written_shapes(self) -> dict[int, tuple[int, ...]]:
        """The shapes of all that was written, by index."""
        if self._apart is not None:
            return dict(self._shapes)
        shape = self._row_shape
        if shape is None:
            return {}
        return {index: shape for index, state in enumerate(self.states) if state}

    def holds(self, part: slice) -> bool:
        """Whether all of these elements can be read from the rows."""
        if self.rows is None:
            return False
        states = self.states[part]
        count: int = states.count(HELD) + states.count(HELD | READ)
        return bool(count == part.stop - part.start)

    def is_fresh(self, part: slice) -> bool:
        """Whether none of these elements was written or read."""
        return not any(self.states[part])

    def free(self) -> None:
        """Gives all memory back."""
        block = self._set_block(None, None)
        if block is not None:
            block.release()
        apart = self._apart or {}
        for index in list(apart):
            apart.pop(index).release()


def as_slice(indices: Any) -> slice | None:
    """`indices` as a slice, where they are some, from 0 on, and each one more than the last."""
    count = len(indices)
    if count == 0:
        return None
    first, last = indices[0].item(), indices[-1].item()
    if first < 0 or last - first != count - 1:
        return None
    wanted = np.arange(first, last + 1, dtype=indices.dtype)
    return slice(first, last + 1) if wanted.tobytes() == indices.tobytes() else None
