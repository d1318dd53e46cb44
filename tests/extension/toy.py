"""A plug-in, as a third party would write it: a device type, a kernel, an allocator, a session.

`TOY:0` is a device that keeps its arrays in memory of its own allocator, has kernels for Add
and Neg, and counts the ops that it ran. The target `toy://...` is served by sessions that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gpugraph as tf
from gpugraph.devices import DeviceFactory, HostDevice
from gpugraph.kernel import Kernel, KernelContext
from gpugraph.memory import (
    Allocator,
    AllocatorRegistry,
    AllocatorStats,
    HostRegion,
    HostSubAllocator,
)
from gpugraph.ops.framework.kernel_registry import register_kernel
from gpugraph.session import SessionBackend, SessionFactory
from gpugraph.session.direct_session import DirectSession

LIMIT = 1 << 20
PRIORITY = 300
RAN: list[str] = []


class PageAllocator(Allocator):
    """Each allocation is a region of the system's own, of whole pages."""

    def __init__(self, name: str = "pages", limit: int = LIMIT) -> None:
        self._name = name
        self._stats = AllocatorStats(bytes_limit=limit)
        self._regions = HostSubAllocator()
        self._sizes: dict[int, int] = {}

    @property
    def name(self) -> str:
        return self._name

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        size = -(-num_bytes // 4096) * 4096
        if size == 0 or self._stats.bytes_in_use + size > (self._stats.bytes_limit or 0):
            return None
        address = self._regions.alloc(4096, size)
        if address is not None:
            self._sizes[address] = size
            self._stats.record_alloc(size)
        return address

    def deallocate_raw(self, address: int | None) -> None:
        if address is not None:
            size = self._sizes.pop(address)
            self._stats.bytes_in_use -= size
            self._regions.free(address, size)

    def host_region(self, address: int) -> HostRegion:
        return self._regions.region(address)

    def get_stats(self) -> AllocatorStats:
        return self._stats


class ToyDevice(HostDevice):
    """A device that counts the kernels it ran and refuses the memory of others."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "TOY", PageAllocator("toy"), LIMIT, "a toy")

    def bind(
        self, kernel: Kernel, context: KernelContext, arrays: Sequence[Any]
    ) -> Callable[[], Any]:
        self.refuse_foreign(context.name, arrays)
        run = super().bind(kernel, context, arrays)

        def counted() -> None:
            RAN.append(context.name)
            run()

        return counted


class ToyDeviceFactory:
    """One toy for each session that targets it."""

    def create_devices(self, options: tf.SessionOptions, name_prefix: str) -> list[ToyDevice]:
        wanted = options.target.startswith("toy://")
        return [ToyDevice(f"{name_prefix}/device:TOY:0")] if wanted else []


class ToySession(DirectSession):
    """A session that counts the requests for new plans."""

    prepared = 0

    def prepare(self, feeds: Any, fetches: Any, targets: Any) -> Any:
        self.prepared += 1
        return super().prepare(feeds, fetches, targets)


class ToySessionFactory:
    """Serves `toy://`."""

    def accepts_options(self, options: tf.SessionOptions) -> bool:
        return options.target.startswith("toy://")

    def new_session(self, options: tf.SessionOptions) -> SessionBackend:
        return ToySession(options)


def register() -> None:
    """Add all of it."""
    DeviceFactory.register("TOY", ToyDeviceFactory(), PRIORITY)
    register_kernel("Add", "TOY", tf.Call(np.add))
    register_kernel("Neg", "TOY", tf.Call(np.negative), types={"T": [tf.float32]})
    AllocatorRegistry.register("Pages", PRIORITY, lambda: PageAllocator("pages", 64 * LIMIT))
    SessionFactory.register("TOY_SESSION", ToySessionFactory())
