"""Streams emulated on the host. Commands are queued, and executed as late as events permit.

    enqueue       -> a command at the end of the stream's queue; nothing runs
    synchronize   -> the stream's commands run, and the commands for which they wait

So if an event is missing, a command runs before the command that it should wait for, and its result
is wrong. When several streams are executed, the stream with the newest command runs first. With a
seed, the order of the streams is random. A command is checked for hazards (`stream_hazards`) when
it is enqueued.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gpugraph.devices.cuda.driver.driver_interface import DriverError, Span
from gpugraph.devices.cuda.emulation.stream_hazards import Clock, Hazards, MemoryAccess, join


class StreamCommand(NamedTuple):
    """A command of a stream: a function to run, or a mark in another stream to wait for."""

    name: str
    run: Callable[[], None] | None
    after: Mark | None
    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()


class HostStream:
    """A stream.

    Attributes:
      pending: the commands that have not run.
      enqueued: the number of commands that were ever enqueued.
      done: the number of commands that have run.
    """

    def __init__(self, name: str, number: int, owner: object) -> None:
        self.name = name
        self.number = number
        self.owner = owner
        self.pending: deque[StreamCommand] = deque()
        self.enqueued = 0
        self.done = 0
        self.clock: Clock = {}


class Mark(NamedTuple):
    """A position in a stream, after the first `position` commands of the stream. The mark contains
    the stream's clock at this position.
    """

    timeline: StreamTimeline
    stream: HostStream
    position: int
    clock: Clock

    @property
    def is_reached(self) -> bool:
        """Whether all commands before the mark have run."""
        return self.stream.done >= self.position


class StreamTimeline:
    """The streams of a machine or of a capture.

    Args:
      seed: the seed of a random order of execution. If the seed is None, the stream with the newest
        command runs first.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.streams: list[HostStream] = []
        self.host: Clock = {}
        self.faults: list[str] = []
        self.raises_hazards = True
        self.failed: Callable[[HostStream, DriverError], None] | None = None
        self._hazards = Hazards()
        self._random = None if seed is None else random.Random(seed)
        self._by_newest_command: dict[HostStream, None] = {}  # in that order

    # -- enqueueing

    def stream(self, name: str, owner: object) -> HostStream:
        """Create a stream."""
        self.streams.append(HostStream(name, len(self.streams) + 1, owner))
        return self.streams[-1]

    def enqueue(
        self,
        stream: HostStream,
        name: str,
        run: Callable[[], None],
        reads: Iterable[Span] = (),
        writes: Iterable[Span] = (),
    ) -> None:
        """Enqueue a command. If the command has a hazard, raise DriverError and do not enqueue the
        command, unless `raises_hazards` is False.
        """
        clock = dict(stream.clock)
        join(clock, self.host)
        number = clock[stream.number] = stream.enqueued + 1
        access = MemoryAccess(
            stream.number, number, f"{name} (number {number} of stream {stream.name})"
        )
        command = StreamCommand(name, run, None, tuple(reads), tuple(writes))
        faults = self._hazards.note(access, clock, command.reads, command.writes)
        self.faults += faults
        if faults and self.raises_hazards:
            raise DriverError(f"hazard: {faults[0]}")
        stream.clock = clock
        self._append(stream, command)

    def mark(self, stream: HostStream) -> Mark:
        """Return a mark at the stream's current end."""
        return Mark(self, stream, stream.enqueued, dict(stream.clock))

    def wait(self, stream: HostStream, mark: Mark) -> None:
        """Enqueue a wait for a mark, unless the mark is already reached."""
        join(stream.clock, mark.clock)
        if not mark.is_reached:
            self._append(stream, StreamCommand(f"wait for stream {mark.stream.name}", None, mark))

    def _append(self, stream: HostStream, command: StreamCommand) -> None:
        stream.pending.append(command)
        stream.enqueued += 1
        self._by_newest_command.pop(stream, None)
        self._by_newest_command[stream] = None

    # -- running

    def run_to(self, mark: Mark) -> None:
        """Run the commands before the mark, and the commands for which these commands wait. With a
        seed, also run some random commands.
        """
        self._run_some()
        self._run_to(mark.stream, mark.position)

    def run_all(self, streams: Sequence[HostStream]) -> None:
        """Run all commands of these streams."""
        order = [stream for stream in reversed(self._by_newest_command) if stream in streams]
        if self._random is None:
            for stream in order:
                self._run_to(stream, stream.enqueued)
            return
        while pending := [stream for stream in order if stream.pending]:
            stream = self._random.choice(pending)
            self._run_to(stream, stream.done + 1)

    def meet(self, clock: Clock) -> None:
        """Record that the host has waited for all commands that `clock` counts."""
        join(self.host, clock)

    def _run_some(self) -> None:
        if self._random is None:
            return
        pending = [stream for stream in self.streams if stream.pending]
        for _ in range(self._random.randrange(4) if pending else 0):
            stream = self._random.choice(pending)
            self._run_to(stream, min(stream.done + 1, stream.enqueued))

    def _run_to(self, stream: HostStream, position: int) -> None:
        waiting = [(stream, position)]
        while waiting:
            stream, position = waiting[-1]
            if stream.done >= position or not stream.pending:
                waiting.pop()
                continue
            after = stream.pending[0].after
            if after is not None and not after.is_reached:
                waiting.append((after.stream, after.position))
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

    # -- accesses by the host

    def touched_by_host(self, span: Span, is_write: bool) -> list[str]:
        """Return the names of the commands with which an access of the host to this memory would
        conflict, because the host has not waited for them.
        """
        return self._hazards.collisions(self.host, span, is_write)

    def forget_memory(self, address: int, size: int) -> None:
        """Drop the recorded accesses to memory that was freed."""
        self._hazards.forget(address, size)

    def drop(self, owner: object) -> None:
        """Drop the commands that the streams of `owner`, a GPU, have not run yet."""
        for stream in self.streams:
            if stream.owner is owner:
                stream.pending.clear()
                stream.done = stream.enqueued

    # -- the commands of a capture

    def recorded(self) -> dict[HostStream, tuple[StreamCommand, ...]]:
        """Return the commands that each stream of this capture has recorded, none of which has
        run.
        """
        return {stream: tuple(stream.pending) for stream in self.streams}

    def replay(self, commands: dict[HostStream, tuple[StreamCommand, ...]]) -> None:
        """Run all commands that `recorded` has returned. This method may be called repeatedly."""
        for stream, pending in commands.items():
            stream.pending = deque(pending)
            stream.done = 0
        self.run_all(self.streams)
