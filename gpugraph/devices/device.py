"""Device: a memory space and the way kernels run in it.

A device owns an allocator; every array it gives is a view of bytes that came from there. It
binds kernels (data) to callables, moves arrays in and out, and says whose memory an array is.
`HostDevice` does all of it with NumPy over host memory; the CPU is one, and so is each virtual
GPU. Others derive from `Device`.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, resource, string
from gpugraph.base.errors import InternalError, InvalidArgumentError, ResourceExhaustedError
from gpugraph.kernel import Kernel, KernelContext, reference
from gpugraph.memory import Allocator, human_readable_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DeviceAttributes(NamedTuple):
    """What a device says of itself: full name, type, memory limit in bytes, incarnation."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int
    physical_device_desc: str


class Block:
    """An array and the allocation it views.

    `release` gives the bytes back, once; so does the end of the last reference to the block, so
    that what several hold (a variable's memory, by plans) is freed when none of them needs it.
    """

    __slots__ = ("address", "array", "device")

    def __init__(self, device: Device, address: int | None, array: Any) -> None:
        self.device = device
        self.address = address
        self.array = array

    def read(self) -> Any:
        """A copy of the array on the host, after what its device was told."""
        return self.device.read(self.array)

    def write(self, value: Any) -> None:
        """Copies a host array into the array."""
        self.device.write(self.array, value)

    def release(self) -> None:
        self.array = None
        address, self.address = self.address, None
        if address is not None:
            self.device.held.pop(address, None)
            self.device.allocator.deallocate_raw(address)

    def __del__(self) -> None:
        if self.address is not None and not sys.is_finalizing():
            self.release()


class Device(ABC):
    """A device of a session: memory, kernels, name (`/job:j/replica:r/task:t/device:TYPE:0`).

    has_kernels: whether steps may be bound by its `kernels` instead of `bind` (a CUDA GPU).
    shared_bytes: of shared memory that a block of such a kernel may have.
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
        """Gives up memory that is held for later, when it runs out."""
        self.held: dict[int, tuple[int, str]] = {}
        """Address to bytes and owner of what is allocated, for messages."""

    @abstractmethod
    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> Any:
        """The C-ordered array at `address`; `address` is None for an array of no bytes."""

    @abstractmethod
    def owns(self, array: Any) -> bool:
        """Whether the array lies in this device's memory (arrays of no bytes lie anywhere)."""

    @abstractmethod
    def write(self, array: Any, value: NDArray[Any]) -> None:
        """Copies a host array into an array of this device."""

    @abstractmethod
    def read(self, array: Any) -> NDArray[Any]:
        """A host copy of an array of this device."""

    @abstractmethod
    def copy_from(self, source: Device, array: Any, target: Any) -> Callable[[], Any]:
        """What copies `array`, of device `source`, into `target`, of this one, when called."""

    @abstractmethod
    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[Any]
    ) -> Callable[[], Any]:
        """What runs `kernel` on these arrays (device inputs, then outputs) when called."""

    def constant(self, value: NDArray[Any]) -> Any:
        """`value` itself where kernels of this device can read it as it is, else None."""
        return None

    def refusals(self) -> Any:
        """Of a device with kernels: where those of one plan note what they refuse. `check()`
        raises that, `wait()` when all are done, `release()` gives it up."""
        return None

    def fetching(self, array: Any) -> Any:
        """What brings an array to the host in two parts, or None where `read` does it at once:
        `begin`, a step that has it copied; `read()`, which gives the copy; `release()`."""
        return None

    def memory_note(self) -> str:
        """What else there is to say where memory is out."""
        return ""

    def synchronize(self) -> None:  # noqa: B027 - not every device has something to wait for
        """Waits until all that was launched is done."""

    def close(self) -> None:  # noqa: B027 - or to give back
        """Gives back what the device holds beside its allocations."""

    def take(self, num_bytes: int, owner: str) -> int | None:
        """The address of that many bytes, idle plans given up for them if need be, or None."""
        address = self.allocator.allocate_raw(num_bytes, optional=True)  # not final yet
        if address is None:
            self.reclaim()
            address = self.allocator.allocate_raw(num_bytes)
        if address is not None:
            self.held[address] = (num_bytes, owner)
        return address

    def allocate(self, shape: tuple[int, ...], dtype: DType, owner: str) -> Block:
        """A new array for `owner` (a node's name, for messages).

        ResourceExhaustedError naming owner, shape, limit and largest hole when memory is out.
        """
        if dtype.base_dtype in (string, resource):
            return Block(self, None, np.empty(shape, object))
        size = dtype.itemsize
        for length in shape:
            size *= length
        if size == 0:
            return Block(self, None, self.view(None, shape, dtype))
        address = self.take(size, owner)
        if address is None:
            raise out_of_memory(
                self, size, f"tensor with shape{list(shape)} and type {dtype.name} of '{owner}'"
            )
        return Block(self, address, self.view(address, shape, dtype))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def _nothing_to_reclaim() -> None:
    """What a device without a session has to give up."""


