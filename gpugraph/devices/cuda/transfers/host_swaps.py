"""Host swaps: a tensor of a plan is copied to pinned host memory and back while the GPU computes.

    compute    x = f(..) |  a  b  c      d  e  f  g  | h(x)
    outward              '- copy -' left
    inward                            '- copy -' back

Each copy runs on a separate stream, after the commands that are on the compute stream when the copy
is enqueued. Commands that are enqueued after `left` or `back` wait for the end of the copy. So no
other command uses the memory of the source or the target before the copy has ended.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from gpugraph.devices.cuda.driver.driver_interface import DriverError, Stream
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.cuda.transfers.pinned_staging import Staging
from gpugraph.devices.out_of_memory import PlainSpace, out_of_memory


class HostSwap:
    """The copies of one tensor: first from `source`, where the tensor is computed, to the host, and
    then to `target`, where later ops use it.

    The pinned memory for the copies exists as long as the plan. The constructor raises
    ResourceExhaustedError if there is not enough pinned memory.
    """

    def __init__(self, staging: Staging, source: Array, target: Array) -> None:
        address = staging.pinned.allocate_raw(source.nbytes, optional=True)
        if address is None:
            space = PlainSpace("pinned host memory", staging.pinned)
            raise out_of_memory(space, source.nbytes, "a tensor that is swapped", "a swap")
        self._staging, self._source, self._target = staging, source, target
        self._lock = staging.lock
        self._address: int | None = address
        driver = staging.driver
        self._computed, self._left, self._back = (driver.event() for _ in range(3))
        self._pending: list[
            Any
        ] = []  # events of copies for which the compute stream does not wait yet

    def leave(self) -> None:
        """Enqueue the copy to the host."""
        staging, source = self._staging, self._source
        with self._lock:
            self._after_computed(staging.outward)
            staging.driver.copy_out(self._host, source.address, source.nbytes, staging.outward)
            self._note(self._left, staging.outward)

    def left(self) -> None:
        """Make later commands on the compute stream wait until the copy to the host has ended."""
        self._wait(self._left)

    def come(self) -> None:
        """Enqueue the copy back to the GPU, which starts after the copy to the host has ended."""
        staging, target = self._staging, self._target
        with self._lock:
            self._after_computed(staging.inward)
            staging.driver.wait(staging.inward, self._left)
            staging.driver.copy_in(target.address, self._host, target.nbytes, staging.inward)
            self._note(self._back, staging.inward)

    def back(self) -> None:
        """Make later commands on the compute stream wait until the copy back to the GPU has
        ended.
        """
        self._wait(self._back)

    def finish(self) -> None:
        """Make later commands wait for all copies. This method is called if a run fails before
        `left` or `back` was called.
        """
        while self._pending:
            self._wait(self._pending[0])

    def release(self) -> None:
        """Wait for copies in progress, and free the pinned memory."""
        address, self._address = self._address, None
        if address is None:
            return
        with self._lock:
            with suppress(DriverError):  # an earlier run has raised the error
                for stream in (self._staging.outward, self._staging.inward):
                    self._staging.driver.synchronize(stream)
            self._staging.pinned.deallocate_raw(address)

    @property
    def _host(self) -> int:
        assert self._address is not None, "the plan is released"
        return self._address

    def _after_computed(self, stream: Stream) -> None:
        driver = self._staging.driver
        driver.record(self._computed, self._staging.compute)
        driver.wait(stream, self._computed)

    def _note(self, event: Any, stream: Stream) -> None:
        self._staging.driver.record(event, stream)
        self._pending.append(event)

    def _wait(self, event: Any) -> None:
        with self._lock:
            self._staging.driver.wait(self._staging.compute, event)
        if event in self._pending:
            self._pending.remove(event)
