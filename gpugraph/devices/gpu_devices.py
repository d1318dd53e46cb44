"""GPU devices: one factory creates CUDA GPUs, emulated GPUs or virtual GPUs.

A virtual GPU is a device of type GPU with its own memory space and memory limit on the host.
Programs are placed, partitioned and planned for a virtual GPU in the same way as for a CUDA GPU. If
a kernel is bound to arrays in the memory of another device, an error is raised. So placement and
memory use can be tested without a GPU. A virtual GPU runs the NumPy `Call` of each kernel, so its
results are equal to the CPU's bit by bit. An emulated GPU runs CUDA kernels on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpugraph.base.errors import invalid_argument
from gpugraph.config import GPUOptions, SessionOptions
from gpugraph.config.environment import setting, whole_number
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


COUNT_SETTING = "GPUGRAPH_VIRTUAL_GPU_COUNT"
"""The environment variable with the number of virtual GPUs of sessions that request none."""

_PROCESS_LIMIT = 16384
"""The memory limit in MiB of each of these virtual GPUs. They grow as programs need memory."""


def _is_emulating() -> bool:
    """Return whether GPUGRAPH_VIRTUAL_GPUS requests emulated GPUs instead of virtual GPUs. Raises
    InvalidArgumentError if the variable's value is invalid.
    """
    return setting("GPUGRAPH_VIRTUAL_GPUS") == "emulated"


def _limits_of_process() -> list[int]:
    """Return the memory limits in MiB of the virtual GPUs that GPUGRAPH_VIRTUAL_GPU_COUNT requests.
    A session gets these GPUs unless its options request virtual or emulated GPUs. Raises
    InvalidArgumentError if the variable's value is invalid.
    """
    return [_PROCESS_LIMIT] * whole_number(COUNT_SETTING, "GPUs")


class VirtualGPUDevice(HostDevice):
    """A device of type GPU that runs NumPy kernels. It has its own memory space, which is host
    memory.
    """

    def __init__(self, name: str, index: int, memory_limit: int) -> None:
        allocator = GPUBFCAllocator(
            HostSubAllocator(), memory_limit, f"GPU_{index}_bfc", allow_growth=True
        )
        super().__init__(name, "GPU", allocator, memory_limit, "virtual GPU in host memory")

    def check_memory(self, context: KernelContext, arrays: Sequence[NDArray[Any]]) -> None:
        """Raise InternalError if an array is not in this device's memory, except for host inputs
        and outputs.
        """
        on_host = context.on_host
        on_device = [array for index, array in enumerate(arrays) if index not in on_host]
        self.refuse_foreign(context.name, on_device)


class GPUDeviceFactory:
    """The factory of all GPU devices.

    The factory creates the virtual GPUs of `gpu_options.virtual_gpus` or the emulated GPUs of
    `emulated_gpus`. Each is a list of memory limits in MiB. If neither is set, the factory creates
    the number of virtual GPUs that GPUGRAPH_VIRTUAL_GPU_COUNT requests. If
    GPUGRAPH_VIRTUAL_GPU_COUNT is not set either, the factory creates the CUDA GPUs.

    `device_count["GPU"]` limits the number of these GPUs. Raises InvalidArgumentError if virtual or
    emulated GPUs are combined with other options for the number or memory of GPUs. If there is no
    GPU, options for the number or memory of GPUs are ignored, as in TensorFlow.
    """

    def create_devices(self, options: SessionOptions, name_prefix: str) -> list[Device]:
        """Create the GPU devices of a session."""
        gpu_options = options.config.gpu_options
        limits = gpu_options.virtual_gpus or gpu_options.emulated_gpus
        if limits:
            _refuse_conflicts(gpu_options)
        else:
            limits = _limits_of_process()
        if not limits:
            return list(create_cuda_devices(options, name_prefix))
        count = min(len(limits), options.config.device_count.get("GPU", len(limits)))
        is_virtual = not gpu_options.emulated_gpus and not _is_emulating()
        create = VirtualGPUDevice if is_virtual else partial(_emulated, HostMachine())
        return [
            create(f"{name_prefix}/device:GPU:{index}", index, limits[index] << 20)
            for index in range(count)
        ]


def _emulated(machine: HostMachine, name: str, index: int, limit: int) -> Device:
    """Create an emulated GPU. The total memory of the GPU is `limit` plus 64 MiB for the driver
    itself.
    """
    driver = HostDriver(index, machine, total_bytes=limit + (64 << 20))
    return CudaDevice(name, index, driver, limit)


def _refuse_conflicts(options: GPUOptions) -> None:
    others = {
        "per_process_gpu_memory_fraction": options.per_process_gpu_memory_fraction,
        "allocator_type": "" if options.allocator_type == "BFC" else options.allocator_type,
        "visible_device_list": options.visible_device_list,
        "experimental.virtual_devices": options.experimental.virtual_devices,
    }
    field = "virtual_gpus" if options.virtual_gpus else "emulated_gpus"
    if options.virtual_gpus:
        others["emulated_gpus"] = options.emulated_gpus
    for other, value in others.items():
        if value:
            raise invalid_argument(
                f"GPUOptions.{field} ({getattr(options, field)}) sets the number of GPUs and "
                f"their limits in MiB; it can't be combined with {other} ({value!r})"
            )


def no_gpu_reason(options: SessionOptions) -> str:
    """Return the reason why a session with these options has no GPU, for placement errors. Return
    "" if the session has a GPU.
    """
    if options.config.device_count.get("GPU") == 0:
        return 'ConfigProto.device_count["GPU"] is 0'
    gpu_options = options.config.gpu_options
    if gpu_options.virtual_gpus or gpu_options.emulated_gpus or _limits_of_process():
        return ""
    reason = detect().reason
    virtual = "For a virtual one: gpugraph run --virtual-gpus 1, or GPUOptions(virtual_gpus=1)"
    return reason and f"{reason}. ({virtual})"


DeviceFactory.register("GPU", GPUDeviceFactory(), 210)
