"""The interface between a CUDA device and its driver.

`CupyDriver` (in `cupy_driver`, the one file that imports CuPy) calls CUDA. `HostDriver` (in
`host_driver`) emulates a GPU on the host: the same kernel sources, compiled by the C++ compiler, on
streams that run their commands as late as events allow, so that a missing event shows. The code
above the interface is the same for both.

Addresses are integers. Streams, events, modules, functions and graphs are opaque objects of the
driver. Work on a stream runs in order; streams wait for each other by events alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from gpugraph.base.errors import InternalError
from gpugraph.memory import HostRegion

Stream = Any

Span = tuple[int, int]
"""The address and size in bytes of memory that a launch reads or writes."""

ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
"""The dtypes that `Driver.product` may multiply, and the size of an element in bytes."""


class DriverError(InternalError):
    """A call that CUDA refused, or an earlier launch that failed: `status` is CUDA's number.

    fatal: this process can't use the GPU any longer (a lost GPU, an invalid write of a kernel).
    """

    def __init__(self, message: str, status: int = 0, fatal: bool = False) -> None:
        super().__init__(None, None, message)
        self.status = status
        self.fatal = fatal


class Properties(NamedTuple):
    """Properties of a GPU. arch: `sm_90`. peers: the ordinals of GPUs whose memory it can copy."""

    ordinal: int
    name: str
    arch: str
    total_bytes: int
    free_bytes: int
    multiprocessors: int
    shared_bytes: int
    bus_id: str
    versions: str
    peers: frozenset[int] = frozenset()

    @property
    def capability(self) -> int:
        """The compute capability times 10: 90."""
        return int(self.arch.removeprefix("sm_"))


class Geometry(NamedTuple):
    """The geometry of a launch: blocks, threads per block, bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0


class Product(NamedTuple):
    """A matrix product: out = a @ b, + bias and + addend unless these are 0, then Relu if `relu`.

    Row-major. a: (m, k), or (k, m) with transpose_a; b likewise; lda, ldb, ldo: elements from row
    to row; strides: elements from one matrix of the batch to the next, 0 for the same matrix.
    dtype: NumPy's name or `bfloat16`. bias: the address of n numbers, added to each row. addend:
    the address of matrices with the layout of `out`, in other memory. tf32: float32 may be rounded
    to 10 bits of mantissa first.
    """

    m: int
    n: int
    k: int
    dtype: str
    a: int
    b: int
    out: int
    lda: int
    ldb: int
    ldo: int
    transpose_a: bool = False
    transpose_b: bool = False
    batch: int = 1
    stride_a: int = 0
    stride_b: int = 0
    stride_out: int = 0
    bias: int = 0
    addend: int = 0
    relu: bool = False
    tf32: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it has no epilogue."""
        return not (self.bias or self.addend or self.relu)

    def plain(self) -> Product:
        """Return the product without its epilogue."""
        return self._replace(bias=0, addend=0, relu=False)

    @property
    def item_bytes(self) -> int:
        """The size of an element in bytes; 0 for a dtype that no driver multiplies."""
        return ITEM_BYTES.get(self.dtype, 0)

    def stored_shapes(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Return the shapes of a, b and out as they are in memory."""
        a = (self.k, self.m) if self.transpose_a else (self.m, self.k)
        b = (self.n, self.k) if self.transpose_b else (self.k, self.n)
        return a, b, (self.m, self.n)

    def extent(self, shape: tuple[int, int], leading: int, stride: int) -> int:
        """Return the elements from the first to the last of a batch of matrices, inclusive."""
        if not self.batch or not all(shape):
            return 0
        return (self.batch - 1) * stride + (shape[0] - 1) * leading + shape[1]

    def spans(self) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """Return the memory that it reads and writes; for a batch, from first to last element."""
        size = self.item_bytes
        a, b, out = self.stored_shapes()
        out_bytes = self.extent(out, self.ldo, self.stride_out) * size
        reads = [
            (self.a, self.extent(a, self.lda, self.stride_a) * size),
            (self.b, self.extent(b, self.ldb, self.stride_b) * size),
        ]
        if self.bias:
            reads.append((self.bias, self.n * size))
        if self.addend:
            reads.append((self.addend, out_bytes))
        return tuple(reads), ((self.out, out_bytes),)


class Driver(Protocol):
    """One GPU. Methods raise DriverError, those that only enqueue also for earlier launches."""

    @property
    def properties(self) -> Properties:
        """The GPU's name, architecture, memory and limits."""

    # -- memory

    def free_bytes(self) -> int:
        """Return the amount of the GPU's memory that no process has allocated."""

    def malloc(self, num_bytes: int) -> int | None:
        """Allocate device memory aligned to 256 bytes, or return None if there is not enough."""

    def free(self, address: int) -> None:
        """Free device memory."""

    def malloc_host(self, num_bytes: int) -> HostRegion | None:
        """Allocate pinned host memory as a buffer, or return None if there is not enough."""

    def free_host(self, address: int) -> None:
        """Free pinned host memory."""

    # -- streams

    def stream(self, name: str) -> Stream:
        """Create a stream that waits for no other."""

    def event(self) -> Any:
        """Create an event."""

    def record(self, event: Any, stream: Stream) -> None:
        """Record the event on the stream: it occurs when all work enqueued so far is done."""

    def wait(self, stream: Stream, event: Any) -> None:
        """Make work that is enqueued on the stream later wait for the event."""

    def is_done(self, event: Any) -> bool:
        """Return whether the event has occurred."""

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for a stream, or for all; raise the error of a launch that failed."""

    # -- copies, all asynchronous

    def copy_in(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Copy host memory (pinned, to be truly asynchronous) to the device."""

    def copy_out(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Copy the device's memory to host memory."""

    def copy(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Copy within the device."""

    def copy_peer(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: Stream
    ) -> None:
        """Copy another GPU's memory, on a stream of this one."""

    # -- kernels

    def compile(self, source: str, name: str) -> Any:
        """Return the module of a CUDA source, which is cached on disk.

        DriverError with the compiler's log and the path of a file with the source."""

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
        """Return a callable that launches the function, prepared as far as possible.

        arguments: `int` (64 bits, or an address) and `float` (a double); for a last parameter that
        is a structure of 64-bit words, its words. reads, writes: the memory that it accesses, for
        drivers that detect hazards between streams.
        """

    # -- matrix products

    def product(
        self, product: Product, workspace: tuple[int, int], stream: Stream
    ) -> Callable[[], None] | None:
        """Return a callable that computes a product by cublasLt, with a workspace (address, bytes).
        None if cublasLt has no algorithm for it; the caller then uses its own kernel."""

    # -- captured work

    def capture(self, stream: Stream, work: Callable[[], None]) -> Callable[[], None]:
        """Call `work`, which enqueues on the stream (and on streams that events join to it), and
        return a callable that launches all of that at once on the same stream."""

    def close(self) -> None:
        """Release the driver's resources."""
