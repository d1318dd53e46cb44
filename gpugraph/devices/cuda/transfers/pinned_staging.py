"""Staging: transfers between host arrays and a GPU's memory, through pinned memory.

Copies to the host are commands of the compute stream. A copy from pinned memory is enqueued and
executed later. The pinned memory remains allocated until an event after the copy has occurred.
Small values are copied on the compute stream. A large value is first copied on a separate stream to
a side buffer on the GPU, while earlier commands still run. From the side buffer the value is copied
within the GPU, which is fast. A side buffer is not freed after the copy, because commands on the
compute stream may still read it. The side buffer is reused for later values of about the same size.
Side buffers are freed when memory runs out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugraph.devices.codegen.object_cache import log_once
from gpugraph.devices.cuda.driver.driver_interface import Driver, Stream
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.out_of_memory import PlainSpace, out_of_memory
from gpugraph.memory import Allocator

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_PIECE_BYTES = 1 << 30
"""Larger values are copied in pieces, so that they may exceed the size of pinned memory."""

LARGE = 1 << 18
"""The minimum size in bytes of a large value."""

MAX_IN_USE = 0.5
"""A side buffer is allocated only if at most this fraction of the GPU's memory is in use
afterwards.
"""


_DIRECTLY = (
    "values are copied to or from a GPU without pinned memory, which takes longer: it is too "
    "small, or other runs hold all of it"
)


class OutwardCopy(NamedTuple):
    """A copy to the host that is enqueued: the address of its pinned memory, and an event that
    occurs when the copy has ended.
    """

    address: int
    ended: Any


class Staging:
    """Copies between host arrays and arrays of one GPU.

    Attributes:
      lock: the GPU's lock. The caller must hold it for `finish` and `give_up`. The other methods
        acquire it while they enqueue commands, but not while they wait for the GPU or copy within
        host memory, so that other threads can enqueue commands meanwhile.
    """

    def __init__(
        self, driver: Driver, compute: Stream, pinned: Allocator, device: Allocator, lock: Any
    ) -> None:
        self.driver = driver
        self.lock = lock
        self.compute = compute
        self.pinned = pinned
        self.device = device
        self.inward = driver.stream("host to device")
        self.outward = driver.stream("device to host")
        self._computed = driver.event()
        self._arrived = driver.event()
        self._inward_copies: deque[tuple[Any, int, tuple[int, int] | None]] = deque()
        self._side_buffers: dict[int, list[int]] = {}  # addresses of side buffers by size
        self._events: list[Any] = []
        self._returned = Condition(lock)
        self._num_brief = 0  # pinned allocations of threads that need no others to give them back

    # -- in

    def write(self, array: Array, value: NDArray[Any]) -> None:
        """Enqueue a copy of a host array into a GPU array. Commands that are enqueued later on the
        compute stream read the copied value. The caller may change `value` after this method
        returns.
        """
        if array.nbytes > MAX_PIECE_BYTES:
            for piece, part in _pieces(array, np.ascontiguousarray(value, array.dtype)):
                self.write(piece, part)
            return
        if not array.nbytes:
            return
        with self._brief(array.nbytes) as staged:
            if staged is None:
                self._write_directly(array, value)
                return
            try:
                np.copyto(self.view(staged, array), value)
            except BaseException:
                self._free(staged)
                raise
            with self.lock:
                self._enqueue_copy_in(array, staged)

    def _write_directly(self, array: Array, value: NDArray[Any]) -> None:
        """Copy a host array without pinned memory. CUDA reads it before the copy is enqueued."""
        log_once(_DIRECTLY)
        content = np.ascontiguousarray(value, array.dtype)
        with self.lock:
            self.driver.copy_in(array.address, content.ctypes.data, array.nbytes, self.compute)

    def _enqueue_copy_in(self, array: Array, staged: int) -> None:
        side_buffer = self._take_side_buffer(array.nbytes)
        driver = self.driver
        if side_buffer is None:
            driver.copy_in(array.address, staged, array.nbytes, self.compute)
        else:
            _, address = side_buffer
            driver.copy_in(address, staged, array.nbytes, self.inward)
            driver.record(self._arrived, self.inward)
            driver.wait(self.compute, self._arrived)
            driver.copy(array.address, address, array.nbytes, self.compute)
        event = self._take_event()
        driver.record(event, self.compute)
        self._inward_copies.append((event, staged, side_buffer))

    def _take_event(self) -> Any:
        return self._events.pop() if self._events else self.driver.event()

    def _take_side_buffer(self, num_bytes: int) -> tuple[int, int] | None:
        """Return the size and address of a side buffer for a large value. Return None if the value
        is small or memory is scarce.
        """
        if num_bytes < LARGE:
            return None
        size = 1 << (num_bytes - 1).bit_length()
        addresses = self._side_buffers.setdefault(size, [])
        if addresses:
            return size, addresses.pop()
        stats = self.device.get_stats()
        limit = stats.bytes_limit or 0
        if limit and stats.bytes_in_use + size > limit * MAX_IN_USE:
            return None
        address = self.device.allocate_raw(size, optional=True)
        if address is None:
            return None
        self.driver.record(self._computed, self.compute)  # enqueued work may still use the memory
        self.driver.wait(self.inward, self._computed)
        return size, address

    # -- out

    def read(self, array: Array) -> NDArray[Any]:
        """Return a host copy of an array. Wait for all commands that are enqueued on the compute
        stream.
        """
        if array.nbytes > MAX_PIECE_BYTES:
            value = np.empty(array.shape, array.dtype)
            with self.lock:  # no other thread changes the array between two pieces
                for piece, part in _pieces(array, value):
                    part[...] = self.read(piece)
            return value
        if not array.nbytes:
            return np.empty(array.shape, array.dtype)
        with self._brief(array.nbytes) as staged:
            if staged is None:
                return self._read_directly(array)
            return self.end(array, self._begin_at(array, staged))

    def _read_directly(self, array: Array) -> NDArray[Any]:
        """Return a host copy of an array without pinned memory."""
        log_once(_DIRECTLY)
        value = np.empty(array.shape, array.dtype)
        with self.lock:
            self.driver.copy_out(value.ctypes.data, array.address, array.nbytes, self.compute)
            event = self._take_event()
            self.driver.record(event, self.compute)
        self.driver.wait_for(event)
        with self.lock:
            self._events.append(event)
        return value

    def begin(self, array: Array) -> OutwardCopy:
        """Enqueue a copy of an array to pinned memory. Return the copy, for `end`. Commands that
        are enqueued later may overwrite the array.
        """
        with self.lock:
            return self._begin_at(array, self._take(array.nbytes))

    def _begin_at(self, array: Array, staged: int) -> OutwardCopy:
        with self.lock:
            copy = OutwardCopy(staged, self._take_event())
            try:
                self.driver.copy_out(copy.address, array.address, array.nbytes, self.compute)
                self.driver.record(copy.ended, self.compute)
            except BaseException:
                self._free(copy.address)
                raise
            return copy

    def end(self, array: Array, copy: OutwardCopy) -> NDArray[Any]:
        """Wait for the copy that `begin` has enqueued. Return the copied array, and free the pinned
        memory.
        """
        try:
            self.driver.wait_for(copy.ended)
            return self.view(copy.address, array).copy()
        finally:
            with self.lock:
                self.pinned.deallocate_raw(copy.address)
                self._events.append(copy.ended)

    # -- memory

    def view(self, address: int, array: Array) -> NDArray[Any]:
        """Return pinned memory as a host array with the shape and dtype of `array`."""
        region = self.pinned.host_region(address)
        return np.ndarray(array.shape, array.dtype, region.buffer, address - region.base)

    @contextmanager
    def _brief(self, num_bytes: int) -> Iterator[int | None]:
        """Allocate pinned memory for the `with` block, which must free it or enqueue its copy. If
        there is not enough, wait for the blocks of other threads. The address is None if there is
        still not enough.
        """
        with self._returned:
            staged = self._allocate(num_bytes)
            while staged is None and self._num_brief:
                self._returned.wait()
                staged = self._allocate(num_bytes)
            self._num_brief += 1
        try:
            yield staged
        finally:
            with self._returned:
                self._num_brief -= 1
                self._returned.notify_all()

    def _take(self, num_bytes: int) -> int:
        """Free the pinned memory of copies that have ended. Then allocate pinned memory and return
        its address.

        Raises ResourceExhaustedError if there is still not enough memory when all copies have
        ended.
        """
        address = self._allocate(num_bytes)
        if address is None:
            space = PlainSpace("pinned host memory", self.pinned)
            raise out_of_memory(space, num_bytes, "a value on its way to or from a GPU", "a copy")
        return address

    def _allocate(self, num_bytes: int) -> int | None:
        while self._inward_copies and self.driver.is_done(self._inward_copies[0][0]):
            self._release()
        address = self.pinned.allocate_raw(num_bytes, optional=True)
        if address is None:
            self.finish()
            address = self.pinned.allocate_raw(num_bytes, optional=True)
        return address

    def _free(self, staged: int) -> None:
        with self.lock:
            self.pinned.deallocate_raw(staged)

    def _release(self) -> None:
        event, staged, side_buffer = self._inward_copies.popleft()
        self.pinned.deallocate_raw(staged)
        if side_buffer is not None:
            size, address = side_buffer
            self._side_buffers[size].append(address)
        self._events.append(event)

    def finish(self) -> None:
        """Wait for all copies into the GPU, and free their pinned memory."""
        if self._inward_copies:
            self.driver.synchronize(self.compute)
        while self._inward_copies:
            self._release()

    def give_up(self) -> None:
        """Wait for all copies into the GPU, and free all side buffers."""
        self.finish()
        if any(self._side_buffers.values()):
            self.driver.synchronize(self.inward)
        for addresses in self._side_buffers.values():
            while addresses:
                self.device.deallocate_raw(addresses.pop())


def _pieces(array: Array, value: NDArray[Any]) -> Iterator[tuple[Array, NDArray[Any]]]:
    """Yield the pieces of a large GPU array as arrays of bytes. Each piece comes with the
    corresponding bytes of `value`, a contiguous host array of the same shape and dtype.
    """
    content = value.reshape(-1).view(np.uint8)
    for start in range(0, array.nbytes, MAX_PIECE_BYTES):
        part = content[start : start + MAX_PIECE_BYTES]
        yield Array(array.address + start, part.shape, part.dtype), part
