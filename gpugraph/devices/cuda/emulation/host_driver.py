"""The driver of an emulated GPU. The driver and the GPU's kernels run on the host, for tests and CI
without a GPU.

The kernels are compiled from the GPU's sources by the C++ compiler (`cxx_compiler`). Device memory
is host memory, and the addresses in each launch and copy are checked to be in it. Streams execute
commands as late as events permit (`stream_timeline`). Two accesses to the same memory raise an
error if their order is undetermined (`stream_hazards`). If CUDA forbids a call during a capture,
the emulation raises an error too. If a kernel fails, the error is raised when the host waits for
the kernel's stream. After that, the device is lost.

Several drivers of one `HostMachine` are peers of each other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.devices.cuda.driver.driver_interface import (
    Driver,
    DriverError,
    Geometry,
    Product,
    Properties,
    Span,
)
from gpugraph.devices.cuda.emulation import host_matrix_products
from gpugraph.devices.cuda.emulation.checked_arithmetic import SHUFFLED, checks
from gpugraph.devices.cuda.emulation.cxx_compiler import MAX_SHARED_BYTES, HostModule, load
from gpugraph.devices.cuda.emulation.guarded_launches import is_sanitizing, on_copies
from gpugraph.devices.cuda.emulation.host_capture import HostCapture
from gpugraph.devices.cuda.emulation.host_gpu import (
    HostEvent as HostEvent,
    HostGPU,
    HostMachine as HostMachine,
)
from gpugraph.devices.cuda.emulation.stream_timeline import HostStream

ILLEGAL_ADDRESS = 700


class HostDriver(HostGPU):
    """One GPU of an emulated machine.

    Args:
      total_bytes: the size of the GPU's memory.
      fill: the value of each byte of new memory (255 gives NaN). None means 0.
      products: whether the driver computes matrix products, as cublasLt does. Otherwise the kernels
        of the caller compute them.
      epilogues: whether these products may have an epilogue.
      backwards: whether the threads and blocks of kernels run from the last to the first, so that a
        race changes results.
      hazards: whether a hazard raises an error. Otherwise the hazard is only recorded in `faults`.
    """

    def __init__(
        self,
        ordinal: int = 0,
        machine: HostMachine | None = None,
        total_bytes: int = 1 << 30,
        arch: str = "sm_80",
        fill: int | None = None,
        products: bool = True,
        epilogues: bool = True,
        backwards: bool = False,
        hazards: bool = True,
    ) -> None:
        super().__init__(ordinal, machine or HostMachine(), total_bytes, fill)
        self.arch = arch
        self.products = products
        self.epilogues = epilogues
        self.backwards = backwards
        self._timeline.raises_hazards = hazards
        self._modules: dict[str, HostModule] = {}

    @property
    def properties(self) -> Properties:
        """The properties of the emulated GPU. All other GPUs of the machine are its peers."""
        drivers = self.machine.drivers
        return Properties(
            ordinal=self.ordinal,
            name="CUDA on the host",
            arch=self.arch,
            total_bytes=self._device.limit,
            free_bytes=self._device.limit - self._device.used,
            multiprocessors=4,
            shared_bytes=MAX_SHARED_BYTES,
            bus_id=f"host:{self.ordinal}",
            versions="emulated by the host's C++ compiler",
            peers=frozenset(driver.ordinal for driver in drivers if driver is not self),
        )

    # -- streams

    def stream(self, name: str) -> HostStream:
        """Create a stream.

        Args:
          name: a name for messages.
        """
        with self._lock:
            return self._timeline.stream(f"{name}@{self.ordinal}", self)

    def event(self) -> HostEvent:
        """Create an event."""
        return HostEvent()

    def record(self, event: HostEvent, stream: HostStream) -> None:
        """Record the event after all commands that are enqueued on the stream at this time."""
        with self._lock:
            self._raise_late()
            timeline, stream = self._place(stream)
            event.mark = timeline.mark(stream)

    def wait(self, stream: HostStream, event: HostEvent) -> None:
        """Enqueue a wait for the event. If the event was never recorded, the wait has no effect."""
        with self._lock:
            self._raise_late()
            mark = event.mark
            if mark is None:
                return
            if self._capture is not None:
                self._capture.join(stream, mark)
            timeline, stream = self._place(stream)
            if mark.timeline is not timeline:
                raise DriverError("an event of a capture that has ended can't be waited for", 907)
            timeline.wait(stream, mark)

    def is_done(self, event: HostEvent) -> bool:
        """Return whether the event has occurred. If it has not, run the commands before it, so that
        a later call returns True.
        """
        with self._lock:
            self._begin("is_done")
            mark = event.mark
            if mark is None:
                return True
            self._refuse_captured(mark)
            if mark.is_reached:
                self._timeline.meet(mark.clock)
                return True
            self._timeline.run_to(mark)
            self._raise_late()
            return False

    def wait_for(self, event: HostEvent) -> None:
        """Run the commands before the event, and raise the error of a command that failed, if
        any.
        """
        with self._lock:
            self._begin("wait_for")
            mark = event.mark
            if mark is not None:
                self._refuse_captured(mark)
                self._timeline.run_to(mark)
                self._raise_late()
                self._timeline.meet(mark.clock)

    # -- copies

    def copy_in(self, target: int, source: int, num_bytes: int, stream: HostStream) -> None:
        """Enqueue a copy from host memory. Host memory that is not pinned is read before this
        method returns.
        """
        with self._lock:
            self._check_span((target, num_bytes), "copy_in writes")
            if self._pinned.holds(source, num_bytes):
                self._copy("copy_in", target, source, num_bytes, stream)
                return
            self._refuse_in_capture("copy_in from host memory that is not pinned")
            content = ctypes.string_at(source, num_bytes)
            self._enqueue(
                stream,
                "copy_in",
                lambda: _move(target, content, num_bytes),
                writes=[(target, num_bytes)],
            )

    def copy_out(self, target: int, source: int, num_bytes: int, stream: HostStream) -> None:
        """Enqueue a copy to host memory. Host memory that is not pinned is written before this
        method returns.
        """
        with self._lock:
            self._check_span((source, num_bytes), "copy_out reads")
            is_pinned = self._pinned.holds(target, num_bytes)
            if not is_pinned:
                self._refuse_in_capture("copy_out to host memory that is not pinned")
            self._copy("copy_out", target, source, num_bytes, stream)
            if not is_pinned:
                self.synchronize(stream)

    def copy(self, target: int, source: int, num_bytes: int, stream: HostStream) -> None:
        """Enqueue a copy within device memory."""
        with self._lock:
            self._check_span((target, num_bytes), "copy writes")
            self._check_span((source, num_bytes), "copy reads")
            self._copy("copy", target, source, num_bytes, stream)

    def copy_peer(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: HostStream
    ) -> None:
        """Enqueue a copy from the memory of another GPU of this machine."""
        with self._lock:
            other = source_driver
            if not isinstance(other, HostDriver) or other.machine is not self.machine:
                raise DriverError("copy_peer: the other GPU is not of this machine", 217)
            self._check_span((target, num_bytes), "copy_peer writes")
            other._check_span((source, num_bytes), "copy_peer reads")
            self._copy("copy_peer", target, source, num_bytes, stream)

    def _copy(self, name: str, target: int, source: int, size: int, stream: HostStream) -> None:
        if size:
            run = partial(_move, target, source, size)
            self._enqueue(stream, name, run, [(source, size)], [(target, size)])

    # -- kernels

    def compile(self, source: str, name: str) -> HostModule:
        """Return the module of a CUDA source, compiled for the host and loaded."""
        with self._lock:
            module = self._modules.get(source)
            if module is not None:
                return module
            self._begin("compile")
        module = load(source, name)  # no lock is held, so threads compile in parallel
        with self._lock:
            return self._modules.setdefault(source, module)

    def launcher(
        self,
        module: HostModule,
        function: str,
        geometry: Geometry,
        arguments: Sequence[Any],
        stream: HostStream,
        reads: Sequence[Span] = (),
        writes: Sequence[Span] = (),
    ) -> Callable[[], None]:
        """Return a callable that enqueues a launch of a kernel. Raises DriverError if arguments or
        spans of memory are invalid. If a pointer is invalid, the kernel fails when it runs.
        """
        module.check(function, geometry, arguments)
        arguments = tuple(arguments)
        for span in (*reads, *writes):
            self._check_span(span, f"kernel {function} touches")
        kinds = module.kernels[function]
        words = [
            (index, word)
            for index, (word, kind) in enumerate(zip(arguments, kinds))
            if word and kind in "pw"
        ]
        pointers = [(index, address) for index, address in words if kinds[index] == "p"]

        def run() -> None:
            for index, address in pointers:
                if not (self._device.holds(address, 0) or self._pinned.holds(address, 0)):
                    raise DriverError(
                        f"kernel {function}: argument {index}, {address:#x}, is no memory of "
                        f"GPU {self.ordinal}",
                        ILLEGAL_ADDRESS,
                        fatal=True,
                    )
            if is_sanitizing():
                on_copies(start, arguments, words, reads, writes)
            else:
                start(arguments)

        def start(words: Sequence[Any]) -> None:
            order = SHUFFLED if "shuffle" in checks() else self.backwards
            module.launch(function, geometry, words, order, watched=(*reads, *writes))

        def launch() -> None:
            with self._lock:
                self._enqueue(stream, f"kernel {function}", run, reads, writes)

        return launch

    def product(
        self, product: Product, workspace: tuple[int, int], stream: HostStream
    ) -> Callable[[], None] | None:
        """Return a callable that enqueues a product, which NumPy computes. If this emulated GPU was
        created without products, or without the product's epilogue, return None.
        """
        if not self.products or not product.item_bytes:
            return None
        if not (self.epilogues or product.is_plain):
            return None
        reads, writes = product.spans()
        for span in (*reads, *writes, workspace):
            self._check_span(span, "product touches")
        name = f"product {product.m}x{product.k} by {product.k}x{product.n}"

        def run() -> None:
            host_matrix_products.compute(product)

        def launch() -> None:
            with self._lock:
                self._enqueue(stream, name, run, reads, [*writes, workspace])

        return launch

    # -- captured work

    @property
    def cudnn(self) -> str:
        """An empty string, because there is no cuDNN."""
        return ""

    def convolution(
        self, convolution: Any, workspace: tuple[int, int], stream: HostStream
    ) -> Callable[[], None] | None:
        """Return None, because there is no cuDNN."""
        return None

    def capture(self, stream: HostStream, work: Callable[[], None]) -> Callable[[], None]:
        """Call `work` in a capture, and return a callable that enqueues the captured commands as
        one command.
        """
        with self._lock:
            self._begin("capture")
            capture = HostCapture(stream, self._timeline.raises_hazards, self.machine.seed)
            self._capture = capture
            try:
                work()
            finally:
                self._capture = None
                self.faults.extend(capture.timeline.faults)
            graph = capture.finish()

        def launch() -> None:
            with self._lock:
                self._enqueue(stream, graph.name, graph.run, graph.reads, graph.writes)

        return launch

    def close(self) -> None:
        """Drop the commands that have not run, and free all memory and modules."""
        with self._lock:
            self._timeline.drop(self)
            self._device.clear()
            self._pinned.clear()
            self._modules.clear()
            if self in self.machine.drivers:
                self.machine.drivers.remove(self)


def _move(target: int, source: int | bytes, size: int) -> None:
    ctypes.memmove(target, source, size)
