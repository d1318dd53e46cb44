"""The error of an allocation that failed: what was wanted, who holds memory, what would fit.

    OOM when allocating tensor with shape[512,512] and type float on /job:.../device:GPU:0 by
    allocator GPU_0_bfc: 1048576 bytes for 'y'; limit ..., ... bytes in use, largest hole ...
    <what step wanted it, and that nothing of it has run>
    Most is held by: <bytes, tensor, line of the user's>
    It would fit: <what to change>

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

MOST_HOLDERS = 10
"""Holders of memory that the message names, the largest first."""

STAYS_USABLE = "The session stays usable."
"""How the message ends."""

_SHORT_TYPES = {"float16": "half", "float32": "float", "float64": "double"}


class Holder(NamedTuple):
    """Who holds how many bytes."""

    num_bytes: int
    text: str


class MemorySpace(Protocol):
    """What the report reads of a device."""

    name: str
    allocator: Allocator
    owners: dict[int, tuple[int, str]]

    def memory_note(self) -> str:
        """What else there is to report when memory is out."""


@dataclass
class PlainSpace:
    """A memory space of which only the allocator is known."""

    name: str
    allocator: Allocator
    owners: dict[int, tuple[int, str]] = field(default_factory=dict)

    def memory_note(self) -> str:
        """Nothing."""
        return ""


class StepMemory(NamedTuple):
    """What a step needs that was refused before it ran.

    place: its first node that finds no room, with the user's line. summary: a sentence about the
    peak. holders: what the step would hold there. advice: what would make it fit, line by line.
    """

    place: str
    summary: str
    holders: Sequence[Holder]
    advice: Sequence[str] = ()


def tensor_words(shape: Sequence[int | None] | None, dtype: DType) -> str:
    """A tensor in the words of TensorFlow's error."""
    return f"tensor with shape{shape_text(shape)} and type {short_type(dtype)}"


def short_type(dtype: DType) -> str:
    """A dtype in the words of TensorFlow's runtime: float, half, double, int32."""
    return _SHORT_TYPES.get(dtype.base_dtype.name, dtype.base_dtype.name)


def largest_hole(device: MemorySpace) -> int | None:
    """The most bytes that could be allocated at once; None where that is not known."""
    stats = device.allocator.get_stats()
    hole = device.allocator.largest_free_chunk()
    if hole is not None and stats.bytes_limit is not None:
        return max(hole, stats.bytes_limit - stats.bytes_reserved)  # what can still be reserved
    return hole


def out_of_memory(
    device: MemorySpace, num_bytes: int, what: str, owner: str, step: StepMemory | None = None
) -> ResourceExhaustedError:
    """The error that `num_bytes` for `what`, of the op `owner`, did not fit on a device.

    step: where a whole step is refused, what it needs.
    """
    stats = device.allocator.get_stats()
    hole = largest_hole(device)
    limit = "no limit" if stats.bytes_limit is None else f"limit {stats.bytes_limit} bytes"
    lines = [
        f"OOM when allocating {what} on {device.name} by allocator {device.allocator.name}: "
        f"{num_bytes} bytes for '{owner}'; {limit}, {stats.bytes_in_use} bytes in use, "
        f"largest hole {'unknown' if hole is None else hole} bytes{device.memory_note()}"
    ]
    held = [Holder(size, f"'{name}'") for size, name in device.owners.values()]
    if step is not None:
        lines += [f"\t [[node {step.place}]]", step.summary]
        held += step.holders
    held.sort(key=lambda holder: -holder.num_bytes)
    if held:
        lines.append(_heading(held))
        lines += [
            f"  {human_readable_bytes(holder.num_bytes):>10}  {holder.text}"
            for holder in held[:MOST_HOLDERS]
        ]
    if step is not None and step.advice:
        lines += ["It would fit", *(f"  {line}" for line in step.advice)]
    lines.append(STAYS_USABLE)
    return ResourceExhaustedError.of_no_node("\n".join(lines))


def _heading(held: Sequence[Holder]) -> str:
    """Which part of all that is held the named holders hold."""
    total = sum(holder.num_bytes for holder in held)
    named = sum(holder.num_bytes for holder in held[:MOST_HOLDERS])
    which = "All" if len(held) <= MOST_HOLDERS else f"{100 * named // max(total, 1)} %"
    return f"{which} of {human_readable_bytes(total)} there is held by"
