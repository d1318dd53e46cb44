"""What a CUDA device needs of what drives it: a dozen verbs, said once.

`CupyDriver` (in `cupy_driver`, the one file that imports CuPy) says them to CUDA. `HostDriver` (in
`host_driver`) plays them on the host: the same kernel texts compiled by the C++ compiler, streams
that run what they were told as late as events allow, so that a missing event shows. All that is
above is the same code for both.

Addresses are integers. Streams, events, modules, functions and graphs are the driver's own objects.
What is launched on a stream runs in order; streams wait for each other by events alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from gpugraph.base.errors import InternalError
from gpugraph.memory import HostRegion

Stream = Any

Span = tuple[int, int]
"""Address and bytes of what a launch reads or writes."""


class DriverError(InternalError):
    """A call that CUDA refused, or an earlier launch that failed: `status` is CUDA's number.

    fatal: nothing can be done on this GPU any longer by this process (a lost GPU, a kernel that
    wrote where it must not).
    """

    def __init__(self, message: str, status: int = 0, fatal: bool = False) -> None:
        super().__init__(None, None, message)
        self.status = status
        self.fatal = fatal


class Properties(NamedTuple):
    """What is known of a GPU. arch: `sm_90`. peers: the ordinals whose memory it can copy."""

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
    """How a kernel is launched: blocks, threads of a block, bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0


class Product(NamedTuple):
    """out = a @ b + bias + addend, where there are such, then Relu, if asked; `batch` times.

    Row-major. a: (m, k), or (k, m) where transpose_a; b likewise; leading sizes are those of a row
    in elements, strides from one of the batch to the next, 0: the same for all. dtype: NumPy's or
    `bfloat16`. bias: n numbers, for each row of each of the batch. addend: a matrix that lies as
    `out` does, and elsewhere. tf32: float32 may be rounded to 10 bits of mantissa first.
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
        """Whether a @ b is all that it is."""
        return not (self.bias or self.addend or self.relu)

    def plain(self) -> Product:
        """The same without what comes after a @ b."""
        return self._replace(bias=0, addend=0, relu=False)


class Driver(Protocol):
    """One GPU. Methods raise DriverError; those that only enqueue may raise what failed earlier."""

    @property
    def properties(self) -> Properties: ...

    # -- memory

    def free_bytes(self) -> int:
        """The GPU's memory that no process has, now."""

    def malloc(self, num_bytes: int) -> int | None:
        """Device memory aligned to 256 bytes, or None where there is not so much."""

    def free(self, address: int) -> None: ...

    def malloc_host(self, num_bytes: int) -> HostRegion | None:
        """Pinned host memory as a buffer, or None where there is not so much."""

    def free_host(self, address: int) -> None: ...

    # -- streams

    def stream(self, name: str) -> Stream:
        """A new stream that waits for no other."""

    def event(self) -> Any: ...

    def record(self, event: Any, stream: Stream) -> None: ...

    def wait(self, stream: Stream, event: Any) -> None:
        """What comes next on the stream runs after what the event was recorded after."""

    def is_done(self, event: Any) -> bool: ...

    def synchronize(self, stream: Stream | None = None) -> None:
        """Waits for a stream, or for all; raises what failed on the way."""

    # -- copies, all asynchronous

    def copy_in(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """From host memory (pinned: truly asynchronous) to the device's."""

    def copy_out(self, target: int, source: int, num_bytes: int, stream: Stream) -> None: ...

    def copy(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Within the device."""

    def copy_peer(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: Stream
    ) -> None:
        """From another GPU's memory, on a stream of this one."""

    # -- kernels

    def compile(self, text: str, name: str) -> Any:
        """A module of a CUDA text; DriverError with the compiler's log, the text kept in a file
        whose path is named. Compiled once: a cache on disk keeps it."""

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
        """What launches the function when called. Arguments: `int` (a 64-bit one or an address),
        `float` (a double); what a last parameter that is a structure of 64-bit words takes, word
        by word. All that can be prepared is.

        reads, writes: the memory it touches, for drivers that look for hazards between streams."""

    # -- matrix products

    def product(
        self, product: Product, workspace: tuple[int, int], stream: Stream
    ) -> Callable[[], None] | None:
        """What computes a product when called, by the vendor's library with a workspace (address,
        bytes) of ours; None where it has none for it (the caller has a kernel of its own)."""

    # -- captured work

    def capture(self, stream: Stream, work: Callable[[], None]) -> Callable[[], None]:
        """Calls `work`, which enqueues on the stream (and on what is joined to it by events), and
        returns what launches all of that at once on the same stream."""

    def close(self) -> None:
        """Gives back what the driver holds."""
