"""The driver of a CUDA GPU through CuPy's bindings (`cupy_bindings`). One Python call is one CUDA
call.

Launches are prepared when they are bound. A launch then consists of two calls of C functions whose
arguments need no conversion. CuPy's bindings are compiled and take plain integers. A call takes 0.1
to 0.2 us, compared with 0.7 to 0.9 us through ctypes (measured with functions that do nothing).

Each call makes the context of its GPU the thread's current context, and afterwards restores the
thread's previous context. So any thread may use a driver, one thread may use several drivers, and
the current GPU of other libraries in the process (PyTorch, CuPy) does not change.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.garbage_collection import nothing_collected
from gpugraph.devices.cuda.driver import cupy_bindings as cupy
from gpugraph.devices.cuda.driver.cuda_statuses import NOT_READY, OUT_OF_MEMORY, PEER_ACCESS_ALREADY
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
from gpugraph.devices.cuda.driver.owned_handles import Owned
from gpugraph.devices.cuda.driver.peer_copies import PeerCopies
from gpugraph.memory import HostRegion

Compiler = Callable[[str, str, str], bytes]
"""A function that compiles a source to a cubin. Its arguments are the source, the architecture such
as `sm_90`, and a name for messages.
"""

ProductBinder = Callable[[Product, tuple[int, int], int], Callable[[], None] | None]
"""A function that binds a product. Its arguments are the product, a workspace (address, bytes) and
a stream; see `CupyDriver.product`.
"""

_MAX_DYNAMIC_SHARED_BYTES = 8
"""The CUfunction_attribute that must be raised for launches with more than 48 KiB of shared
memory.
"""


class CupyDriver:
    """The driver of one GPU (see `Driver`). Streams are CUDA's handles, as integers.

    Args:
      compiler: a function that compiles kernel sources.
      make_products: a function that is called once, for the first matrix product. It returns the
        function that binds products. If `make_products` is None, `product` returns None.
      make_convolutions: a function that is called once, for the first convolution. It returns cuDNN
        (`Cudnn`), or None.
    """

    def __init__(
        self,
        ordinal: int,
        compiler: Compiler,
        make_products: Callable[[], ProductBinder] | None = None,
        make_convolutions: Callable[[], Any] | None = None,
    ) -> None:
        if cupy.PROBLEM:
            raise DriverError(f"CuPy can't be used: {cupy.PROBLEM}")
        self._compiler = compiler
        self._make_products = make_products
        self._products: ProductBinder | None = None
        self._make_convolutions = make_convolutions
        self._convolutions: Any = None
        self._lock = new_lock()
        self._closed = False
        self._free_by_address: dict[int, Callable[[int], None]] = {}
        self._streams: dict[int, str] = {}
        self._modules: dict[str, int] = {}
        self._shared: dict[int, int] = {}
        self._context = cupy.context_of(ordinal)
        self._properties = cupy.within(self._context, cupy.properties_of, ordinal)
        self._peer_copies = PeerCopies(self, self._copy_between)

    @property
    def properties(self) -> Properties:
        """The GPU's properties.

        `free_bytes` is the free memory at the time when the driver was created.
        """
        return self._properties

    def _call(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return cupy.call(what, cupy.within, self._context, function, *arguments)

    # -- memory

    def free_bytes(self) -> int:
        """Return the number of bytes of the GPU's memory that no process has allocated."""
        return int(self._call("report its memory", cupy.runtime.memGetInfo)[0])

    def malloc(self, num_bytes: int) -> int | None:
        """Allocate device memory and return its address. If there is not enough memory, return
        None.
        """
        what, free = "allocate device memory", cupy.runtime.free
        return self._allocate(num_bytes, what, free, cupy.runtime.malloc, num_bytes)

    def free(self, address: int) -> None:
        """Free device memory. Do nothing after `close`, which frees all memory."""
        self._free(f"free the memory at {address:#x}", cupy.runtime.free, address)

    def malloc_host(self, num_bytes: int) -> HostRegion | None:
        """Allocate pinned host memory and return it. If there is not enough memory, return None."""
        flags = cupy.runtime.hostAllocPortable  # pinned for all GPUs
        what, free = "allocate pinned host memory", cupy.runtime.freeHost
        address = self._allocate(num_bytes, what, free, cupy.runtime.hostAlloc, num_bytes, flags)
        if address is None:
            return None
        buffer = (ctypes.c_char * num_bytes).from_address(address)
        return HostRegion(address, memoryview(buffer).cast("B"))

    def free_host(self, address: int) -> None:
        """Free pinned host memory. Do nothing after `close`, which frees all memory."""
        self._free(f"free the pinned memory at {address:#x}", cupy.runtime.freeHost, address)

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
        """Create a stream.

        Args:
          name: a name for messages.
        """
        what = f"create the stream {name}"
        handle = self._call(
            what, cupy.runtime.streamCreateWithFlags, cupy.runtime.streamNonBlocking
        )
        with self._lock:
            self._streams[handle] = name
        return handle

    def event(self) -> Any:
        """Create an event."""
        flags = cupy.runtime.eventDisableTiming
        handle = self._call("create an event", cupy.runtime.eventCreateWithFlags, flags)
        return Owned(handle, cupy.destroyer(self._context, cupy.runtime.eventDestroy))

    def record(self, event: Any, stream: Stream) -> None:
        """Record the event on the stream."""
        self._call("record an event", cupy.runtime.eventRecord, event.handle, stream)

    def wait(self, stream: Stream, event: Any) -> None:
        """Make commands that are enqueued on the stream later wait for the event."""
        self._call("wait for an event", cupy.runtime.streamWaitEvent, stream, event.handle)

    def is_done(self, event: Any) -> bool:
        """Return whether the event has occurred."""
        status = self._call("query an event", cupy.runtime.eventQuery, event.handle)
        if status not in (0, NOT_READY):
            self._call("query an event", cupy.runtime.check_status, status)
        return bool(status == 0)

    def wait_for(self, event: Any) -> None:
        """Wait on the host until the event has occurred."""
        self._call("wait for an event", cupy.runtime.eventSynchronize, event.handle)

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait until a stream, or every stream of this driver, has executed its commands."""
        if stream is None:
            for stream in list(self._streams):  # streams of other drivers may be in a capture
                self.synchronize(stream)
        else:
            what = f"finish the stream {self._streams.get(stream, stream)}"
            self._call(what, cupy.runtime.streamSynchronize, stream)

    # -- copies

    def copy_in(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy from host memory to GPU memory."""
        self._copy("to the GPU", target, source, num_bytes, cupy.runtime.memcpyHostToDevice, stream)

    def copy_out(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy from GPU memory to host memory."""
        self._copy(
            "to the host", target, source, num_bytes, cupy.runtime.memcpyDeviceToHost, stream
        )

    def copy(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy within GPU memory."""
        kind = cupy.runtime.memcpyDeviceToDevice
        self._copy("within the GPU", target, source, num_bytes, kind, stream)

    def _copy(
        self, where: str, target: int, source: int, num_bytes: int, kind: int, stream: Stream
    ) -> None:
        what = f"copy {num_bytes} bytes {where}"
        self._call(what, cupy.runtime.memcpyAsync, target, source, num_bytes, kind, stream)

    def copy_peer(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: Stream
    ) -> None:
        """Enqueue a copy from another GPU's memory. The copy is direct if a trial copy was correct.
        Otherwise the copy goes through host memory.

        Args:
          source_driver: the driver of the other GPU.
        """
        if source_driver.properties.ordinal == self._properties.ordinal:  # parts of one GPU
            self.copy(target, source, num_bytes, stream)
        else:
            self._peer_copies.copy(target, source, source_driver, num_bytes, stream)

    def _copy_between(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: Stream
    ) -> None:
        """Enqueue CUDA's copy between two GPUs. If neither GPU can access the memory of the other,
        CUDA copies through the host.
        """
        other, this = source_driver.properties.ordinal, self._properties.ordinal
        what = f"copy {num_bytes} bytes from GPU {other} to GPU {this}"
        self._call(
            what, cupy.runtime.memcpyPeerAsync, target, this, source, other, num_bytes, stream
        )

    def enable_peer(self, other: int) -> None:
        """Enable direct access to another GPU's memory, if direct access is possible."""
        if other not in self._properties.peers:
            return
        try:
            self._call(
                f"access the memory of GPU {other}", cupy.runtime.deviceEnablePeerAccess, other
            )
        except DriverError as error:
            if error.status != PEER_ACCESS_ALREADY:
                raise

    # -- kernels

    def compile(self, source: str, name: str) -> int:
        """Compile and load a source. Return the module's handle, which is valid until `close`."""
        with self._lock:
            module = self._modules.get(source)
        if module is None:
            cubin = self._compiler(source, self._properties.arch, name)
            module = int(self._call(f"load the kernels {name}", cupy.driver.moduleLoadData, cubin))
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
        """Return a callable that launches a kernel. `reads` and `writes` have no effect in this
        driver.
        """
        find = cupy.driver.moduleGetFunction
        handle = self._call(f"find the kernel {function}", find, module, function)
        shared = geometry.shared_bytes
        self._reserve_shared(function, handle, shared)
        sizes, parameters = (*geometry.grid, *geometry.block, shared), Parameters(arguments)
        launch = partial(cupy.driver.launchKernel, handle, *sizes, stream, parameters.address, 0)
        return self._repeated(f"launch {function} ({geometry})", launch, parameters)

    def _reserve_shared(self, function: str, handle: int, shared: int) -> None:
        """Raise the limit of the kernel's dynamic shared memory. All launches of the kernel have
        this limit.
        """
        with self._lock:
            if shared <= self._shared.get(handle, 0):
                return
            what = f"give the kernel {function} {shared} bytes of shared memory"
            self._call(
                what, cupy.driver.funcSetAttribute, handle, _MAX_DYNAMIC_SHARED_BYTES, shared
            )
            self._shared[handle] = shared

    def _repeated(
        self, what: str, launch: Callable[[], object], owner: object
    ) -> Callable[[], None]:
        """Return a callable that calls `launch` while this GPU is current. The callable keeps
        `owner` alive.
        """
        return cupy.repeated(what, self._context, launch, owner)

    # -- matrix products

    def product(
        self, product: Product, workspace: tuple[int, int], stream: Stream
    ) -> Callable[[], None] | None:
        """Return a callable that computes a product, or None if cublasLt has no algorithm for
        it.
        """
        if self._make_products is None:
            return None
        return self._bound("a matrix product", self._bind_product, product, workspace, stream)

    def _bound(
        self, noun: str, bind: Callable[..., Any], *arguments: Any
    ) -> Callable[[], None] | None:
        """Call `bind`, which binds a product or convolution of a library. Return a callable that
        launches it on this GPU, or None if `bind` returns None.

        Args:
          noun: the name of the operation, for error messages.
        """
        launch = self._call(f"bind {noun}", bind, *arguments)
        return None if launch is None else self._repeated(f"launch {noun}", launch, None)

    def _bind_product(
        self, product: Product, workspace: tuple[int, int], stream: Stream
    ) -> Callable[[], None] | None:
        if self._products is None:
            assert self._make_products is not None
            self._products = self._make_products()
        return self._products(product, workspace, stream)

    # -- convolutions

    @property
    def cudnn(self) -> str:
        """cuDNN's version, or "" if cuDNN is not installed."""
        library = self._library_of_convolutions()
        return "" if library is None else str(library.version)

    def convolution(
        self, convolution: Any, workspace: tuple[int, int], stream: Stream
    ) -> Callable[[], None] | None:
        """Return a callable that computes a convolution, or None if cuDNN can't compute it."""
        library = self._library_of_convolutions()
        if library is None:
            return None
        return self._bound("a convolution", library.bind, convolution, workspace, stream)

    def _library_of_convolutions(self) -> Any:
        make = self._make_convolutions
        if make is not None:
            try:
                self._convolutions = self._call("open cuDNN", make)
            finally:
                self._make_convolutions = None
        return self._convolutions

    # -- captured work

    def capture(self, stream: Stream, work: Callable[[], None]) -> Callable[[], None]:
        """Capture the commands that `work` enqueues as a CUDA graph. Return a callable that
        launches the graph.
        """
        with nothing_collected():
            graph = self._graph(stream, work)
        try:
            handle = self._call("instantiate a graph", cupy.runtime.graphInstantiate, graph)
        finally:
            self._destroy_graph(graph)
        destroy = cupy.destroyer(self._context, cupy.runtime.graphExecDestroy)
        captured = Owned(handle, destroy)  # CUDA keeps the graph while it is executed
        self._call("upload a graph", cupy.runtime.graphUpload, handle, stream)
        launch = partial(cupy.runtime.graphLaunch, handle, stream)
        return self._repeated("launch captured work", launch, captured)

    def _graph(self, stream: Stream, work: Callable[[], None]) -> int:
        mode = cupy.runtime.streamCaptureModeThreadLocal  # other threads are not restricted
        self._call("begin to capture a stream", cupy.runtime.streamBeginCapture, stream, mode)
        try:
            work()
        except BaseException:
            with contextlib.suppress(DriverError):  # the graph is invalid, and its error was raised
                self._destroy_graph(
                    self._call("end a capture", cupy.runtime.streamEndCapture, stream)
                )
            raise
        return int(self._call("capture the stream's work", cupy.runtime.streamEndCapture, stream))

    def _destroy_graph(self, graph: int) -> None:
        if graph:
            self._call("destroy a graph", cupy.runtime.graphDestroy, graph)

    def close(self) -> None:
        """Wait for all commands, then release streams, modules and memory. They must not be used
        afterwards. Errors of a lost GPU are ignored.
        """
        with contextlib.suppress(DriverError):
            self._call("close cublasLt and cuDNN", self._release_libraries)
        self._peer_copies.close()
        with self._lock:
            self._closed = True
            streams, self._streams = list(self._streams), {}
            modules, self._modules = list(self._modules.values()), {}
            memory, self._free_by_address = list(self._free_by_address.items()), {}
        calls: list[tuple[Any, ...]] = [
            (cupy.runtime.streamSynchronize, stream) for stream in streams
        ]
        calls += [(cupy.runtime.streamDestroy, stream) for stream in streams]
        calls += [(cupy.driver.moduleUnload, module) for module in modules]
        calls += [(free, address) for address, free in memory]
        for release, *handles in calls:
            with contextlib.suppress(DriverError):  # a lost GPU has nothing left to release
                self._call("close the GPU", release, *handles)

    def _release_libraries(self) -> None:
        self._products = self._make_products = None
        self._convolutions = self._make_convolutions = None
