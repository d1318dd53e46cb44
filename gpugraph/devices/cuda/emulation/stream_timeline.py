"""Streams played on the host: what they are told is written down, and run as late as may be.

    tell a stream    -> a command at the end of its list; nothing runs
    synchronise      -> that stream's commands run, and of others only those it waits for

So what does not wait for an event finds memory as it was before. Where all streams are to run, the
one that was told last goes first; with a seed they take turns by chance. Each command is held
against `hazards` when it is told.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gpugraph.devices.cuda.driver.driver_interface import DriverError, Span
from gpugraph.devices.cuda.emulation.stream_hazards import Access, Clock, Hazards, join


class Command(NamedTuple):
    """What a stream was told: something to run, or something to wait for."""

    name: str
    run: Callable[[], None] | None
    after: Mark | None
    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()


class HostStream:
    """A stream: its commands that have not run yet, how many it was told and has run."""

    def __init__(self, name: str, number: int, owner: object) -> None:
        self.name = name
        self.number = number
        self.owner = owner
        self.pending: deque[Command] = deque()
        self.told = 0
        self.done = 0
        self.clock: Clock = {}


class Mark(NamedTuple):
    """A place in a stream: after its first `at` commands, with all that is over by then."""

    timeline: Timeline
    stream: HostStream
    at: int
    clock: Clock

    @property
    def is_reached(self) -> bool:
        return self.stream.done >= self.at


class Timeline:
    """Streams that wait for each other. seed: they take turns by chance; None: the last first."""

    def __init__(self, seed: int | None = None) -> None:
        self.streams: list[HostStream] = []
        self.host: Clock = {}
        self.faults: list[str] = []
        self.raises_hazards = True
        self.failed: Callable[[HostStream, DriverError], None] | None = None
        self._hazards = Hazards()
        self._chance = None if seed is None else random.Random(seed)
        self._told_last: dict[HostStream, None] = {}

    # -- told

    def stream(self, name: str, owner: object) -> HostStream:
        made = HostStream(name, len(self.streams) + 1, owner)
        self.streams.append(made)
        return made

    def tell(
        self,
        stream: HostStream,
        name: str,
        run: Callable[[], None],
        reads: Iterable[Span] = (),
        writes: Iterable[Span] = (),
    ) -> None:
        """A command. DriverError where it collides with another stream's: then it is not told."""
        clock = dict(stream.clock)
        join(clock, self.host)
        words = f"{name} (number {stream.told + 1} of stream {stream.name})"
        who = Access(stream.number, stream.told + 1, words)
        command = Command(name, run, None, tuple(reads), tuple(writes))
        clock[stream.number] = stream.told + 1
        faults = self._hazards.note(who, clock, command.reads, command.writes)
        self.faults += faults
        if faults and self.raises_hazards:
            raise DriverError(f"hazard: {faults[0]}")
        stream.clock = clock
        self._append(stream, command)

    def mark(self, stream: HostStream) -> Mark:
        """The place that the stream has reached with what it was told so far."""
        return Mark(self, stream, stream.told, dict(stream.clock))

    def wait(self, stream: HostStream, mark: Mark) -> None:
        join(stream.clock, mark.clock)
        if not mark.is_reached:
            self._append(stream, Command(f"wait for stream {mark.stream.name}", None, mark))

    def _append(self, stream: HostStream, command: Command) -> None:
        stream.pending.append(command)
        stream.told += 1
        self._told_last.pop(stream, None)
        self._told_last[stream] = None

    # -- run

    def run_to(self, mark: Mark) -> None:
        """Runs what has to be over at the mark, and nothing else but by chance."""
        self._some_by_chance()
        self._run_to(mark.stream, mark.at)

    def run_all(self, streams: Sequence[HostStream]) -> None:
        """Runs these streams to their ends."""
        order = [each for each in reversed(self._told_last) if each in streams]
        if self._chance is None:
            for stream in order:
                self._run_to(stream, stream.told)
            return
        while left := [each for each in order if each.pending]:
            stream = self._chance.choice(left)
            self._run_to(stream, stream.done + 1)

    def meet(self, clock: Clock) -> None:
        """The host has waited for all that is before the clock."""
        join(self.host, clock)

    def _some_by_chance(self) -> None:
        if self._chance is None:
            return
        left = [each for each in self.streams if each.pending]
        for _ in range(self._chance.randrange(4) if left else 0):
            stream = self._chance.choice(left)
            self._run_to(stream, min(stream.done + 1, stream.told))

    def _run_to(self, stream: HostStream, index: int) -> None:
        waiting = [(stream, index)]
        while waiting:
            stream, index = waiting[-1]
            if stream.done >= index or not stream.pending:
                waiting.pop()
                continue
            after = stream.pending[0].after
            if after is not None and not after.is_reached:
                waiting.append((after.stream, after.at))
            else:
                self._run(stream)

    def _run(self, stream: HostStream) -> None:
        command = stream.pending.popleft()
        stream.done += 1
        if command.run is None:
            return
        try:
            command.run()
        except DriverError as error:
            if self.failed is None:
                raise
            self.failed(stream, error)

    # -- the host's own doings

    def touched_by_host(self, span: Span, is_write: bool) -> list[str]:
        """Commands that may still touch this memory, told and not waited for."""
        return self._hazards.collisions(self.host, span, is_write)

    def forget_memory(self, address: int, size: int) -> None:
        self._hazards.forget(address, size)

    def drop(self, owner: object) -> None:
        """What this owner's streams were told is not run."""
        for stream in self.streams:
            if stream.owner is owner:
                stream.pending.clear()
                stream.done = stream.told

    # -- told once, run many times

    def recorded(self) -> dict[HostStream, tuple[Command, ...]]:
        """What was told so far; nothing of it has run."""
        return {stream: tuple(stream.pending) for stream in self.streams}

    def replay(self, commands: dict[HostStream, tuple[Command, ...]]) -> None:
        """Runs what `recorded` gave, once more."""
        for stream, each in commands.items():
            stream.pending = deque(each)
            stream.done = 0
        self.run_all(self.streams)
