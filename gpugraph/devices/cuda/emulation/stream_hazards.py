"""Hazards between streams: two commands touch the same bytes, one writes, and nothing orders them.

What is ordered is known by clocks: for each stream, how many of its commands are over before a
command begins. A stream's clock counts its own commands and takes over an event's where it waits;
the host's takes over a stream's where it synchronises, and goes into all that is told later.

Of each range of bytes the last write and the reads since are kept, so what is held is bounded by
how many ranges are in use, not by how many commands there were.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpugraph.devices.cuda.driver.driver_interface import Span

Clock = dict[int, int]
"""By a stream's number, how many of its commands come before."""


def join(clock: Clock, other: Clock) -> None:
    """`clock` comes after `other` too."""
    for stream, count in other.items():
        if clock.get(stream, 0) < count:
            clock[stream] = count


class Access(NamedTuple):
    """Who touches memory: the command's stream and number there; its words for messages."""

    stream: int
    at: int
    name: str

    def is_before(self, clock: Clock) -> bool:
        return clock.get(self.stream, 0) >= self.at


class _Range:
    """Bytes up to `end` with one history."""

    __slots__ = ("end", "readers", "writer")

    def __init__(self, end: int, writer: Access | None, readers: dict[int, Access]) -> None:
        self.end = end
        self.writer = writer
        self.readers = readers


class Hazards:
    """The history of all memory that commands touched."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: dict[int, _Range] = {}

    def note(
        self, who: Access, clock: Clock, reads: Iterable[Span], writes: Iterable[Span]
    ) -> list[str]:
        """A command that comes after `clock`; what it collides with, in words."""
        faults = []
        for address, size in reads:
            for start, held in self._within(address, address + size):
                if held.writer and not held.writer.is_before(clock):
                    faults.append(_words(who, "reads", held.writer, "writes", start, held.end))
                held.readers[who.stream] = who
        for address, size in writes:
            for start, held in self._within(address, address + size):
                for other, does in self._others(held):
                    if other.stream != who.stream and not other.is_before(clock):
                        faults.append(_words(who, "writes", other, does, start, held.end))
            self._written(address, address + size, who)
        return list(dict.fromkeys(faults))

    def collisions(self, clock: Clock, span: Span, is_write: bool) -> list[str]:
        """Commands that may still touch `span` in the other way, for one who comes after clock."""
        start, end = span[0], span[0] + span[1]
        return [
            other.name
            for at in self._starts[: bisect_left(self._starts, end)]
            if (held := self._ranges[at]).end > start
            for other, does in self._others(held)
            if (is_write or does == "writes") and not other.is_before(clock)
        ]

    def forget(self, address: int, size: int) -> None:
        """The memory was given back."""
        self._drop(address, address + size)

    # -- the ranges

    @staticmethod
    def _others(held: _Range) -> Iterator[tuple[Access, str]]:
        if held.writer:
            yield held.writer, "writes"
        for reader in held.readers.values():
            yield reader, "reads"

    def _cut(self, at: int) -> None:
        """No range goes on over `at`."""
        place = bisect_right(self._starts, at) - 1
        if place < 0:
            return
        start = self._starts[place]
        held = self._ranges[start]
        if start < at < held.end:
            self._ranges[at] = _Range(held.end, held.writer, dict(held.readers))
            insort(self._starts, at)
            held.end = at

    def _within(self, start: int, end: int) -> list[tuple[int, _Range]]:
        """The ranges that make up start to end; new ones where there were none."""
        if start >= end:
            return []
        self._cut(start)
        self._cut(end)
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        found = [(at, self._ranges[at]) for at in self._starts[first:last]]
        holes, reached = [], start
        for at, held in found:
            if at > reached:
                holes.append((reached, at))
            reached = held.end
        if reached < end:
            holes.append((reached, end))
        for at, stop in holes:
            self._ranges[at] = _Range(stop, None, {})
            insort(self._starts, at)
            found.append((at, self._ranges[at]))
        return found

    def _drop(self, start: int, end: int) -> None:
        self._cut(start)
        self._cut(end)
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        for at in self._starts[first:last]:
            del self._ranges[at]
        del self._starts[first:last]

    def _written(self, start: int, end: int, who: Access) -> None:
        if start >= end:
            return
        self._drop(start, end)
        insort(self._starts, start)
        self._ranges[start] = _Range(end, who, {})


def _words(who: Access, does: str, other: Access, did: str, start: int, end: int) -> str:
    return (
        f"{who.name} {does} bytes {start:#x} to {end:#x}, which {other.name} {did}; no event "
        "orders them"
    )
