"""Device: a memory space, and the way kernels run in it.

A device owns an allocator; its arrays are views of memory from that allocator. It binds kernels to
callables, copies arrays in and out, and checks whether an array is in its memory. `HostDevice`
does so with NumPy in host memory; the CPU is one, and so is each virtual GPU. Other devices derive
from `Device`.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import OBJECTS, DType
from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.base.interruptions.signal_handlers import uninterrupted_finalizer
from gpugraph.devices.out_of_memory import out_of_memory, tensor_words
from gpugraph.kernel import Kernel, KernelContext, reference
from gpugraph.memory import Allocator, AllocatorWrapper, BFCAllocator

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DeviceAttributes(NamedTuple):
    """A device's full name, type, memory limit in bytes, incarnation and description."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int
    physical_device_desc: str


class Block:
    """An array and the allocation that it views.

    `release` deallocates the memory, once. So does the end of the last reference to the block:
    memory that several plans hold (a variable's) is freed when the last of them drops it.
    """

    __slots__ = ("address", "array", "device")

    def __init__(self, device: Device, address: int | None, array: Any) -> None:
        self.device = device
        self.address = address
        self.array = array

    def read(self) -> Any:
        """Return a host copy of the array, after all work that is enqueued on its device."""
        return self.device.read(self.array)

    def write(self, value: Any) -> None:
        """Copy a host array into the array."""
        self.device.write(self.array, value)

    def release(self) -> None:
        """Drop the array and deallocate its memory."""
        self.array = None
        if self.address is not None:
            self.device.owners.pop(self.address, None)
            self.device.allocator.deallocate_for(self)

    @uninterrupted_finalizer
    def __del__(self) -> None:
        if getattr(self, "address", None) is not None and not sys.is_finalizing():
            self.release()


class Device(ABC):
    """A device of a session: memory, kernels, name (`/job:j/replica:r/task:t/device:TYPE:0`).

    has_kernels: whether its `kernels` may bind steps instead of `bind` (a CUDA GPU).
    shared_bytes: the maximum of shared memory for a block of such a kernel.
    """

    has_kernels = False
    shared_bytes = 0

    def __init__(
        self, name: str, device_type: str, allocator: Allocator, memory_limit: int, description: str
    ) -> None:
        self.name = name
        self.device_type = device_type
        self.allocator = allocator
        self.attributes = DeviceAttributes(
            name,
            device_type,
            memory_limit,
            int.from_bytes(os.urandom(8), "little") >> 1,
            description,
        )
        self.reclaim: Callable[[], object] = _nothing_to_reclaim
        """Releases memory that is kept for later runs; called when memory runs out."""
        self.owners: dict[int, tuple[int, str]] = {}
        """The size in bytes and the owner of each allocation by address, for messages."""

    @abstractmethod
    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return the C-ordered array at `address`, which is None for an array of no bytes."""

    @abstractmethod
    def owns(self, array: Any) -> bool:
        """Return whether the array is in this device's memory; True for arrays of no bytes."""

    @abstractmethod
    def write(self, array: Any, value: NDArray[Any]) -> None:
        """Copy a host array into an array of this device."""

    def writing(self, array: Any) -> Callable[[Any], None]:
        """Return `write` for one array, as a callable of one argument."""
        return partial(self.write, array)

    @abstractmethod
    def read(self, array: Any) -> NDArray[Any]:
        """Return a host copy of an array of this device."""

    @abstractmethod
    def copy_from(self, source: Device, array: Any, target: Any) -> Callable[[], Any]:
        """Return a callable that copies `array` on device `source` into `target` on this device."""

    @abstractmethod
    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[Any]
    ) -> Callable[[], Any]:
        """Return a callable that runs `kernel` on these arrays: device inputs, then outputs."""

    def constant(self, value: NDArray[Any]) -> Any:
        """Return `value` itself if kernels of this device can read it as it is, else None."""
        return None

    def refusals(self) -> Any:
        """Return the error flags of one plan, or None for a device without `kernels`.

        `check()` raises the error of a set flag, `wait()` does so when all kernels are done, and
        `release()` frees them."""
        return None

    def fetching(self, array: Any) -> Any:
        """Return an asynchronous fetch of an array to the host, or None if there is only `read`.

        `begin` is a step that enqueues the copy, `read()` returns it, `release()` frees it."""
        return None

    def swapping(self, array: Any, target: Any) -> Any:
        """Return copies of an array to host memory and back that overlap with computation.

        Only for a device with `kernels`. `leave` begins the copy to the host and `left` waits for
        it; `come` begins the copy to `target` and `back` waits for it; `finish` and `release`.
        """
        return None

    def memory_note(self) -> str:
        """Return further facts for the error when memory runs out."""
        return ""

    def give_regions_back(self) -> None:
        """Return regions without an allocation to the system, if the allocator has any."""
        allocator = self.allocator
        while isinstance(allocator, AllocatorWrapper):
            allocator = allocator.inner
        if isinstance(allocator, BFCAllocator):
            allocator.deallocate_free_regions()

    def synchronize(self) -> None:  # noqa: B027 - not every device has something to wait for
        """Wait until all enqueued work is done."""

    def close(self) -> None:  # noqa: B027 - or to release
        """Release the device's resources other than its allocations."""

    def take(self, num_bytes: int, owner: str, block: Block | None = None) -> Block | None:
        """Allocate a block of `num_bytes` without an array, or return None.

        If needed, idle plans are released for it. The block owns the memory from the moment of the
        allocation, so that none is lost. block: one that has no memory yet; a new one if None.
        """
        block = Block(self, None, None) if block is None else block
        if not self.allocator.allocate_for(block, num_bytes, optional=True):  # not final yet
            self.reclaim()
            if not self.allocator.allocate_for(block, num_bytes):
                return None
        self.note_owner(block, num_bytes, owner)
        return block

    def note_owner(self, block: Block, num_bytes: int, owner: str) -> None:
        """Record the owner of a block's memory, for messages."""
        if block.address is not None:
            self.owners[block.address] = (num_bytes, owner)

    def allocate(self, shape: tuple[int, ...], dtype: DType, owner: str) -> Block:
        """Allocate a new array for `owner` (a node's name, for messages).

        ResourceExhaustedError, with owner, shape, limit and largest hole, when memory runs out.
        """
        if dtype.base_dtype in OBJECTS:
            return Block(self, None, np.empty(shape, object))
        size = dtype.itemsize
        for length in shape:
            size *= length
        if size == 0:
            return Block(self, None, self.view(None, shape, dtype))
        block = self.take(size, owner)
        if block is None:
            raise out_of_memory(self, size, tensor_words(shape, dtype), owner)
        block.array = self.view(block.address, shape, dtype)
        return block

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def _nothing_to_reclaim() -> None:
    """Do nothing: the default of `Device.reclaim`, as a device without a session keeps nothing."""


