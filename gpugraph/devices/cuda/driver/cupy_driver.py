"""The driver of a CUDA GPU through CuPy's bindings: the only file that imports CuPy.

It uses only the thin bindings of CUDA's runtime and driver (`cupy_backends.cuda.api`); CuPy's array
library is not imported. One Python call is one CUDA call. The module can be imported even if CuPy
is missing or broken. `PROBLEM` is then the error's text, and `CupyDriver` raises it.

Launches are prepared when they are bound: a launch is two calls of C functions with arguments that
need no conversion. CuPy's bindings are compiled and take plain integers. A call takes 0.1 to 0.2
us, but by ctypes it takes 0.7 to 0.9 us (measured with functions that do nothing).

Each call first makes its GPU's context current in the thread. So any thread may use a driver, and
one thread may use several drivers. Checking the context first would take longer.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.fork_safe_locks import new_lock
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
except Exception as error:  # a broken wheel may raise anything
    PROBLEM = f"{type(error).__name__}: {error}"
    driver = runtime = None
else:
    PROBLEM = ""


Compiler = Callable[[str, str, str], bytes]
"""A function that compiles a source to a cubin. Its arguments are the source, the architecture such
as `sm_90`, and a name for messages.
"""

ProductBinder = Callable[[Product, tuple[int, int], int], Callable[[], None] | None]
"""A function that binds a product. Its arguments are the product, a workspace (address, bytes) and
a stream; see `CupyDriver.product`.
"""

_MULTIPROCESSORS, _MAJOR, _MINOR, _SHARED_BYTES = 16, 75, 76, 97
"""Numbers of the enum cudaDeviceAttr."""
_MAX_DYNAMIC_SHARED_BYTES = 8
"""The CUfunction_attribute that must be raised for launches with more than 48 KiB of shared
memory.
"""


def runtime_version() -> int:
    """Return the version of CuPy's CUDA runtime as CUDA numbers it: 12090 is 12.9."""
    return int(_call("report its version", runtime.runtimeGetVersion))


