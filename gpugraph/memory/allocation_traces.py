"""Allocation traces, which are sequences of allocations and frees. They can be written, read and
replayed.

    trace = AllocationTrace.of_lifetimes(lifetimes)     or a RecordingAllocator's `trace`
    for row in compare(trace): print(row.policy, row.peak_bytes)

A replay computes how much memory an allocation policy needs for the requests of a trace:

  bound         the maximum of live bytes: no policy needs less
  arena         offsets planned in advance from the lifetimes
  BFC           TensorFlow's allocator, buffer by buffer, in one region: the end of its used part
  size classes  blocks of four sizes per power of two, each kept for the next request of its class,
                as allocators with a cache of blocks do

A trace is a text with a line `+ID BYTES` for each allocation and a line `-ID` for each free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpugraph.base.errors import invalid_argument
from gpugraph.memory.allocator_stats import human_readable_bytes
from gpugraph.memory.arena_planning import Lifetime, lower_bound, plan_offsets
from gpugraph.memory.bfc.bfc_allocator import BFCAllocator
from gpugraph.memory.sub_allocator import FakeSubAllocator


class Event(NamedTuple):
    """The allocation of buffer `buffer` with `num_bytes` bytes, or its release if `num_bytes` is
    None.
    """

    buffer: int
    num_bytes: int | None


class AllocationTrace:
    """A sequence of allocations and frees.

    Raises InvalidArgumentError if a buffer is allocated while it is live, freed without being
    allocated, or has a negative size. The message has the event's number, counted from 0.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = []
        self._live: set[int] = set()
        for event in events:
            self.add(event)

    @classmethod
    def of_lifetimes(cls, lifetimes: Sequence[Lifetime]) -> AllocationTrace:
        """Return the trace of buffers with these lifetimes. In each step, allocations come before
        frees.
        """
        begins = [(life.first, 0, number) for number, life in enumerate(lifetimes)]
        ends = [(life.last, 1, number) for number, life in enumerate(lifetimes)]
        return cls(
            Event(number, None if is_end else lifetimes[number].size)
            for _, is_end, number in sorted(begins + ends)
        )

    @classmethod
    def parse(cls, text: str) -> AllocationTrace:
        """Return the trace that `text` describes. Raises InvalidArgumentError, with the malformed
        line, if `text` is malformed.
        """
        events = []
        for number, line in enumerate(text.splitlines(), 1):
            sign, numbers = line[:1], line[1:].split()
            if sign not in "+-" or len(numbers) != 1 + (sign == "+") or not _are_digits(numbers):
                raise invalid_argument(
                    f"Line {number} of an allocation trace is {line!r}: it must "
                    "be '+ID BYTES' or '-ID'."
                )
            events.append(Event(int(numbers[0]), int(numbers[1]) if sign == "+" else None))
        return cls(events)

    def text(self) -> str:
        """Return the trace as text, which `parse` reads."""
        return "".join(
            f"-{buffer}\n" if num_bytes is None else f"+{buffer} {num_bytes}\n"
            for buffer, num_bytes in self.events
        )

    def add(self, event: Event) -> None:
        """Append an event."""
        is_live = event.buffer in self._live
        if is_live == (event.num_bytes is not None) or (event.num_bytes or 0) < 0:
            raise invalid_argument(
                f"Event {len(self.events)} of an allocation trace, {event}, does not follow: the "
                f"buffer {'is' if is_live else 'is not'} allocated."
            )
        (self._live.discard if is_live else self._live.add)(event.buffer)
        self.events.append(event)

    def lifetimes(self) -> list[Lifetime]:
        """Return the lifetime of each buffer. Each allocation is one step.

        A buffer that is not freed lives until the end of the trace.
        """
        lifetimes: list[Lifetime] = []
        live: dict[int, int] = {}  # by buffer, its index in the result
        step = 0
        for buffer, num_bytes in self.events:
            if num_bytes is None:
                number = live.pop(buffer)
                lifetimes[number] = lifetimes[number]._replace(last=max(step, lifetimes[number][1]))
            else:
                step += 1
                live[buffer] = len(lifetimes)
                lifetimes.append(Lifetime(num_bytes, step, step))
        for number in live.values():
            lifetimes[number] = lifetimes[number]._replace(last=step)
        return lifetimes


class PolicyPeak(NamedTuple):
    """The number of bytes that a policy needs for a trace, and the ratio of this number to the
    lower bound.
    """

    policy: str
    peak_bytes: int
    of_bound: float


def compare(trace: AllocationTrace) -> list[PolicyPeak]:
    """Return the number of bytes that each policy needs for a trace. The first row is the lower
    bound.
    """
    lifetimes = trace.lifetimes()
    bound = lower_bound(lifetimes)
    peaks = [
        ("bound", bound),
        ("arena", plan_offsets(lifetimes).size),
        ("BFC", replay_bfc(trace)),
        ("size classes", replay_size_classes(trace)),
    ]
    return [PolicyPeak(policy, peak, peak / bound if bound else 1.0) for policy, peak in peaks]


def comparison_table(trace: AllocationTrace) -> str:
    """Return the result of `compare` as lines of text."""
    return "\n".join(
        f"{row.policy:<13}{human_readable_bytes(row.peak_bytes):>12}{row.of_bound:8.3f}"
        for row in compare(trace)
    )


def replay_bfc(trace: AllocationTrace) -> int:
    """Replay the trace with BFC in one unlimited region. Return the offset in bytes at which the
    used part of the region ends.
    """
    allocator = BFCAllocator(FakeSubAllocator(base=0), 1 << 62, "replay")
    addresses: dict[int, int | None] = {}
    used = 0
    for buffer, num_bytes in trace.events:
        if num_bytes is None:
            allocator.deallocate_raw(addresses.pop(buffer))
            continue
        address = addresses[buffer] = allocator.allocate_raw(num_bytes)
        if address is not None:
            used = max(used, address + allocator.allocated_size(address))
    return used


def replay_size_classes(trace: AllocationTrace) -> int:
    """Return the bytes that an allocator holds if it keeps freed blocks for later requests of the
    same size class.
    """
    held = 0
    free: Counter[int] = Counter()
    class_of: dict[int, int] = {}
    for buffer, num_bytes in trace.events:
        if num_bytes is None:
            free[class_of.pop(buffer)] += 1
            continue
        size = class_of[buffer] = size_class(num_bytes)
        if free[size]:
            free[size] -= 1
        else:
            held += size
    return held


def size_class(num_bytes: int) -> int:
    """Return the size of the block for a request: the number of bytes rounded up to a multiple of
    256 bytes with at most three significant bits.
    """
    size = -(-num_bytes // 256) * 256
    unit = max(1 << max(size.bit_length() - 3, 0), 256)
    return -(-size // unit) * unit


def _are_digits(words: Iterable[str]) -> bool:
    return all(word.isascii() and word.isdecimal() for word in words)
