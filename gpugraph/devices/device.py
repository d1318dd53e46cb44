"""Device: a memory space, and how kernels run in it.

A device owns an allocator; its arrays are views of memory from that allocator. It binds kernels to
callables, copies arrays in and out, and knows whether an array lies in its memory. `HostDevice`
does so with NumPy in host memory; the CPU is one, and so is each virtual GPU. Others derive from
`Device`.
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

    `release` deallocates the memory, once; so does the end of the last reference to the block:
    memory that several plans hold (a variable's) is freed when the last of them drops it.
    """

    __slots__ = ("address", "array", "device")

    def __init__(self, device: Device, address: int | None, array: Any) -> None:
        self.device = device
        self.address = address
        self.array = array

    def read(self) -> Any:
        """A host copy of the array, after all work that is enqueued on its device."""
        return self.device.read(self.array)

    def write(self, value: Any) -> None:
        """Copies a host array into the array."""
        self.device.write(self.array, value)

    def release(self) -> None:
        """Drops the array and deallocates its memory."""
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
    shared_bytes: the shared memory that a block of such a kernel may have.
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
        """Releases memory that is kept for later runs; called when memory is out."""
        self.owners: dict[int, tuple[int, str]] = {}
        """The bytes and the owner of each allocation by address, for messages."""

    @abstractmethod
    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> Any:
        """The C-ordered array at `address`, which is None for an array of no bytes."""

    @abstractmethod
    def owns(self, array: Any) -> bool:
        """Whether the array lies in this device's memory (arrays of no bytes lie anywhere)."""

    @abstractmethod
    def write(self, array: Any, value: NDArray[Any]) -> None:
        """Copies a host array into an array of this device."""

    def writing(self, array: Any) -> Callable[[Any], None]:
        """`write` for an array, as a call of one argument."""
        return partial(self.write, array)

    @abstractmethod
    def read(self, array: Any) -> NDArray[Any]:
        """A host copy of an array of this device."""

    @abstractmethod
    def copy_from(self, source: Device, array: Any, target: Any) -> Callable[[], Any]:
        """A callable that copies `array`, of device `source`, into `target`, of this device."""

    @abstractmethod
    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[Any]
    ) -> Callable[[], Any]:
        """A callable that runs `kernel` on these arrays: device inputs, then outputs."""

    def constant(self, value: NDArray[Any]) -> Any:
        """`value` itself if kernels of this device can read it as it is, else None."""
        return None

    def refusals(self) -> Any:
        """For a device with kernels, the error flags of one plan: `check()` raises the error of a
        flag that is set, `wait()` does so when all kernels are done, `release()` frees them."""
        return None

    def fetching(self, array: Any) -> Any:
        """A fetch of an array to the host in two parts: `begin`, a step that enqueues the copy;
        `read()`, which returns it; `release()`. None if `read` is all that the device has."""
        return None

    def swapping(self, array: Any, target: Any) -> Any:
        """For a device with kernels, the copies of an array to host memory, `leave` to `left`, and
        from there to `target`, `come` to `back`, beside what it computes; with `finish`, `release`.
        """
        return None

    def memory_note(self) -> str:
        """What else there is to report when memory is out."""
        return ""

    def give_regions_back(self) -> None:
        """Gives regions without an allocation back, where the allocator has such."""
        allocator = self.allocator
        while isinstance(allocator, AllocatorWrapper):
            allocator = allocator.inner
        if isinstance(allocator, BFCAllocator):
            allocator.deallocate_free_regions()

    def synchronize(self) -> None:  # noqa: B027 - not every device has something to wait for
        """Waits until all enqueued work is done."""

    def close(self) -> None:  # noqa: B027 - or to release
        """Releases what the device holds beside its allocations."""

    def take(self, num_bytes: int, owner: str, block: Block | None = None) -> Block | None:
        """A block of so many bytes without an array, for which idle plans may be released; or None.

        From the moment on in which they are in use they are the block's, so that none is lost.
        block: one that has no memory yet; a new one if None.
        """
        block = Block(self, None, None) if block is None else block
        if not self.allocator.allocate_for(block, num_bytes, optional=True):  # not final yet
            self.reclaim()
            if not self.allocator.allocate_for(block, num_bytes):
                return None
        self.note_owner(block, num_bytes, owner)
        return block

    def note_owner(self, block: Block, num_bytes: int, owner: str) -> None:
        """Remembers whose memory it is, for messages."""
        if block.address is not None:
            self.owners[block.address] = (num_bytes, owner)

    def allocate(self, shape: tuple[int, ...], dtype: DType, owner: str) -> Block:
        """A new array for `owner` (a node's name, for messages).

        ResourceExhaustedError, with owner, shape, limit and largest hole, when memory is out.
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
    """The default of `Device.reclaim`: a device without a session keeps nothing."""


class HostDevice(Device):
    """A device in host memory, whose kernels run by their NumPy `Call`."""

    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        """The NumPy array at `address`."""
        numpy_type = dtype.base_dtype.as_numpy_dtype
        if address is None:
            return np.empty(shape, numpy_type)
        region = self.allocator.host_region(address)
        return np.ndarray(shape, numpy_type, region.buffer, address - region.base)

    def owns(self, array: NDArray[Any]) -> bool:
        """Whether the allocator's memory holds the array."""
        if array.size == 0 or array.dtype == object:
            return True
        try:
            self.allocator.host_region(array.__array_interface__["data"][0])
        except InvalidArgumentError:
            return False
        return True

    def write(self, array: NDArray[Any], value: NDArray[Any]) -> None:
        """Assigns `value` to the array."""
        if array.dtype.hasobject:
            array[...] = value  # with () a string would become an array within this one
        else:
            array[()] = value  # a quarter of the time of np.copyto for a scalar

    def writing(self, array: NDArray[Any]) -> Callable[[Any], None]:
        """The same assignment, without a call of Python's."""
        return partial(array.__setitem__, ... if array.dtype.hasobject else ())

    def read(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy of the array."""
        return array.copy()

    def copy_from(
        self, source: Device, array: NDArray[Any], target: NDArray[Any]
    ) -> Callable[[], Any]:
        """An assignment, or from a device with other memory a `read` and a `write`."""
        if not isinstance(source, HostDevice):
            return lambda: self.write(target, source.read(array))
        return partial(target.__setitem__, ... if target.dtype.hasobject else (), array)

    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[NDArray[Any]]
    ) -> Callable[[], Any]:
        """The kernel's NumPy `Call`, bound."""
        self.check_memory(context, arrays)
        return reference(kernel).bind(context, arrays)

    def check_memory(self, context: KernelContext, arrays: Sequence[NDArray[Any]]) -> None:
        """Hook: devices with a memory space of their own refuse other devices' arrays here."""

    def refuse_foreign(self, name: str, arrays: Sequence[NDArray[Any]]) -> None:
        """InternalError when an array lies in another device's memory."""
        for index, array in enumerate(arrays):
            if not self.owns(array):
                raise InternalError.of_no_node(
                    f"The step '{name}' on {self.name} was given an array (argument {index}) "
                    "outside this device's memory"
                )
