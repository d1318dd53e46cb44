"""The out-of-memory error of a device: the request, the holders of the memory, and possible
remedies.

    OOM when allocating tensor with shape[512,512] and type float on /job:.../device:GPU:0 by
    allocator GPU_0_bfc: 1048576 bytes for 'y'; limit ..., ... bytes in use, largest hole ...
    <the step that needed the memory, of which nothing has run>
    All of 3.00MiB there is held by: <bytes, tensor, line of the program>
    It would fit: <the possible changes>

All out-of-memory errors of devices are created in this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import ResourceExhaustedError
from gpugraph.base.shapes import shape_text
from gpugraph.memory import Allocator, human_readable_bytes

MAX_HOLDERS = 10
"""The maximum number of holders of memory that the message lists, the largest first."""

STAYS_USABLE = "The session stays usable."
"""The last line of the message."""

_SHORT_TYPES = {"float16": "half", "float32": "float", "float64": "double"}


class HeldMemory(NamedTuple):
    """One entry of the message's list: a number of bytes, and the tensor that occupies them."""

    num_bytes: int
    text: str


class MemorySpace(Protocol):
    """The properties that the message needs of a device, or of pinned memory."""

    name: str
    allocator: Allocator
    owners: dict[int, tuple[int, str]]

    def memory_note(self) -> str:
        """Return additional text for the message."""


@dataclass
class PlainSpace:
    """A memory space that belongs to no device. It has a name and an allocator."""

    name: str
    allocator: Allocator
    owners: dict[int, tuple[int, str]] = field(default_factory=dict)

    def memory_note(self) -> str:
        """Return an empty string."""
        return ""


class StepMemory(NamedTuple):
    """The memory that a step would need if it ran. The step is rejected before it begins.

    Args:
      place: the first op for which memory does not suffice, with the user's line.
      summary: a sentence about the step's peak memory.
      holders: the tensors that the step would hold at the op `place`.
      advice: possible remedies, one per line.
    """

    place: str
    summary: str
    holders: Sequence[HeldMemory]
    advice: Sequence[str] = ()


def tensor_words(shape: Sequence[int | None] | None, dtype: DType) -> str:
    """Return the shape and dtype of a tensor in the words of TensorFlow's message."""
    return f"tensor with shape{shape_text(shape)} and type {short_type(dtype)}"


def short_type(dtype: DType) -> str:
    """Return the name of a dtype in TensorFlow's runtime, such as float, half, double or int32."""
    return _SHORT_TYPES.get(dtype.base_dtype.name, dtype.base_dtype.name)


def largest_hole(device: MemorySpace) -> int | None:
    """Return the size in bytes of the largest possible allocation, or None if the allocator does
    not report this size.
    """
    stats = device.allocator.get_stats()
    hole = device.allocator.largest_free_chunk()
    if hole is not None and stats.bytes_limit is not None:
        return max(hole, stats.bytes_limit - stats.bytes_reserved)  # the second can be reserved
    return hole


def out_of_memory(
    device: MemorySpace, num_bytes: int, requested: str, owner: str, step: StepMemory | None = None
) -> ResourceExhaustedError:
    """Return the error for an allocation of `num_bytes` that has failed on a device.

    Args:
      requested: a description of the requested memory, such as the result of `tensor_words`.
      owner: the op that has requested the memory.
      step: the memory that the step needs, if the whole step is rejected.
    """
    stats = device.allocator.get_stats()
    hole = largest_hole(device)
    limit = "no limit" if stats.bytes_limit is None else f"limit {stats.bytes_limit} bytes"
    lines = [
        f"OOM when allocating {requested} on {device.name} by allocator {device.allocator.name}: "
        f"{num_bytes} bytes for '{owner}'; {limit}, {stats.bytes_in_use} bytes in use, "
        f"largest hole {'unknown' if hole is None else hole} bytes{device.memory_note()}"
    ]
    held = [HeldMemory(size, f"'{name}'") for size, name in device.owners.values()]
    if step is not None:
        lines += [f"\t [[node {step.place}]]", step.summary]
        held += step.holders
    held.sort(key=lambda holder: -holder.num_bytes)
    if held:
        lines.append(_heading(held))
        lines += [
            f"  {human_readable_bytes(holder.num_bytes):>10}  {holder.text}"
            for holder in held[:MAX_HOLDERS]
        ]
    if step is not None and step.advice:
        lines += ["It would fit", *(f"  {line}" for line in step.advice)]
    lines.append(STAYS_USABLE)
    return ResourceExhaustedError.of_no_node("\n".join(lines))


def _heading(held: Sequence[HeldMemory]) -> str:
    """Return the heading of the list of holders, with the fraction of the occupied memory that the
    list covers.
    """
    total = sum(holder.num_bytes for holder in held)
    named = sum(holder.num_bytes for holder in held[:MAX_HOLDERS])
    which = "All" if len(held) <= MAX_HOLDERS else f"{100 * named // max(total, 1)} %"
    return f"{which} of {human_readable_bytes(total)} there is held by"
