"""The memory of a plan, as records: which buffers an arena has, when, and at its peak; and what
each iteration of a loop keeps beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import shape_text


class BufferRecord(NamedTuple):
    """A tensor in memory: its op, bytes, first and last place in the order of the plan.

    `shape` and `dtype` are those of the tensor that is there first; others may be in its place.
    """

    op: str
    num_bytes: int
    first: int
    last: int
    shape: tuple[int | None, ...] | None
    dtype: DType
    origin: Any = None

    @property
    def text(self) -> str:
        """The tensor's op, dtype and shape, and the user's line."""
        line = "" if self.origin is None else f" (defined at {self.origin})"
        return f"'{self.op}' {self.dtype.name}{shape_text(self.shape)}{line}"


class ArenaRecord(NamedTuple):
    """The arena on a device.

    num_bytes: its size. bound: the most bytes that live at a time, at `place` of the order, where
    `node` is: no arena for this order is smaller. buffers: all that are in it.
    """

    device: str
    num_bytes: int
    bound: int
    place: int
    node: str
    origin: Any
    buffers: Sequence[BufferRecord]

    def at_peak(self) -> list[BufferRecord]:
        """The buffers that live at the peak, the largest first."""
        live = [buffer for buffer in self.buffers if buffer.first <= self.place <= buffer.last]
        return sorted(live, key=lambda buffer: -buffer.num_bytes)


class LoopRecord(NamedTuple):
    """What each iteration of a loop keeps on a device, on stacks and in TensorArrays, until its
    gradient or the end of the run takes it back.

    tensors: all of it, the largest first; where a size is open, it has no bytes here.
    """

    loop: str
    device: str
    tensors: Sequence[BufferRecord]

    @property
    def num_bytes(self) -> int:
        """The bytes that are known."""
        return sum(tensor.num_bytes for tensor in self.tensors)
