"""Capture on the host: commands are recorded on a separate timeline, and each launch of the graph
runs them again.

As in CUDA, a stream joins the capture when it waits for an event that was recorded in the capture.
Before the capture ends, its first stream must wait for all streams that have joined. A captured
stream can't wait for an event that was recorded outside of the capture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gpugraph.devices.cuda.driver.driver_interface import DriverError, Span
from gpugraph.devices.cuda.emulation.stream_timeline import HostStream, Mark, StreamTimeline


class CapturedGraph(NamedTuple):
    """The captured commands as one command.

    Args:
      run: a function that executes the captured commands.
      reads, writes: all memory that the captured commands access.
    """

    name: str
    run: Callable[[], None]
    reads: tuple[Span, ...]
    writes: tuple[Span, ...]


class HostCapture:
    """A capture in progress.

    Attributes:
      streams: maps each captured stream to the stream that receives its commands in the timeline of
        the capture.
    """

    def __init__(self, stream: HostStream, raises_hazards: bool, seed: int | None) -> None:
        self.timeline = StreamTimeline(seed)
        self.timeline.raises_hazards = raises_hazards
        self._origin = self.timeline.stream(stream.name, stream.owner)
        self.streams = {stream: self._origin}

    def join(self, stream: HostStream, mark: Mark) -> None:
        """Add a stream to the capture if it waits for an event of the capture. Raises DriverError
        if a captured stream waits for an event outside of the capture.
        """
        if mark.timeline is self.timeline:
            if stream not in self.streams:
                self.streams[stream] = self.timeline.stream(stream.name, stream.owner)
        elif stream in self.streams:
            raise DriverError(
                f"stream {stream.name} is captured and can't wait for an event that was recorded "
                f"on stream {mark.stream.name} outside of the capture",
                905,
            )

    def finish(self) -> CapturedGraph:
        """End the capture and return its graph. Raises DriverError if the first stream does not
        wait for the commands of all other captured streams.
        """
        origin = self._origin
        for stream in self.streams.values():
            numbers = [number for number, command in enumerate(stream.pending, 1) if command.run]
            last = max(numbers, default=0)
            if stream is not origin and origin.clock.get(stream.number, 0) < last:
                raise DriverError(
                    f"the capture of stream {origin.name} ended before that waited for "
                    f"stream {stream.name}",
                    904,
                )
        recorded = self.timeline.recorded()
        commands = [command for pending in recorded.values() for command in pending]
        return CapturedGraph(
            f"graph of {len(commands)} commands",
            lambda: self.timeline.replay(recorded),
            tuple(dict.fromkeys(span for command in commands for span in command.reads)),
            tuple(dict.fromkeys(span for command in commands for span in command.writes)),
        )
