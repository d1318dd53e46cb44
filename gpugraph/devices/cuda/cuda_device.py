"""The CUDA device: a GPU with memory from a BFC allocator, kernels on one stream, and transfers to
and from the host.

The compiler first tries to bind a kernel through `kernels`, a `Launcher`, which enqueues launches
on the stream. If this binding fails, the compiler falls back to `bind`, which runs the NumPy `Call`
on copies in host memory, and reports this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any

from gpugraph.base.dtypes import DType
from gpugraph.devices.cuda.driver.driver_interface import Driver, DriverError
from gpugraph.devices.cuda.fetch_to_host import fetching
from gpugraph.devices.cuda.kernel_refusals import FlagMemory, Refusals, late
from gpugraph.devices.cuda.launching.enqueued_work import is_blocking
from gpugraph.devices.cuda.launching.launcher import Launcher
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.cuda.transfers.host_fallback import OnHost
from gpugraph.devices.cuda.transfers.host_swaps import HostSwap
from gpugraph.devices.cuda.transfers.memory_regions import DeviceSubAllocator, PinnedSubAllocator
from gpugraph.devices.cuda.transfers.pinned_staging import Staging
from gpugraph.devices.device import Block, Device, HostDevice
from gpugraph.kernel import Kernel, KernelContext, reference
from gpugraph.memory import BFCAllocator, GPUBFCAllocator, human_readable_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray


PINNED_BYTES = 8 << 30
"""The maximum number of bytes of pinned host memory for each device."""

WORKSPACE_BYTES = 32 << 20
"""Bytes of workspace for cublasLt's matrix products, as NVIDIA recommends for its newest GPUs. A
device with little memory uses a sixteenth of it.
"""


class CudaDevice(Device):
    """One GPU, or one of several devices into which a GPU is divided. `driver` controls the GPU."""

    has_kernels = True

    def __init__(
        self, name: str, index: int, driver: Driver, memory_limit: int, allow_growth: bool = True
    ) -> None:
        allocator = GPUBFCAllocator(
            DeviceSubAllocator(driver), memory_limit, f"GPU_{index}_bfc", allow_growth
        )
        about = driver.properties
        description = (
            f"device: {about.ordinal}, name: {about.name}, pci bus id: {about.bus_id}, "
            f"compute capability: {about.arch.removeprefix('sm_')}"
        )
        super().__init__(name, "GPU", allocator, memory_limit, description)
        self.driver = driver
        self.shared_bytes = about.shared_bytes
        self.lock = RLock()
        self.compute = driver.stream("compute")
        self.pinned = BFCAllocator(
            PinnedSubAllocator(driver), PINNED_BYTES, f"gpu_host_{index}_bfc", allow_growth=True
        )
        self.staging = Staging(driver, self.compute, self.pinned, allocator, self.lock)
        self._flags = FlagMemory(self.pinned, self.synchronize)
        self._workspace: Block | None = None
        self._kernels: Launcher | None = None
        self._peer_done = driver.event()
        streams = (self.compute, self.staging.inward, self.staging.outward)
        self._ends = [(driver.event(), stream) for stream in streams]

    @property
    def kernels(self) -> Launcher:
        """The device's `Launcher`, which binds kernels. The first access allocates the workspace
        for matrix products.
        """
        if self._kernels is None:
            with self.lock:  # another thread may bind kernels, too
                self._kernels = self._kernels or self._launcher()
        return self._kernels

    def _launcher(self) -> Launcher:
        size = min(WORKSPACE_BYTES, self.attributes.memory_limit_bytes // 16)
        self._workspace = self.take(size, "workspace of matrix products")
        address = self._workspace.address if self._workspace is not None else None
        workspace = (address or 0, size if address else 0)
        return Launcher(self.driver, self.compute, workspace, self.lock)

    def take(self, num_bytes: int, owner: str, block: Block | None = None) -> Block | None:
        """Allocate memory in the same way as `Device.take`. If there is not enough memory, the
        memory that transfers keep for reuse is released, and the device tries again.
        """
        block = Block(self, None, None) if block is None else block
        if self.allocator.allocate_for(block, num_bytes, optional=True):
            self.note_owner(block, num_bytes, owner)
            return block
        with self.lock:
            self.staging.give_up()
        return super().take(num_bytes, owner, block)

    # -- arrays

    def has_array(self, array: Any) -> bool:
        """Return whether an array is in GPU memory rather than in host memory."""
        return isinstance(array, Array)

    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> Array:
        """Return the GPU array at `address`."""
        return Array(address or 0, shape, dtype.base_dtype.as_numpy_dtype)

    def owns(self, array: Any) -> bool:
        """Return whether kernels of this device can use the array. They can use GPU arrays. They
        can also use host arrays that contain strings or are empty.
        """
        return isinstance(array, Array) or bool(array.dtype == object or array.size == 0)

    def write(self, array: Any, value: NDArray[Any]) -> None:
        """Enqueue a copy of the host array `value` to `array`. If `array` is in host memory, write
        it immediately.
        """
        if isinstance(array, Array):
            self.staging.write(array, value)
        else:
            array[...] = value

    def read(self, array: Any) -> NDArray[Any]:
        """Wait until all enqueued commands have ended, and return a copy of the array on the host.
        Other threads may enqueue commands meanwhile. Raises DriverError if one of the commands has
        failed.
        """
        if not isinstance(array, Array):
            return array.copy()
        try:
            return self.staging.read(array)
        except DriverError as error:
            raise late(error, self.name) from error

    def fetching(self, array: Any) -> Any:
        """Return an object that fetches the array asynchronously through pinned memory. Return None
        if the array is on the host or is empty.
        """
        with self.lock:
            if isinstance(array, Array) and array.nbytes > 0:
                return fetching(self.staging, array, self.name)
            return None

    def copy_from(self, source: Device, array: Any, target: Any) -> Callable[[], Any]:
        """Return a callable that copies `array` on `source` to `target` on this device. The copy is
        peer to peer between GPUs. Otherwise it goes through host memory.
        """
        if isinstance(source, CudaDevice) and isinstance(target, Array):
            return lambda: self._copy_peer(source, array, target)
        if isinstance(source, HostDevice):
            return lambda: self.write(target, array)
        return lambda: self.write(target, source.read(array))

    def _copy_peer(self, source: CudaDevice, array: Array, target: Array) -> None:
        """Copy from another GPU. The copy comes after all commands that are already enqueued on
        either GPU, and before commands that are enqueued later.
        """
        if not array.nbytes:
            return
        driver, other = self.driver, source.driver
        first, then = sorted((self, source), key=id)
        with first.lock, then.lock:
            other.record(source._peer_done, source.compute)
            driver.wait(self.compute, source._peer_done)
            driver.copy_peer(target.address, array.address, other, array.nbytes, self.compute)
            driver.record(self._peer_done, self.compute)
            other.wait(source.compute, self._peer_done)

    def swapping(self, array: Array, target: Array) -> HostSwap:
        """Return an object that copies a swapped tensor to the host and back to `target`, through
        pinned memory on the streams for transfers.
        """
        with self.lock:
            return HostSwap(self.staging, array, target)

    # -- kernels

    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[Any]
    ) -> Callable[[], Any]:
        """Bind the kernel's NumPy `Call`, as a fallback, to copies of the arrays in host memory."""
        return OnHost(self, reference(kernel), context, arrays)

    def memory_note(self) -> str:
        """Return text for out-of-memory messages: the free and the total memory of the whole GPU,
        including memory that other processes use.
        """
        about = self.driver.properties
        return (
            f"; the GPU itself has {human_readable_bytes(self.driver.free_bytes())} free of "
            f"{human_readable_bytes(about.total_bytes)}"
        )

    def capture(self, work: Callable[[], Any]) -> Callable[[], None]:
        """Call `work` in a CUDA capture, which records the commands that `work` enqueues in a CUDA
        graph instead of executing them. Return a callable that launches the graph.

        Raises DriverError if a command can't be captured, or if CUDA_LAUNCH_BLOCKING is set.
        """
        if is_blocking():
            raise DriverError("CUDA_LAUNCH_BLOCKING is set: launches are waited for one by one")
        return self.driver.capture(self.compute, work)

    def synchronize(self) -> None:
        """Wait until all enqueued commands have ended. Other threads may enqueue commands
        meanwhile.
        """
        with self.lock:  # not during another thread's capture
            for event, stream in self._ends:
                self.driver.record(event, stream)
        for event, _ in self._ends:
            self.driver.wait_for(event)

    def refusals(self) -> Refusals:
        """Return a new `Refusals` for the error flags of a plan's kernels on this device."""
        return Refusals(self._flags)

    def close(self) -> None:
        """Release the memory of transfers, the error flags and the workspace. Then close the
        driver, which frees all memory.
        """
        with suppress(DriverError):  # an earlier run has raised the error
            self.staging.give_up()
        self._flags.close()
        if self._workspace is not None:
            self._workspace.release()
        self.driver.close()
