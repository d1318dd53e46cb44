"""A GPU that the host plays: its memory, what failed on it, and where its commands go.

What `host_driver` says as a driver's verbs is built of this.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from gpugraph.devices.cuda.driver.driver_interface import DriverError, Span
from gpugraph.devices.cuda.emulation.host_capture import HostCapture
from gpugraph.devices.cuda.emulation.host_memory import Regions
from gpugraph.devices.cuda.emulation.stream_timeline import HostStream, Mark, Timeline
from gpugraph.memory import HostRegion

INVALID, IN_CAPTURE = 1, 900


class HostEvent:
    """An event: the place in a stream where it was recorded last."""

    def __init__(self) -> None:
        self.mark: Mark | None = None


class HostMachine:
    """What the GPUs of one machine share: time, and a lock.

    seed: streams take turns by chance; None: the one that was told last runs first.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.lock = threading.RLock()
        self.timeline = Timeline(seed)
        self.timeline.failed = _note_failure
        self.drivers: list[HostGPU] = []
        self.seed = seed


def _note_failure(stream: HostStream, error: DriverError) -> None:
    driver = stream.owner
    assert isinstance(driver, HostGPU)
    driver.note_failure(error)


class HostGPU:
    """One GPU's memory and state; `synchronize` is its driver's."""

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
        """Waits for a stream, or for all; raises what failed on the way."""
        with self._lock:
            self._begin("synchronize")
            own = [each for each in self._timeline.streams if each.owner is self]
            if stream is None:
                self._timeline.run_all(own)
            else:
                self._timeline.run_to(self._timeline.mark(stream))
            self._raise_late()
            for each in own if stream is None else [stream]:
                self._timeline.meet(self._timeline.mark(each).clock)

    @property
    def faults(self) -> list[str]:
        """Collisions found so far."""
        return self._timeline.faults

    # -- memory

    def free_bytes(self) -> int:
        return self._device.limit - self._device.used

    def malloc(self, num_bytes: int) -> int | None:
        with self._lock:
            self._begin("malloc")
            region = self._device.take(num_bytes)
            return None if region is None else region.base

    def free(self, address: int) -> None:
        """Waits for all streams first, as cudaFree does."""
        self._free(address, self._device)

    def malloc_host(self, num_bytes: int) -> HostRegion | None:
        with self._lock:
            self._begin("malloc_host")
            return self._pinned.take(num_bytes)

    def free_host(self, address: int) -> None:
        self._free(address, self._pinned)

    def _free(self, address: int, regions: Regions) -> None:
        with self._lock:
            self._refuse_in_capture("free")
            if not self._is_lost:
                self.synchronize()
            self._timeline.forget_memory(address, regions.give_back(address))

    def touch_host(self, address: int, num_bytes: int, is_write: bool = True) -> None:
        """Says that the host is about to touch this memory; DriverError where a copy that was told
        before may not be over with it."""
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
        """Tells a stream something that fails: for tests of who has to bear it."""

        def run() -> None:
            raise error

        with self._lock:
            self._tell(stream, "failure", run)

    def note_failure(self, error: DriverError) -> None:
        """A command failed while it ran. After a fatal failure nothing runs any longer."""
        if self._error is None:
            self._error = error
        if error.fatal:
            self._timeline.drop(self)

    def _raise_late(self) -> None:
        """An earlier command's failure, the first time that somebody asks; a fatal one always."""
        error = self._error
        if error is None:
            return
        if not error.fatal:
            self._error = None
        raise DriverError(str(error), error.status, error.fatal)

    # -- what all verbs share

    def _begin(self, verb: str) -> None:
        self._raise_late()
        self._refuse_in_capture(verb)

    def _refuse_in_capture(self, verb: str) -> None:
        if self._capture is not None:
            raise DriverError(f"{verb} is not permitted while a stream is captured", IN_CAPTURE)

    def _refuse_captured(self, mark: Mark) -> None:
        if mark.timeline is not self._timeline:
            raise DriverError("an event recorded in a capture can't be asked for", 907)

    def _place(self, stream: HostStream) -> tuple[Timeline, HostStream]:
        """Where a stream's commands go: into the capture that it is in, or to be run."""
        if self._capture is not None and stream in self._capture.streams:
            return self._capture.timeline, self._capture.streams[stream]
        return self._timeline, stream

    def _tell(
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
        timeline, place = self._place(stream)
        timeline.tell(place, name, run, reads, writes)

    def _check_span(self, span: Span, does: str) -> None:
        address, size = span
        if size and not self._device.holds(address, size):
            raise DriverError(
                f"{does} {size} bytes at {address:#x}, which are no memory of GPU {self.ordinal}",
                INVALID,
            )
