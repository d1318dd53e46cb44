"""Devices and the registry of their factories. Importing this registers the CPU and the GPU."""

from __future__ import annotations

from gpugraph.devices.cpu_device import CPUDevice, CPUDeviceFactory
from gpugraph.devices.cuda.cuda_device import CudaDevice
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.launching.enqueued_work import Enqueued, is_blocking
from gpugraph.devices.cuda.launching.unbound_launch import Touches
from gpugraph.devices.device import Block, Device, DeviceAttributes, HostDevice, out_of_memory
from gpugraph.devices.device_factory import DeviceFactory, SupportsCreateDevices
from gpugraph.devices.device_listing import list_local_devices, unusable_gpus
from gpugraph.devices.gpu_devices import GPUDeviceFactory, VirtualGPUDevice, no_gpu_reason
from gpugraph.devices.session_resources import Resources, VariableState, uninitialized

__all__ = [
    "Block",
    "CPUDevice",
    "CPUDeviceFactory",
    "CudaDevice",
    "Device",
    "DeviceAttributes",
    "DeviceFactory",
    "DriverError",
    "Enqueued",
    "GPUDeviceFactory",
    "HostDevice",
    "Resources",
    "SupportsCreateDevices",
    "Touches",
    "VariableState",
    "VirtualGPUDevice",
    "is_blocking",
    "list_local_devices",
    "no_gpu_reason",
    "out_of_memory",
    "uninitialized",
    "unusable_gpus",
]
