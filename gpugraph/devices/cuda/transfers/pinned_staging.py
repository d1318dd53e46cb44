"""The way of values into a GPU's memory and out: through pinned memory, on streams of their own.

A copy from pinned memory is told to a stream and done later: what is staged stays untouched until
the event behind its copy has come. Small values go in on the stream that computes, large ones on a
stream of their own into memory beside the plan's, so that they travel while the last step is still
being computed; they are then copied within the GPU, which is fast. That memory is kept for values
of about the same size, until memory runs out: others, on the computing stream, might still be at it
when it is given back.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base.errors import ResourceExhaustedError
from gpugraph.devices.cuda.driver.driver_interface import Driver, Stream
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.memory import Allocator

if TYPE_CHECKING:
    from numpy.typing import NDArray


LARGE = 1 << 18
"""Bytes from which a value goes in on a stream of its own."""

MOST_IN_USE = 0.5
"""Part of the GPU's memory that may be in use where memory beside the plans' is taken."""


class Staging:
    """Copies between host arrays and arrays of one GPU."""

    def __init__(
        self, driver: Driver, compute: Stream, pinned: Allocator, device: Allocator
    ) -> None:
        self.driver = driver
        self.compute = compute
        self.pinned = pinned
        self.device = device
        self.inward = driver.stream("host to device")
        self.outward = driver.stream("device to host")
        self._computed = driver.event()
        self._arrived = driver.event()
        self._gone = driver.event()
        self._left: deque[tuple[Any, int, tuple[int, int] | None]] = deque()
        self._spare: dict[int, list[int]] = {}  # memory beside, by size
        self._events: list[Any] = []

    # -- in

    def write(self, array: Array, value: NDArray[Any]) -> None:
        """Has a value copied into an array; what is told to the compute stream next sees it."""
        if not array.nbytes:
            return
        staged = self._take(array.nbytes)
        np.copyto(self.view(staged, array), value)
        beside = self._beside(array.nbytes)
        driver = self.driver
        if beside is None:
            driver.copy_in(array.address, staged, array.nbytes, self.compute)
        else:
            _, address = beside
            driver.copy_in(address, staged, array.nbytes, self.inward)
            driver.record(self._arrived, self.inward)
            driver.wait(self.compute, self._arrived)
            driver.copy(array.address, address, array.nbytes, self.compute)
        event = self._events.pop() if self._events else driver.event()
        driver.record(event, self.compute)
        self._left.append((event, staged, beside))

    def _beside(self, num_bytes: int) -> tuple[int, int] | None:
        """Device memory for a large value on its way, if there is any to spare: size, address."""
        if num_bytes < LARGE:
            return None
        size = 1 << (num_bytes - 1).bit_length()
        spare = self._spare.setdefault(size, [])
        if spare:
            return size, spare.pop()
        stats = self.device.get_stats()
        limit = stats.bytes_limit or 0
        if limit and stats.bytes_in_use + size > limit * MOST_IN_USE:
            return None
        address = self.device.allocate_raw(size, optional=True)
        if address is None:
            return None
        self.driver.record(self._computed, self.compute)  # whoever had it before may still compute
        self.driver.wait(self.inward, self._computed)
        return size, address

    # -- out

    def read(self, array: Array) -> NDArray[Any]:
        """A host copy of an array, as it is when all that was told so far is done."""
        if not array.nbytes:
            return np.empty(array.shape, array.dtype)
        return self.end(array, self.begin(array))

    def begin(self, array: Array) -> int:
        """Has an array copied to pinned memory, whose address goes to `end`; what is told next
        may write to the array."""
        staged = self._take(array.nbytes)
        try:
            self.driver.record(self._computed, self.compute)
            self.driver.wait(self.outward, self._computed)
            self.driver.copy_out(staged, array.address, array.nbytes, self.outward)
            self.driver.record(self._gone, self.outward)
            self.driver.wait(self.compute, self._gone)
        except BaseException:
            self.pinned.deallocate_raw(staged)
            raise
        return staged

    def end(self, array: Array, staged: int) -> NDArray[Any]:
        """What came, once it has; the pinned memory is given back."""
        try:
            self.driver.synchronize(self.outward)
            return self.view(staged, array).copy()
        finally:
            self.pinned.deallocate_raw(staged)

    # -- memory

    def view(self, address: int, array: Array) -> NDArray[Any]:
        """Pinned memory, as an array like that one."""
        region = self.pinned.host_region(address)
        return np.ndarray(array.shape, array.dtype, region.buffer, address - region.base)

    def _take(self, num_bytes: int) -> int:
        """Pinned memory; what has arrived is given back before."""
        while self._left and self.driver.is_done(self._left[0][0]):
            self._release()
        address = self.pinned.allocate_raw(num_bytes, optional=True)
        if address is None:
            self.finish()
            address = self.pinned.allocate_raw(num_bytes)
        if address is None:
            raise ResourceExhaustedError(
                None,
                None,
                f"OOM when allocating {num_bytes} bytes of pinned host memory by allocator "
                f"{self.pinned.name}, for a value on its way to or from a GPU",
            )
        return address

    def _release(self) -> None:
        event, staged, beside = self._left.popleft()
        self.pinned.deallocate_raw(staged)
        if beside is not None:
            size, address = beside
            self._spare[size].append(address)
        self._events.append(event)

    def finish(self) -> None:
        """Waits for what is on its way in."""
        if self._left:
            self.driver.synchronize(self.compute)
        while self._left:
            self._release()

    def give_up(self) -> None:
        """Gives back the memory that is kept beside, which nothing may be on its way to."""
        self.finish()
        if any(self._spare.values()):
            self.driver.synchronize(self.inward)
        for spare in self._spare.values():
            while spare:
                self.device.deallocate_raw(spare.pop())
