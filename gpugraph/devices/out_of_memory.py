"""The error of a failed allocation: the request, the holders of memory, and possible remedies.

    OOM when allocating tensor with shape[512,512] and type float on /job:.../device:GPU:0 by
    allocator GPU_0_bfc: 1048576 bytes for 'y'; limit ..., ... bytes in use, largest hole ...
    <the step that needed it, of which nothing has run>
    All of 3.00MiB there is held by: <bytes, tensor, line of the user's>
    It would fit: <the possible changes>

All such errors of devices are composed here.
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
"""The maximum number of holders of memory in the message, the largest first."""

STAYS_USABLE = "The session stays usable."
"""The end of the message."""

_SHORT_TYPES = {"float16": "half", "float32": "float", "float64": "double"}


class HeldMemory(NamedTuple):
    """A row of the message: a number of bytes, and the tensor that holds them."""

    num_bytes: int
    text: str


class MemorySpace(Protocol):
    """The properties of a device that the report reads."""

    name: str
    allocator: Allocator
    owners: dict[int, tuple[int, str]]

    def memory_note(self) -> str:
        """Return further facts for the error when memory runs out."""


@dataclass
class PlainSpace:
    """A memory space with just an allocator."""

    name: str
    allocator: Allocator
    owners: dict[int, tuple[int, str]] = field(default_factory=dict)

    def memory_note(self) -> str:
        """Return an empty string."""
        return ""


class StepMemory(NamedTuple):
    """The needs of a step that was refused before it ran.

    place: its first node without room, with the user's line. summary: a sentence about the peak.
    holders: the values that the step would hold there. advice: possible remedies, line by line.
    """

    place: str
    summary: str
    holders: Sequence[HeldMemory]
    advice: Sequence[str] = ()


def tensor_words(shape: Sequence[int | None] | None, dtype: DType) -> str:
    """Describe a tensor in the words of TensorFlow's error."""
    return f"tensor with shape{shape_text(shape)} and type {short_type(dtype)}"


def short_type(dtype: DType) -> str:
    """Return a dtype's name in TensorFlow's runtime: float, half, double, int32."""
    return _SHORT_TYPES.get(dtype.base_dtype.name, dtype.base_dtype.name)


def largest_hole(device: MemorySpace) -> int | None:
    """Return the largest size that could be allocated at once, or None if it is unknown."""
    stats = device.allocator.get_stats()
    hole = device.allocator.largest_free_chunk()
    if hole is not None and stats.bytes_limit is not None:
        return max(hole, stats.bytes_limit - stats.bytes_reserved)  # can be reserved
    return hole


def out_of_memory(
    device: MemorySpace, num_bytes: int, what: str, owner: str, step: StepMemory | None = None
) -> ResourceExhaustedError:
    """Return the error of `num_bytes` for `what`, of the op `owner`, that did not fit on a device.

    step: the needs of the step, if a whole step is refused.
    """
    stats = device.allocator.get_stats()
    hole = largest_hole(device)
    limit = "no limit" if stats.bytes_limit is None else f"limit {stats.bytes_limit} bytes"
    lines = [
        f"OOM when allocating {what} on {device.name} by allocator {device.allocator.name}: "
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
    """Return the heading above the holders, with their share of the memory in use."""
    total = sum(holder.num_bytes for holder in held)
    named = sum(holder.num_bytes for holder in held[:MAX_HOLDERS])
    which = "All" if len(held) <= MAX_HOLDERS else f"{100 * named // max(total, 1)} %"
    return f"{which} of {human_readable_bytes(total)} there is held by"
