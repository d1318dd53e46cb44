"""A capture on the host: a timeline of its own, whose commands are run again by each launch.

A stream comes into it by waiting for an event that was recorded in it, and has to be waited for by
the stream that it began with before it ends. Events from outside can't be waited for in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gpugraph.devices.cuda.driver.driver_interface import DriverError, Span
from gpugraph.devices.cuda.emulation.stream_timeline import HostStream, Mark, Timeline


class Graph(NamedTuple):
    """What was captured, as one command."""

    name: str
    run: Callable[[], None]
    reads: tuple[Span, ...]
    writes: tuple[Span, ...]


class HostCapture:
    """streams: the real ones that are captured, each with the one that stands for it."""

    def __init__(self, stream: HostStream, raises_hazards: bool, seed: int | None) -> None:
        self.timeline = Timeline(seed)
        self.timeline.raises_hazards = raises_hazards
        self._origin = self.timeline.stream(stream.name, stream.owner)
        self.streams = {stream: self._origin}

    def join(self, stream: HostStream, mark: Mark) -> None:
        """A stream waits for an event while this goes on."""
        if mark.timeline is self.timeline:
            if stream not in self.streams:
                self.streams[stream] = self.timeline.stream(stream.name, stream.owner)
        elif stream in self.streams:
            raise DriverError(
                f"stream {stream.name} is captured and can't wait for an event that was recorded "
                f"on stream {mark.stream.name} outside of the capture",
                905,
            )

    def finish(self) -> Graph:
        """DriverError where a stream that came into it was not waited for."""
        for each in self.streams.values():
            told = max((at + 1 for at, one in enumerate(each.pending) if one.run), default=0)
            if each is not self._origin and self._origin.clock.get(each.number, 0) < told:
                raise DriverError(
                    f"the capture of stream {self._origin.name} ended before that waited for "
                    f"stream {each.name}",
                    904,
                )
        recorded = self.timeline.recorded()
        commands = [each for pending in recorded.values() for each in pending]
        return Graph(
            f"graph of {len(commands)} commands",
            lambda: self.timeline.replay(recorded),
            tuple(dict.fromkeys(span for each in commands for span in each.reads)),
            tuple(dict.fromkeys(span for each in commands for span in each.writes)),
        )
