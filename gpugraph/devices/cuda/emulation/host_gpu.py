"""The state of an emulated GPU: its memory, its errors, and the enqueued commands. `host_driver`
adds the remaining methods of a driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Span
from gpugraph.devices.cuda.emulation.host_capture import HostCapture
from gpugraph.devices.cuda.emulation.host_memory import Regions
from gpugraph.devices.cuda.emulation.stream_timeline import HostStream, Mark, StreamTimeline
from gpugraph.memory import HostRegion

INVALID, IN_CAPTURE = 1, 900


class HostEvent:
    """An event.

    Attributes:
      mark: the position where the event was last recorded, or None if the event was never recorded.
    """

    def __init__(self) -> None:
        self.mark: Mark | None = None


class HostMachine:
    """An emulated machine: the timeline and the lock that its GPUs share.

    Args:
      seed: the seed of the random order in which streams run. If the seed is None, the stream with
        the newest command runs first.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.lock = new_rlock()
        self.timeline = StreamTimeline(seed)
        self.timeline.failed = _note_failure
        self.drivers: list[HostGPU] = []
        self.seed = seed


def _note_failure(stream: HostStream, error: DriverError) -> None:
    driver = stream.owner
    assert isinstance(driver, HostGPU)
    driver.note_failure(error)


class HostGPU:
    """The memory and the errors of one GPU, with the methods of `Driver` that concern only memory
    and errors.
    """

    def __init__(
        self, ordinal: int, machine: HostMachine, total_bytes: int, fill: int | None
    ) -> None:
        self.machine = machine
        self.ordinal = ordinal
        self._timeline = machine.timeline
        self._device = Regions("device", total_bytes, fill)
        self._pinned = Regions("pinned host", total_bytes)
        self._lock = machine.lock
        self._error: DriverError | None = None
        self._capture: HostCapture | None = None
        machine.drivers.append(self)

    def synchronize(self, stream: HostStream | None = None) -> None:
        """Run the commands of a stream, or of all streams of this GPU, and raise the error of a
        command that failed, if any.
        """
        timeline = self._timeline
        with self._lock:
            self._begin("synchronize")
            if stream is None:
                streams = [stream for stream in timeline.streams if stream.owner is self]
                timeline.run_all(streams)
            else:
                streams = [stream]
                timeline.run_to(timeline.mark(stream))
            self._raise_late()
            for stream in streams:
                timeline.meet(timeline.mark(stream).clock)

    @property
    def faults(self) -> list[str]:
        """Descriptions of all hazards that were found so far, on all GPUs of the machine."""
        return self._timeline.faults

    # -- memory

    def free_bytes(self) -> int:
        """Return the number of bytes of device memory that are not allocated."""
        return self._device.limit - self._device.used

    def malloc(self, num_bytes: int) -> int | None:
        """Allocate device memory and return its address. If the allocation would exceed the limit,
        return None.
        """
        with self._lock:
            self._begin("malloc")
            region = self._device.take(num_bytes)
            return None if region is None else region.base

    def free(self, address: int) -> None:
        """Free device memory, after waiting for all streams, as cudaFree does."""
        self._free(address, self._device)

    def malloc_host(self, num_bytes: int) -> HostRegion | None:
        """Allocate pinned host memory and return it. If there is not enough memory, return None."""
        with self._lock:
            self._begin("malloc_host")
            return self._pinned.take(num_bytes)

    def free_host(self, address: int) -> None:
        """Free pinned host memory, after waiting for all streams."""
        self._free(address, self._pinned)

    def _free(self, address: int, regions: Regions) -> None:
        with self._lock:
            self._refuse_in_capture("free")
            if not self._is_lost:
                self.synchronize()
            self._timeline.forget_memory(address, regions.give_back(address))

    def touch_host(self, address: int, num_bytes: int, is_write: bool = True) -> None:
        """Raise DriverError if an enqueued command may access this memory and the host has not
        waited for the command.

        The host must call this method before it reads or writes memory that the GPU uses.
        """
        with self._lock:
            names = self._timeline.touched_by_host((address, num_bytes), is_write)
            if names:
                does = "writes" if is_write else "reads"
                fault = f"the host {does} {num_bytes} bytes at {address:#x}; not over: {names[0]}"
                self._timeline.faults.append(fault)
                raise DriverError(f"hazard: {fault}")

    # -- failures

    @property
    def _is_lost(self) -> bool:
        return self._error is not None and self._error.fatal

    def fail_on(self, stream: HostStream, error: DriverError) -> None:
        """Enqueue a command that fails with `error`. Tests use this method."""

        def run() -> None:
            raise error

        with self._lock:
            self._enqueue(stream, "failure", run)

    def note_failure(self, error: DriverError) -> None:
        """Record the error of a command, which is raised later. If an earlier error is still
        waiting to be raised, keep the earlier error instead. If the error is fatal, also drop all
        commands of this GPU.
        """
        if self._error is None:
            self._error = error
        if error.fatal:
            self._timeline.drop(self)

    def _raise_late(self) -> None:
        """Raise the recorded error of an earlier command. A fatal error is raised by every call,
        and any other error only once.
        """
        error = self._error
        if error is None:
            return
        if not error.fatal:
            self._error = None
        raise DriverError(str(error), error.status, error.fatal)

    # -- helpers of the driver's methods

    def _begin(self, verb: str) -> None:
        self._raise_late()
        self._refuse_in_capture(verb)

    def _refuse_in_capture(self, verb: str) -> None:
        if self._capture is not None:
            raise DriverError(f"{verb} is not permitted while a stream is captured", IN_CAPTURE)

    def _refuse_captured(self, mark: Mark) -> None:
        if mark.timeline is not self._timeline:
            raise DriverError("an event recorded in a capture can't be queried", 907)

    def _place(self, stream: HostStream) -> tuple[StreamTimeline, HostStream]:
        """Return the timeline and the stream that receive a stream's commands. During a capture,
        both belong to the capture. Otherwise they are the machine's timeline and the stream itself.
        """
        if self._capture is not None and stream in self._capture.streams:
            return self._capture.timeline, self._capture.streams[stream]
        return self._timeline, stream

    def _enqueue(
        self,
        stream: HostStream,
        name: str,
        run: Callable[[], None],
        reads: Iterable[Span] = (),
        writes: Iterable[Span] = (),
    ) -> None:
        self._raise_late()
        if stream.owner is not self:
            raise DriverError(f"stream {stream.name} is not one of GPU {self.ordinal}", 400)
        timeline, stream = self._place(stream)
        timeline.enqueue(stream, name, run, reads, writes)

    def _check_span(self, span: Span, does: str) -> None:
        address, size = span
        if size and not self._device.holds(address, size):
            raise DriverError(
                f"{does} {size} bytes at {address:#x}, which are no memory of GPU {self.ordinal}",
                INVALID,
            )
