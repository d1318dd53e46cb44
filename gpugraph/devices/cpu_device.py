"""The CPU device: NumPy kernels on host memory, which the allocator registry's preferred factory
provides.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from gpugraph.base.errors import invalid_argument
from gpugraph.config import SessionOptions
from gpugraph.devices.device import HostDevice
from gpugraph.devices.device_factory import DeviceFactory
from gpugraph.memory import Allocator, AllocatorRegistry, AllocatorWrapper

if TYPE_CHECKING:
    from numpy.typing import NDArray


_REPORTED_LIMIT = 256 << 20


class CPUDevice(HostDevice):
    """A CPU device with its own allocator."""

    def __init__(self, name: str) -> None:
        super().__init__(
            name,
            "CPU",
            _of_host_memory(AllocatorRegistry.new_allocator()),
            _REPORTED_LIMIT,
            f"NumPy on {platform.machine()}",
        )

    def constant(self, value: NDArray[Any]) -> NDArray[Any] | None:
        """Return `value`, a Const's array, if kernels can use it in place because it is
        C-contiguous; else None.
        """
        return value if value.flags.c_contiguous else None


def _of_host_memory(allocator: Allocator) -> Allocator:
    """Return the allocator. Raises InvalidArgumentError if it does not implement `host_region`,
    which gives the bytes at an address.
    """
    inner = allocator
    while (
        isinstance(inner, AllocatorWrapper)
        and type(inner).host_region is AllocatorWrapper.host_region
    ):
        inner = inner.inner
    if type(inner).host_region is Allocator.host_region:
        raise invalid_argument(
            f"The CPU needs an allocator of host memory, with `host_region`; ({allocator.name}), "
            f"a {type(inner).__name__}, has none. Give it one, or make it an AllocatorWrapper over "
            f"BFCAllocator(HostSubAllocator(), limit_in_bytes, {allocator.name!r}), which has."
        )
    return allocator


class CPUDeviceFactory:
    """Creates as many CPU devices as `device_count["CPU"]` requires, by default one."""

    def create_devices(self, options: SessionOptions, name_prefix: str) -> list[CPUDevice]:
        """Create the CPU devices of a session."""
        count = options.config.device_count.get("CPU", 1)
        return [CPUDevice(f"{name_prefix}/device:CPU:{index}") for index in range(count)]


class GPUCompatibleCPUDeviceFactory(CPUDeviceFactory):
    """Creates the CPU devices of a process with GPUs. The devices are like those of
    `CPUDeviceFactory`.

    Only the factory's priority differs from that class, since GPU devices can copy from any host
    memory.
    """


DeviceFactory.register("CPU", CPUDeviceFactory(), 60)
DeviceFactory.register("CPU", GPUCompatibleCPUDeviceFactory(), 70)
