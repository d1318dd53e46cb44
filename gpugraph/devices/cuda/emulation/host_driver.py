"""CUDA played on the host: the driver that tests and CI have where no GPU is.

Kernels are the GPU's texts, compiled by the C++ compiler (`host_compiler`). Device memory is the
host's, and what a launch or a copy is given has to lie in it. Streams run as late as events allow
(`timeline`), commands that collide are an error (`hazards`), and what CUDA refuses in a capture is
refused. A kernel that fails does so when its stream is waited for, and the device is lost then.

Several drivers of one `HostMachine` are GPUs that see each other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.devices.cuda.driver.driver_interface import (
    Driver,
    DriverError,
    Geometry,
    Product,
    Properties,
    Span,
)
from gpugraph.devices.cuda.emulation import host_matrix_products as host_products
from gpugraph.devices.cuda.emulation.cxx_compiler import MOST_SHARED_BYTES, HostModule, load
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
    """One GPU of a machine.

    total_bytes: its memory. fill: the byte that new memory holds (255: NaN), None: zeros.
    products: whether there are any; without, the caller's kernels compute them. epilogues: whether
    products do what follows them.
    backwards: threads and blocks run from the last to the first, so that a race shows.
    hazards: whether a collision raises; else it is put down in `faults` alone.
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
        others = frozenset(each.ordinal for each in self.machine.drivers if each is not self)
        return Properties(
            ordinal=self.ordinal,
            name="CUDA on the host",
            arch=self.arch,
            total_bytes=self._device.limit,
            free_bytes=self._device.limit - self._device.used,
            multiprocessors=4,
            shared_bytes=MOST_SHARED_BYTES,
            bus_id=f"host:{self.ordinal}",
            versions="played by the host's C++ compiler",
            peers=others,
        )

    # -- streams

    def stream(self, name: str) -> HostStream:
        with self._lock:
            return self._timeline.stream(f"{name}@{self.ordinal}", self)

    def event(self) -> HostEvent:
        return HostEvent()

    def record(self, event: HostEvent, stream: HostStream) -> None:
        with self._lock:
            self._raise_late()
            timeline, stream = self._place(stream)
            event.mark = timeline.mark(stream)

    def wait(self, stream: HostStream, event: HostEvent) -> None:
        """An event that was never recorded is not waited for."""
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
        """False the first time for what has not run; it runs then."""
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

    # -- copies

    def copy_in(self, target: int, source: int, num_bytes: int, stream: HostStream) -> None:
        """What is not pinned is read before this returns."""
        with self._lock:
            self._check_span((target, num_bytes), "copy_in writes")
            if self._pinned.holds(source, num_bytes):
                self._copy("copy_in", target, source, num_bytes, stream)
                return
            self._refuse_in_capture("copy_in from host memory that is not pinned")
            content = ctypes.string_at(source, num_bytes)
            self._tell(
                stream,
                "copy_in",
                lambda: _move(target, content, num_bytes),
                writes=[(target, num_bytes)],
            )

    def copy_out(self, target: int, source: int, num_bytes: int, stream: HostStream) -> None:
        """To what is not pinned, it is over when this returns."""
        with self._lock:
            self._check_span((source, num_bytes), "copy_out reads")
            is_pinned = self._pinned.holds(target, num_bytes)
            if not is_pinned:
                self._refuse_in_capture("copy_out to host memory that is not pinned")
            self._copy("copy_out", target, source, num_bytes, stream)
            if not is_pinned:
                self.synchronize(stream)

    def copy(self, target: int, source: int, num_bytes: int, stream: HostStream) -> None:
        with self._lock:
            self._check_span((target, num_bytes), "copy writes")
            self._check_span((source, num_bytes), "copy reads")
            self._copy("copy", target, source, num_bytes, stream)

    def copy_peer(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: HostStream
    ) -> None:
        with self._lock:
            other = source_driver
            if not isinstance(other, HostDriver) or other.machine is not self.machine:
                raise DriverError("copy_peer: the other GPU is not of this machine", 217)
            self._check_span((target, num_bytes), "copy_peer writes")
            other._check_span((source, num_bytes), "copy_peer reads")
            self._copy("copy_peer", target, source, num_bytes, stream)

    def _copy(self, name: str, target: int, source: int, size: int, stream: HostStream) -> None:
        if not size:
            return
        self._tell(
            stream,
            name,
            lambda: _move(target, source, size),
            reads=[(source, size)],
            writes=[(target, size)],
        )

    # -- kernels

    def compile(self, text: str, name: str) -> HostModule:
        with self._lock:
            found = self._modules.get(text)
            if found is not None:
                return found
            self._begin("compile")
        made = load(text, name)  # others may be compiled meanwhile
        with self._lock:
            return self._modules.setdefault(text, made)

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
        module.check(function, geometry, arguments)
        given = tuple(arguments)
        for span in (*reads, *writes):
            self._check_span(span, f"kernel {function} touches")
        kinds = dict(enumerate(module.kernels[function]))
        words = [
            (at, word) for at, word in enumerate(given) if word and kinds.get(at) in ("p", "w")
        ]
        pointers = [(at, address) for at, address in words if kinds[at] == "p"]

        def run() -> None:
            for at, address in pointers:
                if not (self._device.holds(address, 0) or self._pinned.holds(address, 0)):
                    raise DriverError(
                        f"kernel {function}: argument {at}, {address:#x}, is no memory of "
                        f"GPU {self.ordinal}",
                        ILLEGAL_ADDRESS,
                        fatal=True,
                    )
            if is_sanitizing():
                on_copies(start, given, words, reads, writes)
            else:
                start(given)

        def start(words: Sequence[Any]) -> None:
            module.launch(function, geometry, words, self.backwards)

        def launch() -> None:
            with self._lock:
                self._tell(stream, f"kernel {function}", run, reads, writes)

        return launch

    def product(
        self, product: Product, workspace: tuple[int, int], stream: HostStream
    ) -> Callable[[], None] | None:
        if not self.products or not host_products.item_bytes(product.dtype):
            return None
        if not (self.epilogues or product.is_plain):
            return None
        reads, writes = host_products.spans(product)
        for span in (*reads, *writes, workspace):
            self._check_span(span, "product touches")
        name = f"product {product.m}x{product.k} by {product.k}x{product.n}"

        def launch() -> None:
            with self._lock:
                run = _computed(product)
                self._tell(stream, name, run, reads, [*writes, workspace])

        return launch

    # -- captured work

    def capture(self, stream: HostStream, work: Callable[[], None]) -> Callable[[], None]:
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
                self._tell(stream, graph.name, graph.run, graph.reads, graph.writes)

        return launch

    def close(self) -> None:
        """What was told and has not run is not run; what was allocated goes."""
        with self._lock:
            self._timeline.drop(self)
            self._device.clear()
            self._pinned.clear()
            self._modules.clear()
            if self in self.machine.drivers:
                self.machine.drivers.remove(self)


def _move(target: int, source: int | bytes, size: int) -> None:
    ctypes.memmove(target, source, size)


def _computed(product: Product) -> Callable[[], None]:
    return lambda: host_products.compute(product)