def out_of_memory(device: Device, num_bytes: int, what: str) -> ResourceExhaustedError:
    """The error that `what` did not fit, with the figures that tell why."""
    stats = device.allocator.get_stats()
    hole = device.allocator.largest_free_chunk()
    if hole is not None and stats.bytes_limit is not None:
        hole = max(hole, stats.bytes_limit - stats.bytes_reserved)  # what is not yet reserved
    limit = "no limit" if stats.bytes_limit is None else f"limit {stats.bytes_limit} bytes"
    holders = sorted(device.held.values(), reverse=True)[:5]
    held = ", ".join(f"{human_readable_bytes(size)} by '{owner}'" for size, owner in holders)
    return ResourceExhaustedError(
        None,
        None,
        f"OOM when allocating {num_bytes} bytes for {what} on {device.name} by allocator "
        f"{device.allocator.name}: {stats.bytes_in_use} bytes in use, {limit}, largest hole "
        f"{hole if hole is not None else 'unknown'} bytes"
        + (f"; most is held: {held}" if held else "")
        + device.memory_note()
        + ". The session stays usable.",
    )


class HostDevice(Device):
    """A device in host memory, on NumPy. Kernels run by their NumPy `Call`."""

    def view(self, address: int | None, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        numpy_type = dtype.base_dtype.as_numpy_dtype
        if address is None:
            return np.empty(shape, numpy_type)
        region = self.allocator.host_region(address)
        return np.ndarray(shape, numpy_type, region.buffer, address - region.base)

    def owns(self, array: NDArray[Any]) -> bool:
        if array.size == 0 or array.dtype == object:
            return True
        try:
            self.allocator.host_region(array.__array_interface__["data"][0])
        except InvalidArgumentError:
            return False
        return True

    def write(self, array: NDArray[Any], value: NDArray[Any]) -> None:
        if array.dtype.hasobject:
            array[...] = value  # by () a string would become an array within this one
        else:
            array[()] = value  # a quarter of what np.copyto takes for a scalar

    def read(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy()

    def copy_from(
        self, source: Device, array: NDArray[Any], target: NDArray[Any]
    ) -> Callable[[], Any]:
        if not isinstance(source, HostDevice):
            return lambda: self.write(target, source.read(array))
        return partial(target.__setitem__, ... if target.dtype.hasobject else (), array)

    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[NDArray[Any]]
    ) -> Callable[[], Any]:
        self.check_memory(context, arrays)
        return reference(kernel).bind(context, arrays)

    def check_memory(self, context: KernelContext, arrays: Sequence[NDArray[Any]]) -> None:
        """Hook: devices with a memory space of their own refuse foreign arrays here."""

    def refuse_foreign(self, name: str, arrays: Sequence[NDArray[Any]]) -> None:
        """InternalError when an array lies in another device's memory."""
        for index, array in enumerate(arrays):
            if not self.owns(array):
                raise InternalError(
                    None,
                    None,
                    f"The step '{name}' on {self.name} was given an array (argument {index}) "
                    "outside this device's memory",
                )
