"""A CUDA GPU, driven through CuPy's bindings: the only file that knows CuPy.

Only the thin bindings of CUDA's runtime and driver are used (`cupy_backends.cuda.api`, which
`cupy.cuda.runtime` and `cupy.cuda.driver` re-export): one Python call is one CUDA call, and NumPy's
stand-in with all its modules need not be imported. Without CuPy, or with a broken one, this module
can be imported all the same: `PROBLEM` says what is wrong and `CupyDriver` can't be made.

What is launched again and again is prepared: a launch is two calls of C functions without any
conversion of arguments by us. CuPy's bindings take plain integers and are compiled, so that a
launch through them costs 0.1 to 0.2 us; the same call by ctypes costs 0.7 to 0.9 (measured on a
stand-in library that does nothing).

Each call makes its GPU's context the thread's current one first, so that a driver may be used by
any thread, and several drivers by one. That costs less than to find out whether it is needed.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.devices.cuda.driver.cuda_statuses import (
    NOT_READY,
    OUT_OF_MEMORY,
    PEER_ACCESS_ALREADY,
    refusal,
)
from gpugraph.devices.cuda.driver.driver_interface import (
    Driver,
    DriverError,
    Geometry,
    Product,
    Properties,
    Span,
    Stream,
)
from gpugraph.devices.cuda.driver.launch_parameters import Parameters
from gpugraph.devices.cuda.driver.libcuda import version_text
from gpugraph.devices.cuda.driver.owned_handles import Owned, nothing_collected
from gpugraph.memory import HostRegion

try:
    from cupy_backends.cuda.api import driver, runtime
except Exception as error:  # a broken wheel may fail in any way
    PROBLEM = f"{type(error).__name__}: {error}"
    driver = runtime = None
else:
    PROBLEM = ""


Compiler = Callable[[str, str, str], bytes]
"""From a CUDA text, an architecture (`sm_90`) and a name for messages to a cubin; DriverError."""

ProductBinder = Callable[[Product, tuple[int, int], int], Callable[[], None] | None]
"""Binds a product to a workspace and a stream's handle; None where there is no algorithm."""

_MULTIPROCESSORS, _MAJOR, _MINOR, _SHARED_BYTES = 16, 75, 76, 97
"""Of cudaDeviceAttr."""
_MAX_DYNAMIC_SHARED_BYTES = 8
"""Of CUfunction_attribute: must be raised before a launch with more than 48 KiB, static or not."""


def runtime_version() -> int:
    """The CUDA runtime that CuPy carries, as CUDA numbers it: 12090 is 12.9."""
    return int(_called("tell its version", runtime.runtimeGetVersion))


