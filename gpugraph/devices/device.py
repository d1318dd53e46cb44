"""Devices: a device has a memory space, and executes kernels in it.

A device owns an allocator, and its arrays are views of memory from this allocator. The device binds
kernels to arrays, copies arrays to and from the host, and tests whether an array is in its memory.
`HostDevice` implements these methods with NumPy in host memory. The CPU and virtual GPUs are host
devices. CUDA GPUs and emulated GPUs derive from `Device` directly.
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
from gpugraph.kernel.reused_memory import LARGE_ARRAY, empty_array
from gpugraph.memory import Allocator, AllocatorWrapper, BFCAllocator

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DeviceAttributes(NamedTuple):
    """The description of a device: its full name, type, memory limit in bytes, incarnation and
    description. The incarnation is a random number that identifies the device in rendezvous keys.
    """

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int
    physical_device_desc: str


class Block:
    """An array, and the allocation that contains its bytes.

    The memory is deallocated once: by `release`, or when the last reference to the block is
    dropped. So if several plans hold the memory, such as the memory of a variable, it is freed when
    the last of these plans drops it.
    """

    __slots__ = ("address", "array", "device")

    def __init__(self, device: Device, address: int | None, array: Any) -> None:
        self.device = device
        self.address = address
        self.array = array

    def read(self) -> Any:
        """Wait for all commands that are enqueued on the device, and return a host copy of the
        array.
        """
        return self.device.read(self.array)

    def write(self, value: Any) -> None:
        """Copy a host array into the block's array."""
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
    """A device of a session.

    Args:
      name: the full name, such as `/job:j/replica:r/task:t/device:TYPE:0`.

    Attributes:
      has_kernels: whether the device has a launcher, `kernels`, which can bind steps in place of
        the method `bind`. The attribute is true for CUDA and emulated GPUs.
      shares_memory: whether kernels of the device may access the memory of all other devices whose
        `shares_memory` is true.
      shared_bytes: the maximum number of bytes of shared memory of a thread block, for kernels of
        the launcher.
    """

    has_kernels = False
    shares_memory = False
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
        """A function that releases memory of idle plans; `take` calls it when an allocation
        fails.
        """
        self.owners: dict[int, tuple[int, str]] = {}
        """The size in bytes and the owner of each allocation, by address, for messages."""

    @abstractmethod
    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return the C-ordered array of this shape and dtype at `address`. If the array has no
        bytes, the address is None.
        """

    @abstractmethod
    def owns(self, array: Any) -> bool:
        """Return whether the array is in this device's memory. Return True for an empty array."""

    @abstractmethod
    def write(self, array: Any, value: NDArray[Any]) -> None:
        """Copy a host array into an array of this device."""

    def writing(self, array: Any) -> Callable[[Any], None]:
        """Return a callable that writes its argument, a host array, into the array."""
        return partial(self.write, array)

    @abstractmethod
    def read(self, array: Any) -> NDArray[Any]:
        """Wait for all commands that are enqueued on this device, and return a host copy of an
        array.
        """

    @abstractmethod
    def copy_from(self, source: Device, array: Any, target: Any) -> Callable[[], Any]:
        """Return a callable that copies `array` on device `source` into `target` on this device."""

    @abstractmethod
    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[Any]
    ) -> Callable[[], Any]:
        """Return a callable that runs `kernel` on `arrays`, which are the inputs of the kernel
        followed by its outputs.
        """

    def constant(self, value: NDArray[Any]) -> Any:
        """Return `value`, the host array of a Const, if kernels of this device can read it in host
        memory. If the array must be copied, return None.
        """
        return None

    def refusals(self) -> Any:
        """Return an object for the error flags of one plan's kernels. For a device without
        `kernels`, return None.

        The object has the following methods. `check()` raises the error of a flag that is set.
        `wait()` waits for all enqueued commands, and then calls `check()`. `release()` frees the
        flags.
        """
        return None

    def fetching(self, array: Any) -> Any:
        """Return an object that fetches an array asynchronously in each run. If the device does not
        support asynchronous fetches, return None. The array is then fetched by `read`.

        The object's `begin` is the callable of a step that enqueues the copy. `read()` waits for
        the copy and returns the array. `release()` frees its memory.
        """
        return None

    def swapping(self, array: Any, target: Any) -> Any:
        """Return an object that copies an array to host memory and back while other commands run.
        Only devices with `kernels` support swapping.

        The object has these methods: `leave` begins the copy to the host, and `left` makes later
        commands wait for this copy. `come` begins the copy back to `target`, and `back` makes later
        commands wait for that copy. `finish` waits for the copies after a failed run, and `release`
        frees the host memory.
        """
        return None

    def memory_note(self) -> str:
        """Return additional text for out-of-memory messages."""
        return ""

    def give_regions_back(self) -> None:
        """Return memory regions without allocations to the system. Do nothing unless the allocator
        is a BFC allocator.
        """
        allocator = self.allocator
        while isinstance(allocator, AllocatorWrapper):
            allocator = allocator.inner
        if isinstance(allocator, BFCAllocator):
            allocator.deallocate_free_regions()

    def synchronize(self) -> None:  # noqa: B027 - not every device has something to wait for
        """Wait until all enqueued commands have been executed."""

    def close(self) -> None:  # noqa: B027 - or to release
        """Release the device's resources, except its allocations."""

    def take(self, num_bytes: int, owner: str, block: Block | None = None) -> Block | None:
        """Allocate a block of `num_bytes` without an array. Return None if there is not enough
        memory.

        If the first attempt fails, `reclaim` releases idle plans, and the device tries again.

        Args:
          block: an existing block without memory, which receives the memory, or None for a new
            block. The block owns the memory as soon as it is allocated, so that an interrupt can't
            leak it.
          owner: the owner's name, for messages.
        """
        block = Block(self, None, None) if block is None else block
        if not self.allocator.allocate_for(
            block, num_bytes, optional=True
        ):  # only the second attempt logs a failure
            self.reclaim()
            if not self.allocator.allocate_for(block, num_bytes):
                return None
        self.note_owner(block, num_bytes, owner)
        return block

    def note_owner(self, block: Block, num_bytes: int, owner: str) -> None:
        """Record the owner of a block's memory, for out-of-memory messages."""
        if block.address is not None:
            self.owners[block.address] = (num_bytes, owner)

    def allocate(self, shape: tuple[int, ...], dtype: DType, owner: str) -> Block:
        """Allocate a new array and return its block.

        Raises ResourceExhaustedError if there is not enough memory. The message contains the owner,
        the shape, the limit and the largest free block.

        Args:
          owner: the name of a node, for messages.
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
    """Do nothing. This function is the default of `Device.reclaim`, for a device that belongs to no
    session.
    """


class HostDevice(Device):
    """A device in host memory. It runs the NumPy `Call` of each kernel."""

    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        """Return the NumPy array at `address`."""
        numpy_type = dtype.base_dtype.as_numpy_dtype
        if address is None:
            return np.empty(shape, numpy_type)
        region = self.allocator.host_region(address)
        return np.ndarray(shape, numpy_type, region.buffer, address - region.base)

    def owns(self, array: NDArray[Any]) -> bool:
        """Return whether the array is in memory of this device's allocator. Return True for arrays
        that hold strings or are empty.
        """
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
            array[()] = value  # for a scalar, a quarter of np.copyto's time

    def writing(self, array: NDArray[Any]) -> Callable[[Any], None]:
        """Return a callable that assigns its argument to the array. If possible, the callable is a
        method of the NumPy array, which is faster.
        """
        return partial(array.__setitem__, ... if array.dtype.hasobject else ())

    def read(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the array."""
        if array.nbytes < LARGE_ARRAY or array.dtype.hasobject:
            return array.copy()
        copy: NDArray[Any] = empty_array(array.shape, array.dtype)
        copy[()] = array
        return copy

    def copy_from(
        self, source: Device, array: NDArray[Any], target: NDArray[Any]
    ) -> Callable[[], Any]:
        """Return a callable that copies `array` on `source` into `target`. If `source` is a host
        device, the callable is an assignment of NumPy. Otherwise it calls `read` and `write`.
        """
        if not isinstance(source, HostDevice):
            return lambda: self.write(target, source.read(array))
        return partial(target.__setitem__, ... if target.dtype.hasobject else (), array)

    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[NDArray[Any]]
    ) -> Callable[[], Any]:
        """Call `check_memory`, then bind the kernel's NumPy `Call` to the arrays."""
        self.check_memory(context, arrays)
        return reference(kernel).bind(context, arrays)

    def check_memory(self, context: KernelContext, arrays: Sequence[NDArray[Any]]) -> None:
        """Do nothing. A device with its own memory space overrides this method to reject arrays in
        other memory.
        """

    def refuse_foreign(self, name: str, arrays: Sequence[NDArray[Any]]) -> None:
        """Raise InternalError if an array is in the memory of another device.

        Args:
          name: the step's name.
        """
        for index, array in enumerate(arrays):
            if not self.owns(array):
                raise InternalError.of_no_node(
                    f"The step '{name}' on {self.name} was given an array (argument {index}) "
                    "outside this device's memory"
                )
