"""Copies between two GPUs. Direct copies are used only if a trial has succeeded.

With some settings of the IOMMU, or of a virtual machine, a direct copy between two GPUs reports
success although the data does not arrive. So the first copy of a pair of GPUs is preceded by a
trial, in which a pattern is copied and compared on the host. If the pattern has changed, all copies
of the pair go through pinned host memory, in pieces on the stream of the copy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

import numpy as np

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.devices.cuda.driver.driver_interface import Driver, DriverError, Stream
from gpugraph.memory import HostRegion

TRIAL_BYTES = 4 << 20
"""The size of the trial's copy: many pages and several packets of PCI Express."""

PIECE_BYTES = 16 << 20
"""The maximum number of bytes of a copy through the host: the size of its pinned memory."""

Copy = Callable[[int, int, Driver, int, Stream], None]
"""A function of a target, a source, the source's driver, a number of bytes and a stream."""

_logger = logging.getLogger(__name__)


class PeerDriver(Driver, Protocol):
    """A driver whose GPU can access the memory of other GPUs."""

    def enable_peer(self, other: int) -> None:
        """Enable direct access to the memory of the GPU with the ordinal `other`."""


class PeerCopies:
    """The copies from the memory of other GPUs to the GPU of `driver`.

    Args:
      copy_between: a function that enqueues CUDA's copy between two GPUs.
    """

    def __init__(self, driver: PeerDriver, copy_between: Copy) -> None:
        self._driver = driver
        self._copy_between = copy_between
        self._lock = new_lock()
        self._is_correct: dict[int, bool] = {}
        self._bounces: dict[Stream, int] = {}

    def copy(
        self, target: int, source: int, source_driver: Driver, num_bytes: int, stream: Stream
    ) -> None:
        """Enqueue a copy from another GPU. The copy is direct if the trial of the pair was
        correct.
        """
        with self._lock:
            if self._try_once(source_driver):
                self._copy_between(target, source, source_driver, num_bytes, stream)
            else:
                self._copy_by_host(target, source, num_bytes, stream)

    def close(self) -> None:
        """Forget which pairs of GPUs can copy to each other. The driver frees the memory."""
        self._is_correct.clear()
        self._bounces.clear()

    # -- the trial

    def _try_once(self, source_driver: Driver) -> bool:
        """Return whether copies from a GPU arrive undamaged. The first call makes a trial copy."""
        other = source_driver.properties.ordinal
        if other not in self._is_correct:
            self._driver.enable_peer(other)
            is_correct = self._try_out(source_driver)
            if is_correct is None:  # no memory for a trial now
                return False
            self._is_correct[other] = is_correct
            if not is_correct:
                _logger.warning(
                    "Copies from GPU %d to GPU %d arrive damaged (often caused by an IOMMU or by "
                    "PCI Express ACS); they go through host memory instead",
                    *(other, self._driver.properties.ordinal),
                )
        return self._is_correct[other]

    def _try_out(self, source_driver: Driver) -> bool | None:
        """Make a direct copy, and return whether it arrives undamaged. If there is no memory for
        the trial, return None.
        """
        driver = self._driver
        source, target = source_driver.malloc(TRIAL_BYTES), driver.malloc(TRIAL_BYTES)
        host = driver.malloc_host(TRIAL_BYTES)
        try:
            if source is None or target is None or host is None:
                return None
            return self._try_copy(source_driver, source, target, host)
        finally:
            if source is not None:
                source_driver.free(source)
            if target is not None:
                driver.free(target)
            if host is not None:
                driver.free_host(host.base)

    def _try_copy(
        self, source_driver: Driver, source: int, target: int, region: HostRegion
    ) -> bool:
        """Copy a pattern from the host to the source GPU, to this GPU, and back to the host. Return
        whether the pattern is unchanged.
        """
        driver = self._driver
        content = np.ndarray(TRIAL_BYTES // 4, np.uint32, region.buffer)
        pattern = np.random.default_rng(TRIAL_BYTES).integers(
            0, 1 << 32, content.size, dtype=np.uint32
        )
        host = region.base
        there, here = source_driver.stream("trial of copies"), driver.stream("trial of copies")
        content[:] = ~pattern  # the target must not hold the pattern by chance
        driver.copy_in(target, host, TRIAL_BYTES, here)
        driver.synchronize(here)
        content[:] = pattern
        source_driver.copy_in(source, host, TRIAL_BYTES, there)
        source_driver.synchronize(there)
        content[:] = 0
        try:
            self._copy_between(target, source, source_driver, TRIAL_BYTES, here)
            driver.copy_out(host, target, TRIAL_BYTES, here)
            driver.synchronize(here)
        except DriverError as error:
            if error.fatal:
                raise
            _logger.warning("A copy between GPUs failed: %s", error)
            return False
        return bool((content == pattern).all())

    # -- through the host

    def _copy_by_host(self, target: int, source: int, num_bytes: int, stream: Stream) -> None:
        """Enqueue a copy in pieces through pinned memory. All pieces use the same memory. A piece
        can't overwrite an earlier piece too soon, because the commands of the stream run in order.
        """
        driver = self._driver
        if stream not in self._bounces:
            region = driver.malloc_host(PIECE_BYTES)
            if region is None:
                raise DriverError("there is no pinned host memory for a copy between GPUs")
            self._bounces[stream] = region.base
        bounce = self._bounces[stream]
        for start in range(0, num_bytes, PIECE_BYTES):
            size = min(PIECE_BYTES, num_bytes - start)
            driver.copy_out(bounce, source + start, size, stream)
            driver.copy_in(target + start, bounce, size, stream)