class CupyDriver:
    """One GPU (see `Driver`). Streams are CUDA's handles as integers.

    compiler: what makes cubins of texts. products: what binds matrix products, made at the first
    one by `make_products`, with this GPU current; without it there is a product for nothing.
    """

    def __init__(
        self,
        ordinal: int,
        compiler: Compiler,
        make_products: Callable[[], ProductBinder] | None = None,
    ) -> None:
        if PROBLEM:
            raise DriverError(f"CuPy can't be used: {PROBLEM}")
        self._compiler = compiler
        self._make_products = make_products
        self._products: ProductBinder | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._held: dict[int, Callable[[int], None]] = {}
        self._streams: dict[int, str] = {}
        self._modules: dict[str, int] = {}
        self._peers_enabled: set[int] = set()
        self._shared: dict[int, int] = {}
        _called(f"use GPU {ordinal}", runtime.setDevice, ordinal)
        _called(f"initialize GPU {ordinal}", runtime.free, 0)
        self._context = _called(f"use GPU {ordinal}", driver.ctxGetCurrent)
        self._properties = _properties(ordinal)

    @property
    def properties(self) -> Properties:
        """As they were when the driver was made, free bytes too."""
        return self._properties

    def _call(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return _called(what, _within, self._context, function, *arguments)

    # -- memory

    def free_bytes(self) -> int:
        free, _ = self._call("ask for its memory", runtime.memGetInfo)
        return int(free)

    def malloc(self, num_bytes: int) -> int | None:
        what, free = "allocate device memory", runtime.free
        return self._allocated(num_bytes, what, free, runtime.malloc, num_bytes)

    def free(self, address: int) -> None:
        """Does nothing once the driver is closed, which has given all memory back."""
        if not self._closed:
            self._call(f"free the memory at {address:#x}", runtime.free, address)
            self._held.pop(address, None)

    def malloc_host(self, num_bytes: int) -> HostRegion | None:
        flags = runtime.hostAllocPortable  # pinned for all GPUs
        what, free = "allocate pinned host memory", runtime.freeHost
        address = self._allocated(num_bytes, what, free, runtime.hostAlloc, num_bytes, flags)
        if address is None:
            return None
        buffer = (ctypes.c_char * num_bytes).from_address(address)
        return HostRegion(address, memoryview(buffer).cast("B"))

    def free_host(self, address: int) -> None:
        """Does nothing once the driver is closed."""
        if not self._closed:
            self._call(f"free the pinned memory at {address:#x}", runtime.freeHost, address)
            self._held.pop(address, None)

    def _allocated(
        self, num_bytes: int, what: str, free: Callable[[int], None], call: Any, *arguments: int
    ) -> int | None:
        if num_bytes <= 0:
            raise ValueError(f"can't {what}: {num_bytes} bytes were asked for")
        try:
            address = int(self._call(f"{what} ({num_bytes} bytes)", call, *arguments))
        except DriverError as error:
            if error.status == OUT_OF_MEMORY:
                return None
            raise
        self._held[address] = free
        return address

    # -- streams

    def stream(self, name: str) -> Stream:
        what = f"make the stream {name}"
        handle = self._call(what, runtime.streamCreateWithFlags, runtime.streamNonBlocking)
        with self._lock:
            self._streams[handle] = name
        return handle

    def event(self) -> Any:
        flags = runtime.eventDisableTiming
        handle = self._call("make an event", runtime.eventCreateWithFlags, flags)
        return Owned(handle, runtime.eventDestroy)

    def record(self, event: Any, stream: Stream) -> None:
        self._call("record an event", runtime.eventRecord, event.handle, stream)

    def wait(self, stream: Stream, event: Any) -> None:
        self._call("wait for an event", runtime.streamWaitEvent, stream, event.handle)

    def is_done(self, event: Any) -> bool:
        status = self._call("ask for an event", runtime.eventQuery, event.handle)
        if status not in (0, NOT_READY):
            self._call("ask for an event", runtime.check_status, status)
        return bool(status == 0)

    def synchronize(self, stream: Stream | None = None) -> None:
        if stream is None:
            for each in list(self._streams):  # others' may be captured just now
                self.synchronize(each)
        else:
            what = f"finish the stream {self._streams.get(stream, stream)}"
            self._call(what, runtime.streamSynchronize, stream)

    # -- copies

    def copy_in(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        self._copy("to the GPU", target, source, num_bytes, runtime.memcpyHostToDevice, stream)

    def copy_out(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        self._copy("to the host", target, source, num_bytes, runtime.memcpyDeviceToHost, stream)

    def copy(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        kind = runtime.memcpyDeviceToDevice
        self._copy("within the GPU", target, source, num_bytes, kind, stream)

    def _copy(
        self, where: str, target: int, source: int, num_bytes: int, kind: int, stream: Stream
    ) -> None:
        what = f"copy {num_bytes} bytes {where}"
        self._call(what, runtime.memcpyAsync, target, source, num_bytes, kind, stream)

    def copy_peer(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: Stream
    ) -> None:
        other, own = source_driver.properties.ordinal, self._properties.ordinal
        if other == own:  # two parts of one GPU
            self.copy(target, source, num_bytes, stream)
            return
        if other not in self._peers_enabled:
            self._enable_peer(other)
        what = f"copy {num_bytes} bytes from GPU {other} to GPU {own}"
        self._call(what, runtime.memcpyPeerAsync, target, own, source, other, num_bytes, stream)

    def _enable_peer(self, other: int) -> None:
        """Once a pair; where the GPUs can't see each other, CUDA copies by way of the host."""
        self._peers_enabled.add(other)
        if other not in self._properties.peers:
            return
        try:
            self._call(f"see the memory of GPU {other}", runtime.deviceEnablePeerAccess, other)
        except DriverError as error:
            if error.status != PEER_ACCESS_ALREADY:
                raise

    # -- kernels

    def compile(self, text: str, name: str) -> int:
        """The module's handle. One text is loaded once; modules stay until the driver is closed."""
        with self._lock:
            module = self._modules.get(text)
        if module is None:
            cubin = self._compiler(text, self._properties.arch, name)
            module = int(self._call(f"load the kernels {name}", driver.moduleLoadData, cubin))
            with self._lock:
                self._modules.setdefault(text, module)  # by two at once: both serve
        return module

    def launcher(
        self,
        module: Any,
        function: str,
        geometry: Geometry,
        arguments: Sequence[Any],
        stream: Stream,
        reads: Sequence[Span] = (),
        writes: Sequence[Span] = (),
    ) -> Callable[[], None]:
        what = f"find the kernel {function}"
        handle = self._call(what, driver.moduleGetFunction, module, function)
        shared = geometry.shared_bytes
        self._ask_for_shared(function, handle, shared)
        parameters = Parameters(arguments)
        launch = partial(
            driver.launchKernel,
            handle,
            *geometry.grid,
            *geometry.block,
            shared,
            stream,
            parameters.address,
            0,
        )
        return self._repeated(f"launch {function} ({geometry})", launch, parameters)

    def _ask_for_shared(self, function: str, handle: int, shared: int) -> None:
        """For all launches of a kernel together: what was asked for others stays possible."""
        with self._lock:
            if shared <= self._shared.get(handle, 0):
                return
            what = f"give the kernel {function} {shared} bytes of shared memory"
            self._call(what, driver.funcSetAttribute, handle, _MAX_DYNAMIC_SHARED_BYTES, shared)
            self._shared[handle] = shared

    def _repeated(
        self, what: str, launch: Callable[[], object], kept: object
    ) -> Callable[[], None]:
        """What calls `launch`, which needs `kept`, with this GPU current."""
        enter, context = driver.ctxSetCurrent, self._context

        def call(_kept: object = kept) -> None:
            try:
                enter(context)
                launch()
            except RuntimeError as error:
                raise refusal(what, error) from error

        return call

    # -- matrix products

    def product(
        self, product: Product, workspace: tuple[int, int], stream: Stream
    ) -> Callable[[], None] | None:
        if self._make_products is None:
            return None
        self._enter()
        if self._products is None:
            self._products = self._make_products()
        launch = self._products(product, workspace, stream)
        if launch is None:
            return None
        return self._repeated("launch a matrix product", launch, None)

    def _enter(self) -> None:
        _called("use the GPU", driver.ctxSetCurrent, self._context)

    # -- captured work

    def capture(self, stream: Stream, work: Callable[[], None]) -> Callable[[], None]:
        with nothing_collected():
            graph = self._graph(stream, work)
        try:
            handle = self._call("make a graph", runtime.graphInstantiate, graph)
        finally:
            self._destroy_graph(graph)
        captured = Owned(handle, runtime.graphExecDestroy)  # CUDA keeps it while it runs
        self._call("upload a graph", runtime.graphUpload, handle, stream)
        launch = partial(runtime.graphLaunch, handle, stream)
        return self._repeated("launch captured work", launch, captured)

    def _graph(self, stream: Stream, work: Callable[[], None]) -> int:
        mode = runtime.streamCaptureModeThreadLocal  # what other threads do is their affair
        self._call("begin to capture a stream", runtime.streamBeginCapture, stream, mode)
        try:
            work()
        except BaseException:
            with contextlib.suppress(DriverError):  # it is invalid by now, and told of already
                self._destroy_graph(self._call("end a capture", runtime.streamEndCapture, stream))
            raise
        return int(self._call("capture the stream's work", runtime.streamEndCapture, stream))

    def _destroy_graph(self, graph: int) -> None:
        if graph:
            self._call("forget a graph", runtime.graphDestroy, graph)

    def close(self) -> None:
        """Waits for what runs, then gives back streams, modules and memory, also what nobody has
        freed; of a lost GPU, too. Nothing that was made by the driver may be used any longer."""
        self._products = self._make_products = None
        with self._lock:
            self._closed = True
            streams, self._streams = list(self._streams), {}
            modules, self._modules = list(self._modules.values()), {}
            held, self._held = list(self._held.items()), {}
        calls: list[tuple[Any, ...]] = [(runtime.streamSynchronize, stream) for stream in streams]
        calls += [(runtime.streamDestroy, stream) for stream in streams]
        calls += [(driver.moduleUnload, module) for module in modules]
        calls += [(free, address) for address, free in held]
        for call, *handles in calls:
            with contextlib.suppress(DriverError):  # a lost GPU has given all back already
                self._call("close the GPU", call, *handles)


def _called(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """CuPy's errors derive from RuntimeError, and have CUDA's number as `status`."""
    try:
        return function(*arguments)
    except RuntimeError as error:
        raise refusal(what, error) from error


def _within(context: int, function: Callable[..., Any], *arguments: Any) -> Any:
    driver.ctxSetCurrent(context)
    return function(*arguments)


def _properties(ordinal: int) -> Properties:
    def attribute(number: int) -> int:
        what = f"tell attribute {number} of GPU {ordinal}"
        return int(_called(what, runtime.deviceGetAttribute, number, ordinal))

    what = f"tell what GPU {ordinal} is"
    name = _called(what, runtime.getDeviceProperties, ordinal)["name"]
    free_bytes, total_bytes = _called(what, runtime.memGetInfo)
    others = range(_called(what, runtime.getDeviceCount))
    return Properties(
        ordinal=ordinal,
        name=name.decode() if isinstance(name, bytes) else str(name),
        arch=f"sm_{attribute(_MAJOR)}{attribute(_MINOR)}",
        total_bytes=int(total_bytes),
        free_bytes=int(free_bytes),
        multiprocessors=attribute(_MULTIPROCESSORS),
        shared_bytes=attribute(_SHARED_BYTES),
        bus_id=str(_called(what, runtime.deviceGetPCIBusId, ordinal)),
        versions=f"CUDA driver {version_text(_called(what, runtime.driverGetVersion))}, "
        f"runtime {version_text(runtime_version())}",
        peers=frozenset(
            other
            for other in others
            if other != ordinal and _called(what, runtime.deviceCanAccessPeer, ordinal, other)
        ),
    )
