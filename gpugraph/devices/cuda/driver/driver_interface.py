"""The interface between a CUDA device and its driver.

There are two implementations. `CupyDriver` (in `cupy_driver`) calls CUDA. `HostDriver` (in
`host_driver`) emulates a GPU on the host: the C++ compiler compiles the same kernel sources, and
streams execute their commands as late as events allow, so that a missing event causes an error. The
code that uses the interface is the same for both implementations.

Addresses are integers. Streams, events, modules, functions and graphs are opaque objects of the
driver. The commands on one stream are executed in order. Streams wait for each other only through
events.
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
"""The dtypes that `Driver.product` supports, with the size of an element in bytes."""


class DriverError(InternalError):
    """An error that CUDA has returned for a call, or for an earlier launch that failed.

    Args:
      status: CUDA's error number.
      fatal: whether the process can no longer use the GPU, because the GPU was lost or a kernel
        made an invalid memory access.
    """

    def __init__(self, message: str, status: int = 0, fatal: bool = False) -> None:
        super().__init__(None, None, message)
        self.status = status
        self.fatal = fatal


class Properties(NamedTuple):
    """The properties of a GPU.

    Args:
      arch: the architecture, such as `sm_90`.
      free_bytes: the free memory when the driver was opened.
      multiprocessors: the number of multiprocessors.
      shared_bytes: the maximum shared memory of a block.
      peers: the ordinals of the GPUs whose memory this GPU can access directly.
    """

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
        """The compute capability as an integer: 90 for 9.0."""
        return int(self.arch.removeprefix("sm_"))


class Geometry(NamedTuple):
    """The geometry of a launch: the number of thread blocks, the threads per block, and the bytes
    of dynamic shared memory per block.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0


