"""ElementStack, which holds the values that a loop stores for its gradient, last in, first out.

Elements of the same shape are stored in chunks, which are blocks for several elements. While chunks
are small, a new chunk has room for twice as many elements as the chunk below it. Later, it has room
for a quarter of the elements on the stack. If the number of elements in the previous run is known,
it is the expected number, and the size of a chunk has two limits. The upper limit is the expected
number. The lower limit is the expected number if this many elements need little memory, or else
half of it if half as many elements need little memory. Otherwise the lower limit is the largest
power of 2 up to a quarter of the expected number.

A chunk is freed when its last element is popped, so the memory grows with the forward steps of the
loop and shrinks with the backward steps. If the only chunk is small, it stays when the run ends.
`reopen` lets the next run use the stack again, with this chunk. In such a run, native code does all
pushes and pops.
"""

from __future__ import annotations

import math
from array import array
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.shapes import shape_text
from gpugraph.ops.tensor_arrays.element_store import (
    KIND,
    NO_KIND,
    ROWS,
    Allocate,
    Kind,
    address_of_rows,
    kind_number,
)

USED, ROOM, STAYS, PEAK = 2, 3, 4, 5
"""Indices into a stack's record, after `ROWS` and `KIND`: the elements used in the top chunk, its
room, whether it stays when it becomes empty, and the maximum of elements used.

Native loops read and write the record.
"""

SMALL_CHUNK = 1 << 12
"""The number of bytes below which the next chunk is twice as long.

Allocating a chunk takes as much time as several pushes.
"""

SMALL_STACK = 1 << 20
"""A stack of known expected size is allocated as one chunk if it has at most this number of
bytes. Such a chunk stays from run to run.
"""

HALF_STACK = 1 << 20
"""Half of a stack is allocated as one chunk if it has at most this number of bytes."""

LARGEST_CHUNK = 16 << 20
"""The maximum number of bytes of a chunk; a larger element has a separate chunk."""


class _Chunk:
    """A block for up to `room` elements of one kind (shape and dtype).

    `used` is the number of its elements on the stack when the chunk above it was added.
    """

    __slots__ = ("block", "kind", "room", "rows", "used")

    def __init__(self, block: Any, room: int, kind: Kind) -> None:
        self.block = block
        self.rows = block.array
        self.room = room
        self.kind = kind
        self.used = 0


