"""Fetches: transfers of a plan's fetched arrays from a GPU to the host. Steps enqueue the copies,
and each run waits for its copies at the end.

A small array has pinned memory for as long as the plan exists, and its copy is enqueued on the
compute stream. So the copy is captured together with the plan's other commands, and runs need not
allocate memory for the copy. A large array has pinned memory only from `begin` to `read`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from gpugraph.base.errors import ResourceExhaustedError
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.kernel_refusals import late
from gpugraph.devices.cuda.launching.enqueued_work import Enqueued, EnqueuedPart
from gpugraph.devices.cuda.launching.unbound_launch import Touches
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.cuda.transfers.pinned_staging import LARGE, OutwardCopy, Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fetching(staging: Staging, array: Array, owner: str) -> Fetch | None:
    """Return an object that copies the array to the host in each run of a plan, or None if there is
    no pinned memory for the copy.

    Args:
      owner: the device's name, for messages.
    """
    if array.nbytes >= LARGE:
        return LargeFetch(staging, array, owner)
    address = staging.pinned.allocate_raw(array.nbytes, optional=True)
    return None if address is None else SmallFetch(staging, array, owner, address)


class Fetch(ABC):
    """The fetch of one array from a GPU."""

    def __init__(self, staging: Staging, array: Array, owner: str) -> None:
        self._staging, self._array, self._owner = staging, array, owner

    def read(self) -> NDArray[Any]:
        """Wait for the copy that `begin` has enqueued, and return the array on the host. Raises
        DriverError if the copy or an earlier launch has failed.

        Other threads may enqueue commands on the GPU during the wait.
        """
        try:
            return self._read()
        except DriverError as error:
            raise late(error, self._owner) from error

    def release(self) -> None:
        """Wait for a copy in progress, and free the pinned memory."""
        with suppress(DriverError):
            self._release()

    @property
    @abstractmethod
    def begin(self) -> Callable[[], None]:
        """The callable of a step that enqueues the copy. The copy comes after all commands that
        were enqueued before.
        """

    @abstractmethod
    def _read(self) -> NDArray[Any]: ...

    @abstractmethod
    def _release(self) -> None: ...


class SmallFetch(Fetch):
    """The fetch of a small array. Its pinned memory exists as long as this object."""

    def __init__(self, staging: Staging, array: Array, owner: str, address: int) -> None:
        super().__init__(staging, array, owner)
        self._address: int | None = address
        self._copied = staging.driver.event()
        self._pinned = staging.view(address, array)
        copy_out = staging.driver.copy_out
        call = partial(copy_out, address, array.address, array.nbytes, staging.compute)
        touches = Touches(((array.address, array.nbytes),), ((address, array.nbytes),))
        self._begin = Enqueued([EnqueuedPart(call, touches)], staging.lock)

    @property
    def begin(self) -> Callable[[], None]:
        """The callable of a step that enqueues the copy on the compute stream."""
        return self._begin

    def _read(self) -> NDArray[Any]:
        self._wait()
        return self._pinned.copy()

    def _wait(self) -> None:
        """Wait until the commands that are enqueued on the compute stream have ended. The copy is
        one of them.
        """
        staging = self._staging
        with staging.lock:
            staging.driver.record(self._copied, staging.compute)
        staging.driver.wait_for(self._copied)

    def _release(self) -> None:
        address, self._address = self._address, None
        if address is not None:
            try:
                self._wait()
            finally:
                with self._staging.lock:
                    self._staging.pinned.deallocate_raw(address)


class LargeFetch(Fetch):
    """The fetch of a large array, whose pinned memory exists only from the call of `begin` to the
    call of `read`.
    """

    def __init__(self, staging: Staging, array: Array, owner: str) -> None:
        super().__init__(staging, array, owner)
        self._copy: OutwardCopy | None = None

    @property
    def begin(self) -> Callable[[], None]:
        """The callable of a step that enqueues the copy on the compute stream."""
        return self._begin

    def _begin(self) -> None:
        self.release()  # left by an earlier run that failed
        with suppress(ResourceExhaustedError):  # without pinned memory, `_read` copies
            self._copy = self._staging.begin(self._array)

    def _read(self) -> NDArray[Any]:
        copy, self._copy = self._copy, None
        if copy is None:
            return self._staging.read(self._array)
        return self._staging.end(self._array, copy)

    def _release(self) -> None:
        if self._copy is not None:
            self._read()
