"""Hazards between streams: two commands access the same bytes, at least one of them writes, and
their order is undetermined.

Vector clocks determine the order. A command's clock contains, for each stream, the number of
commands of that stream that end before the command begins. A stream's clock counts the stream's own
commands. When the stream waits for an event, its clock is joined with (raised to) the clock of the
event. When the host synchronizes with a stream, the host's clock is joined with the stream's clock.
The clock of each new command is joined with the host's clock.

For each range of bytes, the last write and the reads after this write are recorded. So the history
grows with the number of ranges in use, not with the number of commands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpugraph.devices.cuda.driver.driver_interface import Span

Clock = dict[int, int]
"""A vector clock: for each stream, by number, how many of its commands have ended before."""


def join(clock: Clock, other: Clock) -> None:
    """Raise each count in `clock` to at least the count in `other`, so that `clock` comes after
    both clocks.
    """
    for stream, count in other.items():
        if clock.get(stream, 0) < count:
            clock[stream] = count


class MemoryAccess(NamedTuple):
    """A command's access to memory.

    Args:
      stream: the number of the command's stream.
      number: the command's position in that stream.
      name: the command's name, for messages.
    """

    stream: int
    number: int
    name: str

    def is_before(self, clock: Clock) -> bool:
        """Return whether the command of this access has ended at the time `clock`, a vector
        clock.
        """
        return clock.get(self.stream, 0) >= self.number


class _Range:
    """A range of bytes up to the address `end`. The last write, and the reads since that write, are
    the same for all bytes of the range.
    """

    __slots__ = ("end", "readers", "writer")

    def __init__(
        self, end: int, writer: MemoryAccess | None, readers: dict[int, MemoryAccess]
    ) -> None:
        self.end = end
        self.writer = writer
        self.readers = readers


class Hazards:
    """The recorded accesses to all memory."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: dict[int, _Range] = {}

    def note(
        self, command: MemoryAccess, clock: Clock, reads: Iterable[Span], writes: Iterable[Span]
    ) -> list[str]:
        """Record the memory accesses of a command whose clock is `clock`. Return descriptions of
        its hazards.
        """
        faults = []

        def fault(verb: str, other: MemoryAccess, other_verb: str, start: int, end: int) -> None:
            faults.append(
                f"{command.name} {verb} bytes {start:#x} to {end:#x}, which {other.name} "
                f"{other_verb}; no event orders them"
            )

        for address, size in reads:
            for start, piece in self._within(address, address + size):
                if piece.writer and not piece.writer.is_before(clock):
                    fault("reads", piece.writer, "writes", start, piece.end)
                piece.readers[command.stream] = command
        for address, size in writes:
            for start, piece in self._within(address, address + size):
                for other, verb in self._accesses(piece):
                    if other.stream != command.stream and not other.is_before(clock):
                        fault("writes", other, verb, start, piece.end)
            self._set_writer(address, address + size, command)
        return list(dict.fromkeys(faults))

    def collisions(self, clock: Clock, span: Span, is_write: bool) -> list[str]:
        """Return the names of the commands that would conflict with an access to `span` at the time
        `clock`.
        """
        start, end = span[0], span[0] + span[1]
        return [
            command.name
            for address in self._starts[: bisect_left(self._starts, end)]
            if (piece := self._ranges[address]).end > start
            for command, verb in self._accesses(piece)
            if (is_write or verb == "writes") and not command.is_before(clock)
        ]

    def forget(self, address: int, size: int) -> None:
        """Drop the records of accesses to memory that was freed."""
        self._drop(address, address + size)

    # -- the ranges

    @staticmethod
    def _accesses(piece: _Range) -> Iterator[tuple[MemoryAccess, str]]:
        if piece.writer:
            yield piece.writer, "writes"
        for reader in piece.readers.values():
            yield reader, "reads"

    def _cut(self, address: int) -> None:
        """Split the range that contains `address`, if there is one, so that a range begins at
        `address`.
        """
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return
        start = self._starts[index]
        piece = self._ranges[start]
        if start < address < piece.end:
            self._ranges[address] = _Range(piece.end, piece.writer, dict(piece.readers))
            insort(self._starts, address)
            piece.end = address

    def _cut_out(self, start: int, end: int) -> slice:
        """Split the ranges that contain `start` and `end`. Return a slice of `_starts` with the
        ranges between these addresses.
        """
        self._cut(start)
        self._cut(end)
        return slice(bisect_left(self._starts, start), bisect_left(self._starts, end))

    def _within(self, start: int, end: int) -> list[tuple[int, _Range]]:
        """Return the ranges that together cover `start` to `end`, each with its first address.
        Ranges that do not exist are created.
        """
        if start >= end:
            return []
        starts = self._starts[self._cut_out(start, end)]
        pieces = [(address, self._ranges[address]) for address in starts]
        holes, reached = [], start
        for address, piece in pieces:
            if address > reached:
                holes.append((reached, address))
            reached = piece.end
        if reached < end:
            holes.append((reached, end))
        for address, stop in holes:
            self._ranges[address] = _Range(stop, None, {})
            insort(self._starts, address)
            pieces.append((address, self._ranges[address]))
        return pieces

    def _drop(self, start: int, end: int) -> None:
        within = self._cut_out(start, end)
        for address in self._starts[within]:
            del self._ranges[address]
        del self._starts[within]

    def _set_writer(self, start: int, end: int, command: MemoryAccess) -> None:
        if start >= end:
            return
        self._drop(start, end)
        insort(self._starts, start)
        self._ranges[start] = _Range(end, command, {})
