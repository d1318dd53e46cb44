"""ElementStack: the values that a loop keeps for its gradient, last in, first out.

Elements of one shape lie in chunks, each for a quarter of the elements below it, within limits.
A chunk is freed with the last element that is popped from it: the memory of a gradient grows with
the steps of its loop and shrinks as they are taken back.
"""

from __future__ import annotations

import math
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.shapes import shape_text
from gpugraph.ops.tensor_arrays.element_store import Allocate, Kind

SMALL_CHUNK = 1 << 12
"""Bytes below which the next chunk is twice as long: a chunk takes as long as some pushes."""

LARGEST_CHUNK = 16 << 20
"""Bytes up to which chunks grow; an element that is larger has one of its own."""


class _Chunk:
    """A block for `room` elements of one kind, `used` of which are on the stack."""

    __slots__ = ("block", "kind", "room", "rows", "used")

    def __init__(self, block: Any, room: int, kind: Kind) -> None:
        self.block = block
        self.rows = block.array
        self.room = room
        self.kind = kind
        self.used = 0


class ElementStack:
    """A stack of elements of one dtype and any shapes. A `max_size` below 0 is no limit."""

    def __init__(self, name: str, dtype: DType, max_size: int, allocate: Allocate) -> None:
        self.name = name
        self.dtype = dtype
        self.max_size = max_size
        self.closed = False
        self._allocate = allocate
        self._chunks: list[_Chunk] = []
        self._top: _Chunk | None = None
        self._below = 0  # elements in the chunks under the top

    def __repr__(self) -> str:
        return f"<ElementStack {self.name} of {self.size()}>"

    def size(self) -> int:
        """The number of elements."""
        return self._below + (self._top.used if self._top is not None else 0)

    def push(self, value: Any, kind: Kind, allocate: Allocate | None = None) -> None:
        """Puts a copy of `value` on top, in memory that `allocate` gives (that of the device that
        pushes). InvalidArgumentError when it is full or closed."""
        top = self._top
        if top is None or top.used == top.room or top.kind != kind or self.max_size >= 0:
            top = self._with_room(kind, allocate or self._allocate)
        top.rows[top.used, ...] = value
        top.used += 1

    def pop(self, out: Any, kind: Kind) -> None:
        """Moves the top into `out`. InvalidArgumentError when there is none."""
        top = self._top
        if top is None or top.kind != kind:
            top = self._check_top(kind)
        top.used -= 1
        out[...] = top.rows[top.used]
        if not top.used:
            self._drop(top)

    def top_shape(self) -> tuple[int, ...]:
        """The shape of what `pop` gives; InvalidArgumentError when there is nothing."""
        self._check_open()
        if self._top is None:
            raise self._refusal("is empty when calling Pop().")
        return self._top.kind[0]

    def _with_room(self, kind: Kind, allocate: Allocate) -> _Chunk:
        """The chunk for one more element of this kind."""
        shape, dtype = kind
        self._check_open()
        self._check_dtype(dtype, "push")
        if 0 <= self.max_size <= self.size():
            raise self._refusal(f"overflowed its max_size ({self.max_size})")
        top = self._top
        if top is not None and top.used < top.room and top.kind == kind:
            return top
        size = max(1, math.prod(shape) * self.dtype.itemsize)
        room = 1
        if top is not None and top.kind == kind:
            room = 2 * top.room if top.room * size < SMALL_CHUNK else self.size() // 4
            room = max(1, min(room, LARGEST_CHUNK // size))
        chunk = _Chunk(allocate((room, *shape), self.dtype), room, kind)
        if top is not None:
            self._below += top.used
        self._chunks.append(chunk)
        self._top = chunk
        return chunk

    def _check_top(self, kind: Kind) -> _Chunk:
        """The chunk of the top, which is of this kind."""
        shape = self.top_shape()
        self._check_dtype(kind[1], "pop")
        if shape != kind[0]:
            raise self._refusal(
                f"has an element of shape {shape_text(shape)} on top, but the graph was built for "
                f"elements of shape {list(kind[0])}"
            )
        assert self._top is not None
        return self._top

    def _drop(self, chunk: _Chunk) -> None:
        """Frees the top chunk, which is empty."""
        self._chunks.pop()
        self._top = self._chunks[-1] if self._chunks else None
        if self._top is not None:
            self._below -= self._top.used
        chunk.rows = None
        chunk.block.release()

    def close(self) -> None:
        """Gives the memory back; every later push or pop is an error."""
        self.closed = True
        self._top, self._below = None, 0
        while self._chunks:
            self._chunks.pop().block.release()

    release = close

    def _check_open(self) -> None:
        if self.closed:
            raise self._refusal("has already been closed.")

    def _check_dtype(self, dtype: DType, doing: str) -> None:
        if dtype is not self.dtype:
            raise self._refusal(
                f"holds elements of type {self.dtype.name}, but {dtype.name} is what to {doing}"
            )

    def _refusal(self, why: str) -> InvalidArgumentError:
        return invalid_argument(f"Stack[{self.name}] {why}")
