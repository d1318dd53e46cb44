"""What kernels refuse: a word of pinned memory for each that may, which it sets when it does.

A GPU can't raise. Kernels that may fail (an index out of range, a value that is not finite) write 1
to their word. Words belong to a plan, so that a run finds what its own kernels refused when
it is over; what a run refused that nobody waited for is found by the next one, or told in the log
when the plan goes. What CUDA itself finds wrong comes out when the GPU is waited for (`late`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.errors import InvalidArgumentError, ResourceExhaustedError, invalid_argument
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.launching.enqueued_work import is_blocking
from gpugraph.kernel import note_op
from gpugraph.memory import Allocator

MOST = 16384
"""Kernels that may fail, of all plans of one GPU in one session."""

_logger = logging.getLogger(__name__)


class Words:
    """The words of one GPU."""

    def __init__(self, pinned: Allocator, wait: Callable[[], Any]) -> None:
        """wait: until what was told to the GPU is done."""
        self.wait = wait
        self.values: Any = None
        self._pinned = pinned
        self._address = 0
        self._free: list[int] = []
        self._lock = threading.Lock()

    def take(self) -> int:
        """The number of a word that is free, and 0."""
        with self._lock:
            if self.values is None:
                self._allocate()
            if not self._free:
                raise ResourceExhaustedError(
                    None, None, f"More than {MOST} kernels of a session that may fail"
                )
            at = self._free.pop()
            self.values[at] = 0
            return at

    def address(self, at: int) -> int:
        return self._address + 4 * at

    def give_back(self, at: int) -> None:
        with self._lock:
            self._free.append(at)

    def _allocate(self) -> None:
        address = self._pinned.allocate_raw(4 * MOST)
        if address is None:
            raise ResourceExhaustedError(None, None, "No pinned memory for what kernels refuse")
        region = self._pinned.host_region(address)
        self.values = np.ndarray(MOST, np.int32, region.buffer, address - region.base)
        self._free = list(range(MOST - 1, -1, -1))
        self._address = address

    def close(self) -> None:
        """Gives the memory back."""
        with self._lock:
            if self.values is not None:
                self.values = None
                self._pinned.deallocate_raw(self._address)


class Refusals:
    """The words of one plan, and what they say."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._said: dict[tuple[str, int], tuple[int, str, Any]] = {}

    def of(self, name: str, origin: Any) -> Callable[[str], int]:
        """What gives, for each thing that a kernel of this op may refuse, the address of its word.

        A step that is bound anew by each run gets the same words again.
        """
        count = 0

        def address(said: str) -> int:
            nonlocal count
            key = name, count
            count += 1
            known = self._said.get(key)
            at = known[0] if known is not None else self._words.take()
            self._said[key] = at, said, origin
            return self._words.address(at)

        return address

    def wait(self) -> None:
        """As `check`, when all kernels are done."""
        if self._said:
            self._words.wait()
            self.check()

    def check(self) -> None:
        """InvalidArgumentError, which names the op, if a kernel that is done has failed."""
        error = self._found()
        if error is not None:
            raise error

    def _found(self) -> InvalidArgumentError | None:
        """The first of what was refused, all of it in its text; the words are 0 then."""
        values, failed = self._words.values, []
        if values is None:
            return None
        for (name, _), (at, said, origin) in self._said.items():
            if values[at]:
                values[at] = 0
                failed.append((name, said, origin))
        if not failed:
            return None
        name, said, origin = failed[0]
        others = "".join(f"; '{other}': {what}" for other, what, _ in failed[1:] if what != said)
        error = invalid_argument(said + others)
        note_op(error, name, origin)
        return error

    def release(self) -> None:
        """Gives the words back; what nobody was told of goes to the log."""
        if self._words.values is not None and self._said:
            try:
                self._words.wait()
            except Exception as error:
                _logger.warning("A GPU was waited for in vain: %s", error)
            found = self._found()
            if found is not None:
                names = sorted({name for name, _ in self._said})
                _logger.error(
                    "A run that nobody waited for failed: %s (one of: %s)", found, ", ".join(names)
                )
        for at, _, _ in self._said.values():
            self._words.give_back(at)
        self._said.clear()


def late(error: DriverError, name: str) -> DriverError:
    """An error that came out when the GPU was waited for, and what to do about it."""
    said = f"{error.message} (it came out when {name} was waited for"
    if not is_blocking():
        said += "; CUDA_LAUNCH_BLOCKING=1 in the environment makes the step fail that does it"
    if error.fatal:
        said += "; this process can't use the GPU any longer: close its sessions, start anew"
    return DriverError(f"{said})", error.status, error.fatal)