class ElementStack:
    """A stack of elements of one dtype and any shapes. A negative `max_size` means no limit.

    `depth` is the size at the first pop, which is the expected size in the next run. `record`
    describes the top chunk for native loops. Its kind is `NO_KIND` if Python must check each push.
    `rests` tells whether a small chunk stays when the run ends.

    Args:
      expected: the number of elements that the stack is expected to hold, or 0 if it is unknown.
      most: the maximum number of elements in earlier runs. If the stack is small, it gets room for
        this number of elements at once.
    """

    def __init__(
        self,
        name: str,
        dtype: DType,
        max_size: int,
        allocate: Allocate,
        expected: int = 0,
        most: int = 0,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.max_size = max_size
        self.expected = expected
        self.rests = False
        self.depth: int | None = None
        self.closed = False
        self.record = array("q", (0, NO_KIND, 0, 0, 0, 0))
        self._most = max(most, expected)
        self._allocate = allocate
        self._chunks: list[_Chunk] = []
        self._top: _Chunk | None = None
        self._below = 0  # the number of elements in the chunks below the top chunk

    def __repr__(self) -> str:
        return f"<ElementStack {self.name} of {self.size()}>"

    def size(self) -> int:
        """Return the number of elements."""
        return self._below + self.record[USED]

    def push(self, value: Any, kind: Kind, allocate: Allocate | None = None) -> None:
        """Push a copy of `value`. Raises InvalidArgumentError if the stack is full or closed.

        Args:
          kind: the shape and dtype of `value`.
          allocate: a function that allocates memory on the device of the pushing node.
        """
        top, record = self._top, self.record
        used = record[USED]
        if top is None or used == top.room or top.kind != kind or self.max_size >= 0:
            top = self._with_room(kind, allocate or self._allocate)
            used = record[USED]
        top.rows[used, ...] = value
        record[USED] = used + 1
        if used >= record[PEAK]:
            record[PEAK] = used + 1

    def pop(self, out: Any, kind: Kind) -> None:
        """Move the top element into `out`.

        Raises InvalidArgumentError if the stack is empty, or if the shape or dtype of the element
        differs from `kind`.

        Args:
          kind: the shape and dtype of `out`.
        """
        top, used = self._top, self.record[USED] - 1
        if top is None or top.kind != kind or used < 0:
            top = self._check_top(kind)
        if self.depth is None:
            self.depth = self.size()
        out[...] = top.rows[used]
        self.record[USED] = used
        if not used and not self.record[STAYS]:
            self._drop(top)

    @property
    def most(self) -> int:
        """The maximum number of elements so far, in this run and earlier runs."""
        return max(self._most, self.depth or 0, self.record[PEAK])

    def top_shape(self) -> tuple[int, ...]:
        """Return the shape of the top element. Raises InvalidArgumentError if the stack is
        empty.
        """
        self._check_open()
        if self._top is None or not self.size():
            raise self._refusal("is empty when calling Pop().")
        return self._top.kind[0]

    def _with_room(self, kind: Kind, allocate: Allocate) -> _Chunk:
        """Return the top chunk if it has room for one more element of this kind. Otherwise return a
        new top chunk.
        """
        shape, dtype = kind
        self._check_open()
        self._check_dtype(dtype, "push")
        if 0 <= self.max_size <= self.size():
            raise self._refusal(f"overflowed its max_size ({self.max_size})")
        top, used = self._top, self.record[USED]
        if top is not None and used < top.room and top.kind == kind:
            return top
        if top is not None and not used:
            self._drop(top)
            top, used = self._top, self.record[USED]
        size = max(1, math.prod(shape) * self.dtype.itemsize)
        room = self._room(size, top if top is not None and top.kind == kind else None)
        chunk = _Chunk(allocate((room, *shape), self.dtype), room, kind)
        if top is not None:
            top.used = used
            self._below += used
        self._chunks.append(chunk)
        self._set_top(chunk)
        return chunk

    def _room(self, size: int, top: _Chunk | None) -> int:
        """Return the number of elements for which the chunk after `top` has room.

        Args:
          size: the size of an element in bytes.
        """
        room = 1
        if top is not None:
            room = 2 * top.room if top.room * size < SMALL_CHUNK else self.size() // 4
        small = self._most if self._most * size <= SMALL_STACK else 0
        left = max(self.expected, small) - self.size()
        if left > 0:
            room = min(max(room, self._share(size)), left)
        return max(1, min(room, LARGEST_CHUNK // size))

    def _share(self, size: int) -> int:
        """Return the number of elements that one chunk should hold if the expected number of
        elements is known.

        Args:
          size: the size of an element in bytes.
        """
        if self._most * size <= SMALL_STACK:
            return self._most
        half = (self.expected + 1) // 2
        if self.expected * size <= SMALL_STACK:
            return self.expected
        if half * size <= HALF_STACK:
            return half
        # a power of 2, so that a freed chunk leaves a hole into which other chunks fit
        return 1 << max(self.expected // 4, 1).bit_length() - 1

    def _set_top(self, chunk: _Chunk | None) -> None:
        """Make `chunk` the top chunk, and describe it in the record."""
        self._top, record = chunk, self.record
        record[USED] = chunk.used if chunk is not None else 0
        record[ROOM] = chunk.room if chunk is not None else 0
        record[ROWS] = address_of_rows(chunk.rows) if chunk is not None else 0
        is_plain = chunk is not None and self.max_size < 0 and record[ROWS]
        is_small = chunk is not None and is_plain and chunk.rows.nbytes <= SMALL_STACK
        record[STAYS] = int(is_small and self.rests and self._chunks == [chunk])
        record[KIND] = kind_number(chunk.kind) if chunk is not None and is_plain else NO_KIND

    def _check_top(self, kind: Kind) -> _Chunk:
        """Return the top chunk. Raises an error unless its elements are of this kind."""
        shape = self.top_shape()
        self._check_dtype(kind[1], "pop")
        if shape != kind[0]:
            raise self._refusal(
                f"has an element of shape {shape_text(shape)} on top, but the graph was built for "
                f"elements of shape {list(kind[0])}"
            )
        assert self._top is not None
        return self._top

    @uninterrupted
    def _drop(self, chunk: _Chunk) -> None:
        """Remove and free the top chunk, which is empty."""
        self._chunks.pop()
        self._set_top(self._chunks[-1] if self._chunks else None)
        self._below -= self.record[USED]
        chunk.rows = None
        chunk.block.release()

    @uninterrupted
    def close(self) -> None:
        """Free the memory. If an element is pushed or popped afterwards, an error is raised."""
        self.closed = True
        self._below = 0
        self._set_top(None)
        while self._chunks:
            self._chunks.pop().block.release()

    def release(self) -> None:
        """End the use of the stack by the current run. Free the memory, except for a chunk that
        stays for the next run.
        """
        if self.closed or not self.record[STAYS]:
            self.close()
            return
        self.closed = True
        self.record[USED], self.record[KIND] = 0, NO_KIND

    def reopen(self) -> bool:
        """Let another run use the stack after `release`. Return whether its chunk is still
        allocated.
        """
        if not self._chunks:
            return False
        self._most = self.most
        if self._most > self._chunks[0].room:
            self.close()
            return False
        self.closed, self.depth = False, None
        self.record[KIND], self.record[PEAK] = kind_number(self._chunks[0].kind), 0
        return True

    def end_rest(self) -> None:
        """Keep no chunk for later runs. If the run has ended, free the chunk now. Otherwise it is
        freed when the run ends.
        """
        self.rests, self.record[STAYS] = False, 0
        if self.closed:
            self.close()

    def _check_open(self) -> None:
        if self.closed:
            raise self._refusal("has already been closed.")

    def _check_dtype(self, dtype: DType, doing: str) -> None:
        if dtype is not self.dtype:
            raise self._refusal(
                f"holds elements of type {self.dtype.name}, but the {doing} is of type {dtype.name}"
            )

    def _refusal(self, why: str) -> InvalidArgumentError:
        return invalid_argument(f"Stack[{self.name}] {why}")
