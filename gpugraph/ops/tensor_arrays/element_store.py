"""ElementStore, the memory of a TensorArray's elements during a run.

    together  one block [capacity, *shape]: a write is `rows[i] = value`, a stack is one copy
    apart     a block for each element, once an element has a different shape

An array of fixed size allocates the block at the first write. An array that grows doubles the block
when it is full. Arrays may be of any library that supports `rows[i] = value` and `out[...] =
rows[i]`.

Elements that are stored together are also described by integers, which are called the record.
Native code uses the record to read and write elements itself (`host_iterations.c`).
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
"""A function (shape, dtype) that returns a block of memory.

The block has `array` and `release()`.
"""

Kind = tuple[tuple[int, ...], DType]
"""The shape and dtype of an element."""

HELD, READ, CLEARED = 1, 2, 4
"""Bits of an element's state: it has a value; it was read; it was read and cleared."""

ROWS, KIND, SIZE, STATES, AFTER, CLOSED = range(6)
"""Indices into a record: the address of the rows; the number of their kind; the number of elements
that have both a row and a state; the address of the states; the state of an element after a read;
whether the array is closed.
"""

NO_KIND = -1
"""The number of the kind in a record if there are no rows, or if native code can't use them."""

_numbers = count()
_kind_numbers: dict[Kind, int] = {}


def kind_number(kind: Kind) -> int:
    """Return a number that identifies a kind (shape and dtype) of elements in this process."""
    number = _kind_numbers.get(kind)
    return _kind_numbers.setdefault(kind, next(_numbers)) if number is None else number


def address_of_rows(rows: Any) -> int:
    """Return the address of rows in host memory, or 0 if they are in device memory or are Python
    objects.
    """
    is_plain = isinstance(rows, np.ndarray) and not rows.dtype.hasobject
    return rows.ctypes.data if is_plain else 0


class ElementStore:
    """Elements by index, and the state of each element.

    `rows` is the array of the elements that are stored together, or None. `kind` is the shape and
    dtype of an element of `rows`, or None if there are no rows. Subclasses first check for elements
    of this kind. They handle all other elements more slowly.
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
        self._row_shape: tuple[int, ...] | None = None  # stays after the rows are freed
        self._apart: dict[int, Any] | None = (
            None  # the block of each element by index, if elements are apart
        )
        self._shapes: dict[
            int, tuple[int, ...]
        ] = {}  # the shapes of elements that are apart, even if the elements are freed

    def put(self, index: int, value: Any, shape: tuple[int, ...]) -> None:
        """Store a copy of `value`, of this shape, as element `index`, which has no value yet."""
        self.reach(index + 1)
        if self.try_make_rows(shape):
            self.rows[index, ...] = value  # without the dots, arrays of strings would be nested
        else:
            assert self._apart is not None
            block = self._apart[index] = self._allocate(shape, self.dtype)
            block.array[...] = value
            self._shapes[index] = shape
        self.states[index] = HELD

    def get(self, index: int) -> Any:
        """Return the array of an element that has a value. Writes to the array change the
        element.
        """
        return self.rows[index, ...] if self._apart is None else self._apart[index].array

    def drop(self, index: int) -> None:
        """Free the memory of an element if it has a separate block. Otherwise its memory is freed
        together with the memory of all elements.
        """
        if self._apart is not None:
            self._apart.pop(index).release()

    def reach(self, size: int) -> None:
        """Grow to at least `size` elements."""
        missing = size - len(self.states)
        if missing > 0:
            self.states.extend(bytes(missing))
            self._note_states()

    def _note_states(self) -> None:
        """Store in the record the address of the states, and the number of elements that have both
        a state and a row.
        """
        self.record[SIZE] = min(len(self.states), 0 if self.rows is None else len(self.rows))
        if self.states:
            self.record[STATES] = ctypes.addressof(ctypes.c_char.from_buffer(self.states))

    def _set_block(self, block: Any, kind: Kind | None) -> Any:
        """Use `block` as the rows, with elements of `kind`. Return the previous block.

        A `block` of None means no block.
        """
        before, self._block, self.kind = self._block, block, kind
        rows = self.rows = None if block is None else block.array
        address = self.record[ROWS] = address_of_rows(rows)
        self.record[KIND] = kind_number(kind) if kind is not None and address else NO_KIND
        self._note_states()
        return before

    def try_make_rows(self, shape: tuple[int, ...]) -> bool:
        """Make room for an element of this shape in the rows. Return whether the element can be
        stored there.

        If its shape differs from the shape of the stored elements, all elements are moved to
        separate blocks instead.
        """
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
        """Move each element to a separate block, unless this has been done already."""
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
        """Return the shape with which element `index` was written, even if it has been cleared, or
        None if it was never written.
        """
        if self._apart is not None:
            return self._shapes.get(index)
        return self._row_shape if self.states[index] else None

    def written_shapes(self) -> dict[int, tuple[int, ...]]:
        """Return a dict from the indices of all written elements to their shapes."""
        if self._apart is not None:
            return dict(self._shapes)
        shape = self._row_shape
        if shape is None:
            return {}
        return {index: shape for index, state in enumerate(self.states) if state}

    def holds(self, part: slice) -> bool:
        """Return whether all elements in the slice `part` have values, and are stored together."""
        if self.rows is None:
            return False
        states = self.states[part]
        count: int = states.count(HELD) + states.count(HELD | READ)
        return bool(count == part.stop - part.start)

    def is_fresh(self, part: slice) -> bool:
        """Return whether no element in the slice `part` was written or read."""
        return not any(self.states[part])

    def free(self) -> None:
        """Free all memory."""
        block = self._set_block(None, None)
        if block is not None:
            block.release()
        apart = self._apart or {}
        for index in list(apart):
            apart.pop(index).release()


def as_slice(indices: Any) -> slice | None:
    """Return `indices`, an array, as a slice if they are consecutive and not negative, or else
    None.
    """
    count = len(indices)
    if count == 0:
        return None
    first, last = indices[0].item(), indices[-1].item()
    if first < 0 or last - first != count - 1:
        return None
    wanted = np.arange(first, last + 1, dtype=indices.dtype)
    return slice(first, last + 1) if wanted.tobytes() == indices.tobytes() else None