class HostDevice(Device):
    """A device in host memory, which runs the NumPy `Call` of kernels."""

    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        """Return the NumPy array at `address`."""
        numpy_type = dtype.base_dtype.as_numpy_dtype
        if address is None:
            return np.empty(shape, numpy_type)
        region = self.allocator.host_region(address)
        return np.ndarray(shape, numpy_type, region.buffer, address - region.base)

    def owns(self, array: NDArray[Any]) -> bool:
        """Return whether the array is in the allocator's memory."""
        if array.size == 0 or array.dtype == object:
            return True
        try:
            self.allocator.host_region(array.__array_interface__["data"][0])
        except InvalidArgumentError:
            return False
        return True

    def write(self, array: NDArray[Any], value: NDArray[Any]) -> None:
        """Assign `value` to the array."""
        if array.dtype.hasobject:
            array[...] = value  # an index of () would store a string as an array inside this one
        else:
            array[()] = value  # a quarter of the time of np.copyto for a scalar

    def writing(self, array: NDArray[Any]) -> Callable[[Any], None]:
        """Return the same assignment, without a Python function call."""
        return partial(array.__setitem__, ... if array.dtype.hasobject else ())

    def read(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the array."""
        return array.copy()

    def copy_from(
        self, source: Device, array: NDArray[Any], target: NDArray[Any]
    ) -> Callable[[], Any]:
        """Return an assignment, or a `read` and a `write` if the source is not in host memory."""
        if not isinstance(source, HostDevice):
            return lambda: self.write(target, source.read(array))
        return partial(target.__setitem__, ... if target.dtype.hasobject else (), array)

    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[NDArray[Any]]
    ) -> Callable[[], Any]:
        """Bind the kernel's NumPy `Call`."""
        self.check_memory(context, arrays)
        return reference(kernel).bind(context, arrays)

    def check_memory(self, context: KernelContext, arrays: Sequence[NDArray[Any]]) -> None:
        """Do nothing. Devices with a separate memory space override it to refuse foreign arrays."""

    def refuse_foreign(self, name: str, arrays: Sequence[NDArray[Any]]) -> None:
        """Raise InternalError if an array is in another device's memory."""
        for index, array in enumerate(arrays):
            if not self.owns(array):
                raise InternalError.of_no_node(
                    f"The step '{name}' on {self.name} was given an array (argument {index}) "
                    "outside this device's memory"
                )
