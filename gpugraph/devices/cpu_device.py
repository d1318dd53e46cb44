"""The CPU device, which runs NumPy kernels on host memory. The factory with the highest priority in
the allocator registry creates the device's allocator.
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
    """A CPU device with a separate allocator."""

    shares_memory = True

    def __init__(self, name: str) -> None:
        super().__init__(
            name,
            "CPU",
            _of_host_memory(AllocatorRegistry.new_allocator()),
            _REPORTED_LIMIT,
            f"NumPy on {platform.machine()}",
        )

    def constant(self, value: NDArray[Any]) -> NDArray[Any] | None:
        """Return `value`, the array of a Const, if kernels can use it in place because it is
        C-contiguous. Otherwise return None.
        """
        return value if value.flags.c_contiguous else None


def _of_host_memory(allocator: Allocator) -> Allocator:
    """Return the allocator unchanged. Raises InvalidArgumentError if the allocator has no method
    `host_region`, which returns the bytes at an address.
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
    """The factory of CPU devices. It creates as many devices as `device_count["CPU"]` requests, by
    default one.
    """

    def create_devices(self, options: SessionOptions, name_prefix: str) -> list[CPUDevice]:
        """Create the CPU devices of a session."""
        count = options.config.device_count.get("CPU", 1)
        return [CPUDevice(f"{name_prefix}/device:CPU:{index}") for index in range(count)]


class GPUCompatibleCPUDeviceFactory(CPUDeviceFactory):
    """The factory of the CPU devices of a process with GPUs.

    This factory differs from `CPUDeviceFactory` only in its priority. The devices are the same,
    since GPU devices can copy from any host memory.
    """


DeviceFactory.register("CPU", CPUDeviceFactory(), 60)
DeviceFactory.register("CPU", GPUCompatibleCPUDeviceFactory(), 70)