class Product(NamedTuple):
    """A matrix product: out = a @ b, plus the bias and the addend unless their addresses are 0. If
    `relu` is true, Relu is applied to the sum.

    Matrices are row-major.

    Args:
      a, b, out: addresses. In memory, a is (m, k), or (k, m) with transpose_a. b is (k, n), or (n,
        k) with transpose_b.
      lda, ldb, ldo: the number of elements from one row to the next.
      stride_a, stride_b, stride_out: the number of elements from one matrix of the batch to the
        next, or 0 if the batch has only one matrix.
      dtype: the NumPy name of the dtype, or `bfloat16`.
      bias: the address of n numbers, which are added to each row.
      addend: the address of matrices with the layout of `out`, in separate memory.
      tf32: whether float32 operands may be rounded to 10 bits of mantissa.
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
        """Whether the product has no epilogue: no bias, addend or Relu."""
        return not (self.bias or self.addend or self.relu)

    def plain(self) -> Product:
        """Return the same product without bias, addend and Relu."""
        return self._replace(bias=0, addend=0, relu=False)

    @property
    def item_bytes(self) -> int:
        """The size of an element in bytes, or 0 if drivers don't support the dtype."""
        return ITEM_BYTES.get(self.dtype, 0)

    def stored_shapes(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Return the shapes that a, b and out have in memory, before any transpose."""
        a = (self.k, self.m) if self.transpose_a else (self.m, self.k)
        b = (self.n, self.k) if self.transpose_b else (self.k, self.n)
        return a, b, (self.m, self.n)

    def extent(self, shape: tuple[int, int], leading: int, stride: int) -> int:
        """Return the number of elements in memory from the first to the last element of a batch of
        matrices.

        Args:
          shape: the shape of one matrix in memory.
          leading: the number of elements from one row to the next.
          stride: the number of elements from one matrix to the next.
        """
        if not self.batch or not all(shape):
            return 0
        return (self.batch - 1) * stride + (shape[0] - 1) * leading + shape[1]

    def spans(self) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """Return the memory that the product reads, and the memory that it writes. The matrices of
        a batch and the gaps between them are one span.
        """
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
    """The driver of one GPU. Methods raise DriverError if CUDA reports an error. A method that only
    enqueues commands may raise the error of an earlier launch.
    """

    @property
    def properties(self) -> Properties:
        """The GPU's name, architecture, memory and limits."""

    # -- memory

    def free_bytes(self) -> int:
        """Return the number of bytes of the GPU's memory that no process has allocated."""

    def malloc(self, num_bytes: int) -> int | None:
        """Allocate device memory, aligned to 256 bytes, and return its address. If there is not
        enough memory, return None.
        """

    def free(self, address: int) -> None:
        """Free device memory."""

    def malloc_host(self, num_bytes: int) -> HostRegion | None:
        """Allocate pinned host memory and return it as a buffer. If there is not enough memory,
        return None.
        """

    def free_host(self, address: int) -> None:
        """Free pinned host memory."""

    # -- streams

    def stream(self, name: str) -> Stream:
        """Create a stream that does not synchronize with any other stream, including CUDA's legacy
        default stream.

        Args:
          name: a name for messages.
        """

    def event(self) -> Any:
        """Create an event, which can be recorded on a stream."""

    def record(self, event: Any, stream: Stream) -> None:
        """Record the event on the stream. The event occurs when the GPU has executed all commands
        that are currently enqueued on the stream.
        """

    def wait(self, stream: Stream, event: Any) -> None:
        """Make all commands that are enqueued on the stream after this call wait for the event."""

    def is_done(self, event: Any) -> bool:
        """Return whether the event has occurred, without waiting."""

    def wait_for(self, event: Any) -> None:
        """Wait on the host until the event has occurred. Other threads may use the driver during
        the wait.
        """

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait until a stream, or every stream of the driver, has executed its commands. Raise the
        error of a launch that failed.
        """

    # -- copies, all asynchronous

    def copy_in(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy from host memory to the device. The copy is asynchronous only if the host
        memory is pinned.
        """

    def copy_out(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy from device memory to host memory."""

    def copy(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy within device memory."""

    def copy_peer(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: Stream
    ) -> None:
        """Enqueue a copy from another GPU's memory, on a stream of this GPU.

        Args:
          source_driver: the driver of the other GPU.
        """

    # -- kernels

    def compile(self, source: str, name: str) -> Any:
        """Compile and load a CUDA source, and return the module. Compiled code is cached on disk.

        If the source does not compile, raises DriverError with the compiler's log and the path of a
        file that contains the source.
        """

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
        """Return a callable that launches a function of a module. This method prepares everything
        that does not change between launches.

        Args:
          arguments: values of type `int` (64 bits, or an address) or `float` (passed as a double).
            If the last parameter is a structure of 64-bit words, its words are the last arguments.
          reads, writes: the memory that the launch accesses, for drivers that detect hazards
            between streams.
        """

    # -- matrix products

    def product(
        self, product: Product, workspace: tuple[int, int], stream: Stream
    ) -> Callable[[], None] | None:
        """Return a callable that computes a product with cublasLt.

        Return None if cublasLt has no algorithm for the product. The caller then uses another
        kernel.

        Args:
          workspace: the address and the size in bytes of the workspace.
        """

    # -- convolutions

    def convolution(
        self, convolution: Any, workspace: tuple[int, int], stream: Stream
    ) -> Callable[[], None] | None:
        """Return a callable that computes a convolution (`convolution_record`) with cuDNN.

        Return None if cuDNN is not installed or has no plan for the convolution. The caller then
        uses another kernel.

        Args:
          workspace: the address and the size in bytes of the workspace.
        """

    @property
    def cudnn(self) -> str:
        """cuDNN's version, or "" if cuDNN is not installed."""

    # -- captured work

    def capture(self, stream: Stream, work: Callable[[], None]) -> Callable[[], None]:
        """Call `work` in a capture. Return a callable that launches the captured commands as one
        graph on the same stream.

        `work` enqueues commands on this stream, and on streams that events connect to it.
        """

    def close(self) -> None:
        """Release the driver's streams, modules and memory."""
