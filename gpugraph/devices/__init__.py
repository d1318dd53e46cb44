"""Devices, and the registry of their factories. Importing the package registers the CPU and GPU
factories.
"""

from __future__ import annotations

from gpugraph.devices.cpu_device import CPUDevice as CPUDevice, CPUDeviceFactory as CPUDeviceFactory
from gpugraph.devices.cuda.cuda_device import CudaDevice as CudaDevice
from gpugraph.devices.cuda.driver.driver_interface import DriverError as DriverError
from gpugraph.devices.cuda.launching.enqueued_work import (
    Enqueued as Enqueued,
    is_blocking as is_blocking,
)
from gpugraph.devices.cuda.launching.unbound_launch import Touches as Touches
from gpugraph.devices.device import (
    Block as Block,
    Device as Device,
    DeviceAttributes as DeviceAttributes,
    HostDevice as HostDevice,
)
from gpugraph.devices.device_factory import (
    DeviceFactory as DeviceFactory,
    SupportsCreateDevices as SupportsCreateDevices,
)
from gpugraph.devices.device_listing import (
    list_local_devices as list_local_devices,
    unusable_gpus as unusable_gpus,
)
from gpugraph.devices.gpu_devices import (
    GPUDeviceFactory as GPUDeviceFactory,
    VirtualGPUDevice as VirtualGPUDevice,
    no_gpu_reason as no_gpu_reason,
)
from gpugraph.devices.kept_tensors import (
    KeptTensors as KeptTensors,
    NewHandle as NewHandle,
    unknown_handle as unknown_handle,
)
from gpugraph.devices.memory_use import (
    MemoryUse as MemoryUse,
    give_back_idle as give_back_idle,
    memory_use as memory_use,
)
from gpugraph.devices.native.blas_threads import blas_threads as blas_threads
from gpugraph.devices.out_of_memory import (
    STAYS_USABLE as STAYS_USABLE,
    HeldMemory as HeldMemory,
    StepMemory as StepMemory,
    largest_hole as largest_hole,
    out_of_memory as out_of_memory,
    tensor_words as tensor_words,
)
from gpugraph.devices.run_memory import (
    ArenaBlock as ArenaBlock,
    Lease as Lease,
    RunMemory as RunMemory,
    ScratchPool as ScratchPool,
)
from gpugraph.devices.session_resources import (
    Resources as Resources,
    VariableState as VariableState,
    uninitialized as uninitialized,
)
from gpugraph.devices.variable_access import RunAccess as RunAccess
from gpugraph.devices.variable_copies import Copies as Copies
