"""Records of a plan's memory: the buffers of each arena with their lifetimes, the arena's peak, and
the additional memory that each iteration of a loop keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import shape_text


class BufferRecord(NamedTuple):
    """A buffer in the arena, with its op, its size in bytes, and the first and the last position in
    the plan's order at which it is live.

    Args:
      shape, dtype: the shape and dtype of the first tensor in the buffer. Later tensors may reuse
        the buffer.
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
        """A text with the op, dtype and shape of the buffer's first tensor, and the user's line."""
        line = "" if self.origin is None else f" (defined at {self.origin})"
        return f"'{self.op}' {self.dtype.name}{shape_text(self.shape)}{line}"


class ArenaRecord(NamedTuple):
    """The arena on a device.

    Args:
      num_bytes: the size of the arena.
      bound: the maximum number of bytes that are live at the same time. No arena for this order of
        nodes can be smaller.
      place, node, origin: the position in the order at which the maximum occurs, the node at this
        position, and the line of the program that created the node.
      buffers: all buffers in the arena.
    """

    device: str
    num_bytes: int
    bound: int
    place: int
    node: str
    origin: Any
    buffers: Sequence[BufferRecord]

    def at_peak(self) -> list[BufferRecord]:
        """Return the buffers that are live at the peak, largest first."""
        live = [buffer for buffer in self.buffers if buffer.first <= self.place <= buffer.last]
        return sorted(live, key=lambda buffer: -buffer.num_bytes)


class LoopRecord(NamedTuple):
    """The memory on stacks and in TensorArrays that each iteration of a loop keeps on a device
    until its gradient, or the end of the run, releases it.

    Args:
      tensors: the tensors that one iteration keeps, largest first. A tensor whose size is known
        only in a run has 0 bytes here.
    """

    loop: str
    device: str
    tensors: Sequence[BufferRecord]

    @property
    def num_bytes(self) -> int:
        """The sum of the known sizes of the tensors, in bytes."""
        return sum(tensor.num_bytes for tensor in self.tensors)
