"""Error flags: words of pinned memory in which kernels report invalid input.

A GPU can't raise an error. If a kernel fails (because of an index out of range, or a value that is
not finite), the kernel sets its flag to 1. Each plan has its own flags, and at the end of a run
only these are checked. If the host has not waited for the kernels of a run, the next run raises the
error. If there is no next run, the error is logged when the plan is released. CUDA's own errors
appear only when the host waits for the GPU (`late`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import InvalidArgumentError, ResourceExhaustedError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.launching.enqueued_work import is_blocking
from gpugraph.devices.out_of_memory import PlainSpace, out_of_memory
from gpugraph.kernel import note_op
from gpugraph.memory import Allocator

MAX_FLAGS = 16384
"""The maximum number of error flags, for all plans of one session on one GPU."""

_logger = logging.getLogger(__name__)


class FlagMemory:
    """The memory for all error flags of one device. It is allocated when it is first used."""

    def __init__(self, pinned: Allocator, wait: Callable[[], Any]) -> None:
        """Describe the memory, without allocating it.

        Args:
          wait: a function that waits until all commands enqueued on the GPU have ended.
        """
        self.wait = wait
        self.values: Any = None
        self._pinned = pinned
        self._address = 0
        self._free: list[int] = []
        self._lock = new_lock()

    def take(self) -> int:
        """Reserve a flag, set it to 0 and return its number. Raises ResourceExhaustedError if all
        flags are in use.
        """
        with self._lock:
            if self.values is None:
                self._allocate()
            if not self._free:
                raise ResourceExhaustedError.of_no_node(
                    f"A session has more than {MAX_FLAGS} kernels that may fail"
                )
            number = self._free.pop()
            self.values[number] = 0
            return number

    def address(self, number: int) -> int:
        """Return the address of the flag with this number."""
        return self._address + 4 * number

    def give_back(self, number: int) -> None:
        """Make the flag with this number available for other kernels."""
        with self._lock:
            self._free.append(number)

    def _allocate(self) -> None:
        address = self._pinned.allocate_raw(4 * MAX_FLAGS)
        if address is None:
            space = PlainSpace("pinned host memory", self._pinned)
            raise out_of_memory(space, 4 * MAX_FLAGS, "kernels' error flags", "a session")
        region = self._pinned.host_region(address)
        self.values = np.ndarray(MAX_FLAGS, np.int32, region.buffer, address - region.base)
        self._free = list(range(MAX_FLAGS - 1, -1, -1))
        self._address = address

    def close(self) -> None:
        """Free the memory of all flags."""
        with self._lock:
            if self.values is not None:
                self.values = None
                self._pinned.deallocate_raw(self._address)


class _Flag(NamedTuple):
    number: int
    message: str
    origin: Any


class Refusals:
    """The error flags of one plan's kernels on a device, with their messages."""

    def __init__(self, memory: FlagMemory) -> None:
        self._memory = memory
        self._flags: dict[tuple[str, int], _Flag] = {}

    def of(self, name: str, origin: Any) -> Callable[[str], int]:
        """Return a function that reserves error flags for the op `name`. Each call receives an
        error message, and returns the address of the flag with this message.

        If an op is bound again in each run, the op gets the same flags again.
        """
        count = 0

        def address(message: str) -> int:
            nonlocal count
            key = name, count
            count += 1
            old = self._flags.get(key)
            number = old.number if old is not None else self._memory.take()
            self._flags[key] = _Flag(number, message, origin)
            return self._memory.address(number)

        return address

    def wait(self) -> None:
        """Wait until all commands on the GPU have ended, then call `check`. If no kernel has a
        flag, do nothing.
        """
        if self._flags:
            self._memory.wait()
            self.check()

    def check(self) -> None:
        """Raise InvalidArgumentError, with the op's name, if a kernel has set its flag."""
        error = self._error()
        if error is not None:
            raise error

    def _error(self) -> InvalidArgumentError | None:
        """Return the error for the first flag that is set, or None if no flag is set. The error
        contains the messages of all flags that are set. These flags are cleared.
        """
        values, failed = self._memory.values, []
        if values is None:
            return None
        for (name, _), flag in self._flags.items():
            if values[flag.number]:
                values[flag.number] = 0
                failed.append((name, flag))
        if not failed:
            return None
        name, first = failed[0]
        others = [(name, flag.message) for name, flag in failed if flag.message != first.message]
        error = invalid_argument(
            first.message + "".join(f"; '{op}': {text}" for op, text in others)
        )
        note_op(error, name, first.origin)
        return error

    @uninterrupted
    def release(self) -> None:
        """Free the flags. If a flag is set and no run has raised its error, log the error."""
        if self._memory.values is not None and self._flags:
            try:
                self._memory.wait()
            except Exception as error:
                _logger.warning("Waiting for a GPU failed: %s", error)
            unraised = self._error()
            if unraised is not None:
                names = ", ".join(sorted({name for name, _ in self._flags}))
                _logger.error(
                    "A run failed that was not waited for: %s (one of: %s)", unraised, names
                )
        for flag in self._flags.values():
            self._memory.give_back(flag.number)
        self._flags.clear()


def late(error: DriverError, name: str) -> DriverError:
    """Return a copy of an error that appeared while the host waited for the GPU, with advice added
    to its message.
    """
    message = f"{error.message} (raised while waiting for {name}"
    if not is_blocking():
        message += "; with CUDA_LAUNCH_BLOCKING=1 in the environment, the step itself fails"
    if error.fatal:
        message += "; this process can't use the GPU any longer: close its sessions, start anew"
    return DriverError(f"{message})", error.status, error.fatal)