class CupyDriver:
    """The driver of one GPU (see `Driver`). Streams are CUDA's handles, as integers.

    compiler: compiles kernel sources. make_products: a function that is called for the first matrix
    product and returns the function that binds products. Without it, `product` returns None.
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
        self._lock = new_lock()
        self._closed = False
        self._free_by_address: dict[int, Callable[[int], None]] = {}
        self._streams: dict[int, str] = {}
        self._modules: dict[str, int] = {}
        self._peers_enabled: set[int] = set()
        self._shared: dict[int, int] = {}
        _call(f"use GPU {ordinal}", runtime.setDevice, ordinal)
        _call(f"initialize GPU {ordinal}", runtime.free, 0)
        self._context = _call(f"use GPU {ordinal}", driver.ctxGetCurrent)
        self._properties = _properties(ordinal)

    @property
    def properties(self) -> Properties:
        """The GPU's properties.

        `free_bytes` is the value at the time when the driver was created.
        """
        return self._properties

    def _call(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return _call(what, _call_within, self._context, function, *arguments)

    # -- memory

    def free_bytes(self) -> int:
        """Return the number of bytes of the GPU's memory that no process has allocated."""
        return int(self._call("report its memory", runtime.memGetInfo)[0])

    def malloc(self, num_bytes: int) -> int | None:
        """Allocate device memory and return its address, or None if there is not enough."""
        what, free = "allocate device memory", runtime.free
        return self._allocate(num_bytes, what, free, runtime.malloc, num_bytes)

    def free(self, address: int) -> None:
        """Free device memory. Do nothing after `close`, which frees all memory."""
        self._free(f"free the memory at {address:#x}", runtime.free, address)

    def malloc_host(self, num_bytes: int) -> HostRegion | None:
        """Allocate pinned host memory, or return None if there is not enough."""
        flags = runtime.hostAllocPortable  # pinned for all GPUs
        what, free = "allocate pinned host memory", runtime.freeHost
        address = self._allocate(num_bytes, what, free, runtime.hostAlloc, num_bytes, flags)
        if address is None:
            return None
        buffer = (ctypes.c_char * num_bytes).from_address(address)
        return HostRegion(address, memoryview(buffer).cast("B"))

    def free_host(self, address: int) -> None:
        """Free pinned host memory. Do nothing after `close`, which frees all memory."""
        self._free(f"free the pinned memory at {address:#x}", runtime.freeHost, address)

    def _free(self, what: str, call: Callable[[int], None], address: int) -> None:
        if not self._closed:
            self._call(what, call, address)
            self._free_by_address.pop(address, None)

    def _allocate(
        self, num_bytes: int, what: str, free: Callable[[int], None], call: Any, *arguments: int
    ) -> int | None:
        if num_bytes <= 0:
            raise ValueError(f"can't {what}: {num_bytes} bytes requested")
        try:
            address = int(self._call(f"{what} ({num_bytes} bytes)", call, *arguments))
        except DriverError as error:
            if error.status == OUT_OF_MEMORY:
                return None
            raise
        self._free_by_address[address] = free
        return address

    # -- streams

    def stream(self, name: str) -> Stream:
        """Create a stream. `name` is for messages."""
        what = f"create the stream {name}"
        handle = self._call(what, runtime.streamCreateWithFlags, runtime.streamNonBlocking)
        with self._lock:
            self._streams[handle] = name
        return handle

    def event(self) -> Any:
        """Create an event."""
        flags = runtime.eventDisableTiming
        handle = self._call("create an event", runtime.eventCreateWithFlags, flags)
        return Owned(handle, runtime.eventDestroy)

    def record(self, event: Any, stream: Stream) -> None:
        """Record the event on the stream."""
        self._call("record an event", runtime.eventRecord, event.handle, stream)

    def wait(self, stream: Stream, event: Any) -> None:
        """Make work that is enqueued on the stream after this call wait for the event."""
        self._call("wait for an event", runtime.streamWaitEvent, stream, event.handle)

    def is_done(self, event: Any) -> bool:
        """Return whether the event has occurred."""
        status = self._call("query an event", runtime.eventQuery, event.handle)
        if status not in (0, NOT_READY):
            self._call("query an event", runtime.check_status, status)
        return bool(status == 0)

    def wait_for(self, event: Any) -> None:
        """Wait on the host until the event has occurred."""
        self._call("wait for an event", runtime.eventSynchronize, event.handle)

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait until a stream, or all streams of this driver, have executed their work."""
        if stream is None:
            for stream in list(self._streams):  # streams of other drivers may be in a capture
                self.synchronize(stream)
        else:
            what = f"finish the stream {self._streams.get(stream, stream)}"
            self._call(what, runtime.streamSynchronize, stream)

    # -- copies

    def copy_in(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy from host memory to GPU memory."""
        self._copy("to the GPU", target, source, num_bytes, runtime.memcpyHostToDevice, stream)

    def copy_out(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy from GPU memory to host memory."""
        self._copy("to the host", target, source, num_bytes, runtime.memcpyDeviceToHost, stream)

    def copy(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy within GPU memory."""
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
        """Enqueue a copy from another GPU's memory. `source_driver`: the driver of that GPU."""
        other, this = source_driver.properties.ordinal, self._properties.ordinal
        if other == this:  # both are parts of one GPU
            self.copy(target, source, num_bytes, stream)
            return
        if other not in self._peers_enabled:
            self._enable_peer(other)
        what = f"copy {num_bytes} bytes from GPU {other} to GPU {this}"
        self._call(what, runtime.memcpyPeerAsync, target, this, source, other, num_bytes, stream)

    def _enable_peer(self, other: int) -> None:
        """Enable direct access to another GPU's memory; without it CUDA copies through the host."""
        self._peers_enabled.add(other)
        if other not in self._properties.peers:
            return
        try:
            self._call(f"access the memory of GPU {other}", runtime.deviceEnablePeerAccess, other)
        except DriverError as error:
            if error.status != PEER_ACCESS_ALREADY:
                raise

    # -- kernels

    def compile(self, source: str, name: str) -> int:
        """Compile and load a source; return the module's handle, which is valid until `close`."""
        with self._lock:
            module = self._modules.get(source)
        if module is None:
            cubin = self._compiler(source, self._properties.arch, name)
            module = int(self._call(f"load the kernels {name}", driver.moduleLoadData, cubin))
            with self._lock:
                self._modules.setdefault(source, module)  # another thread's is valid, too
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
        """Return a callable that launches a kernel. `reads` and `writes` have no effect here."""
        find = driver.moduleGetFunction
        handle = self._call(f"find the kernel {function}", find, module, function)
        shared = geometry.shared_bytes
        self._reserve_shared(function, handle, shared)
        sizes, parameters = (*geometry.grid, *geometry.block, shared), Parameters(arguments)
        launch = partial(driver.launchKernel, handle, *sizes, stream, parameters.address, 0)
        return self._repeated(f"launch {function} ({geometry})", launch, parameters)

    def _reserve_shared(self, function: str, handle: int, shared: int) -> None:
        """Raise a kernel's limit of dynamic shared memory, which all of its launches share."""
        with self._lock:
            if shared <= self._shared.get(handle, 0):
                return
            what = f"give the kernel {function} {shared} bytes of shared memory"
            self._call(what, driver.funcSetAttribute, handle, _MAX_DYNAMIC_SHARED_BYTES, shared)
            self._shared[handle] = shared

    def _repeated(
        self, what: str, launch: Callable[[], object], owner: object
    ) -> Callable[[], None]:
        """Return a callable that makes this GPU current and launches. It keeps `owner` alive."""
        enter, context = driver.ctxSetCurrent, self._context

        def call(_keep_alive: object = owner) -> None:
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
        """Return a callable that computes a product; None if cublasLt has no algorithm for the
        product."""
        if self._make_products is None:
            return None
        _call("use the GPU", driver.ctxSetCurrent, self._context)
        if self._products is None:
            self._products = self._make_products()
        launch = self._products(product, workspace, stream)
        if launch is None:
            return None
        return self._repeated("launch a matrix product", launch, None)

    # -- captured work

    def capture(self, stream: Stream, work: Callable[[], None]) -> Callable[[], None]:
        """Capture the work that `work` enqueues as a CUDA graph; return a callable to launch it."""
        with nothing_collected():
            graph = self._graph(stream, work)
        try:
            handle = self._call("instantiate a graph", runtime.graphInstantiate, graph)
        finally:
            self._destroy_graph(graph)
        captured = Owned(handle, runtime.graphExecDestroy)  # CUDA keeps it while it is executed
        self._call("upload a graph", runtime.graphUpload, handle, stream)
        launch = partial(runtime.graphLaunch, handle, stream)
        return self._repeated("launch captured work", launch, captured)

    def _graph(self, stream: Stream, work: Callable[[], None]) -> int:
        mode = runtime.streamCaptureModeThreadLocal  # other threads are not restricted
        self._call("begin to capture a stream", runtime.streamBeginCapture, stream, mode)
        try:
            work()
        except BaseException:
            with contextlib.suppress(DriverError):  # the graph is invalid, and its error was raised
                self._destroy_graph(self._call("end a capture", runtime.streamEndCapture, stream))
            raise
        return int(self._call("capture the stream's work", runtime.streamEndCapture, stream))

    def _destroy_graph(self, graph: int) -> None:
        if graph:
            self._call("destroy a graph", runtime.graphDestroy, graph)

    def close(self) -> None:
        """Wait for all work, then release streams, modules and memory, which must not be used any
        more. Errors of a lost GPU are ignored.
        """
        self._products = self._make_products = None
        with self._lock:
            self._closed = True
            streams, self._streams = list(self._streams), {}
            modules, self._modules = list(self._modules.values()), {}
            memory, self._free_by_address = list(self._free_by_address.items()), {}
        calls: list[tuple[Any, ...]] = [(runtime.streamSynchronize, stream) for stream in streams]
        calls += [(runtime.streamDestroy, stream) for stream in streams]
        calls += [(driver.moduleUnload, module) for module in modules]
        calls += [(free, address) for address, free in memory]
        for call, *handles in calls:
            with contextlib.suppress(DriverError):  # a lost GPU has nothing left to release
                self._call("close the GPU", call, *handles)


def _call(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of CuPy's bindings, and convert its error, which has CUDA's `status`."""
    try:
        return function(*arguments)
    except RuntimeError as error:
        raise refusal(what, error) from error


def _call_within(context: int, function: Callable[..., Any], *arguments: Any) -> Any:
    driver.ctxSetCurrent(context)
    return function(*arguments)


def _properties(ordinal: int) -> Properties:
    def attribute(number: int) -> int:
        return int(_call(what, runtime.deviceGetAttribute, number, ordinal))

    what = f"report the properties of GPU {ordinal}"
    name = _call(what, runtime.getDeviceProperties, ordinal)["name"]
    free_bytes, total_bytes = _call(what, runtime.memGetInfo)
    others = set(range(_call(what, runtime.getDeviceCount))) - {ordinal}
    return Properties(
        ordinal=ordinal,
        name=name.decode() if isinstance(name, bytes) else str(name),
        arch=f"sm_{attribute(_MAJOR)}{attribute(_MINOR)}",
        total_bytes=int(total_bytes),
        free_bytes=int(free_bytes),
        multiprocessors=attribute(_MULTIPROCESSORS),
        shared_bytes=attribute(_SHARED_BYTES),
        bus_id=str(_call(what, runtime.deviceGetPCIBusId, ordinal)),
        versions=f"CUDA driver {version_text(_call(what, runtime.driverGetVersion))}, "
        f"runtime {version_text(runtime_version())}",
        peers=frozenset(
            other for other in others if _call(what, runtime.deviceCanAccessPeer, ordinal, other)
        ),
    )
