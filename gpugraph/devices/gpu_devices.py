"""GPU devices: one factory for all of them, CUDA's and virtual ones.

A virtual GPU is a device of type GPU whose memory is a space of its own on the host, with a limit
of its own. Programs are placed, partitioned and planned for it as for a real one, and a kernel
that is handed another device's memory is an error, so that a placement and its memory can be
rehearsed on a laptop. Its kernels run by their NumPy `Call`, with the CPU's results to the bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpugraph.base.errors import invalid_argument
from gpugraph.config import GPUOptions, SessionOptions
from gpugraph.devices.cuda.cuda_device import CudaDevice
from gpugraph.devices.cuda.detection.gpu_detection import detect
from gpugraph.devices.cuda.device_options import create_cuda_devices
from gpugraph.devices.cuda.emulation.host_driver import HostDriver, HostMachine
from gpugraph.devices.device import Device, HostDevice
from gpugraph.devices.device_factory import DeviceFactory
from gpugraph.kernel import KernelContext
from gpugraph.memory import GPUBFCAllocator, HostSubAllocator

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PLAYED = "GPUGRAPH_VIRTUAL_GPUS"


def _is_emulating() -> bool:
    """Whether virtual GPUs are to be emulated ones. InvalidArgumentError for what is no answer."""
    asked = os.environ.get(_PLAYED, "")
    if asked not in ("", "emulated"):
        raise invalid_argument(f"{_PLAYED} is {asked!r}; it is 'emulated', or not set")
    return asked == "emulated"


class VirtualGPUDevice(HostDevice):
    """A GPU's place in a session, played by a memory space on the host."""

    def __init__(self, name: str, index: int, memory_limit: int) -> None:
        allocator = GPUBFCAllocator(
            HostSubAllocator(), memory_limit, f"GPU_{index}_bfc", allow_growth=True
        )
        super().__init__(name, "GPU", allocator, memory_limit, "virtual GPU in host memory")

    def check_memory(self, context: KernelContext, arrays: Sequence[NDArray[Any]]) -> None:
        own = [array for at, array in enumerate(arrays) if at not in context.on_host]
        self.refuse_foreign(context.name, own)


class GPUDeviceFactory:
    """Makes the virtual GPUs that `gpu_options.virtual_gpus` asks for (limits in MiB); without it,
    and without `emulated_gpus`, the CUDA GPUs that are there.

    `device_count["GPU"]` caps their number. What else says how many GPUs there are or how much
    memory they take is InvalidArgumentError beside virtual ones; without any GPU it is ignored, as
    in TensorFlow.
    """

    def create_devices(self, options: SessionOptions, name_prefix: str) -> list[Device]:
        asked = options.config.gpu_options
        limits = asked.virtual_gpus or asked.emulated_gpus
        if not limits:
            return list(create_cuda_devices(options, name_prefix))
        _refuse_what_has_no_meaning(asked)
        count = min(len(limits), options.config.device_count.get("GPU", len(limits)))
        is_virtual = bool(asked.virtual_gpus) and not _is_emulating()
        make = _virtual if is_virtual else _emulated(HostMachine())
        return [
            make(f"{name_prefix}/device:GPU:{index}", index, limits[index] << 20)
            for index in range(count)
        ]


def _virtual(name: str, index: int, limit: int) -> Device:
    return VirtualGPUDevice(name, index, limit)


def _emulated(machine: HostMachine) -> Callable[[str, int, int], Device]:
    """Makes GPUs of one machine, whose memory is somewhat larger than the limit: the driver's own
    part of it."""

    def make(name: str, index: int, limit: int) -> Device:
        driver = HostDriver(index, machine, total_bytes=limit + (64 << 20))
        return CudaDevice(name, index, driver, limit)

    return make


def _refuse_what_has_no_meaning(options: GPUOptions) -> None:
    given = {
        "per_process_gpu_memory_fraction": options.per_process_gpu_memory_fraction,
        "allocator_type": "" if options.allocator_type == "BFC" else options.allocator_type,
        "visible_device_list": options.visible_device_list,
        "experimental.virtual_devices": options.experimental.virtual_devices,
    }
    field = "virtual_gpus" if options.virtual_gpus else "emulated_gpus"
    if options.virtual_gpus:
        given["emulated_gpus"] = options.emulated_gpus
    asked = f"GPUOptions.{field} ({getattr(options, field)})"
    for other, value in given.items():
        if value:
            raise invalid_argument(
                f"{asked} says how many GPUs there are and their limits in MiB; "
                f"{other} ({value!r}) has no meaning beside it"
            )


def no_gpu_reason(options: SessionOptions) -> str:
    """Why a session of these options has no GPU: what placement errors say."""
    if options.config.device_count.get("GPU") == 0:
        return 'ConfigProto.device_count["GPU"] is 0'
    if options.config.gpu_options.virtual_gpus or options.config.gpu_options.emulated_gpus:
        return ""
    why = detect().reason
    virtual = "A virtual one is had by ConfigProto(gpu_options=GPUOptions(virtual_gpus=1))"
    return why and f"{why}. ({virtual})"


DeviceFactory.register("GPU", GPUDeviceFactory(), 210)
