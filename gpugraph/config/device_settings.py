"""The device functions of `tf.config.experimental`: the machine's devices, and the devices of
sessions without a config.

A physical device is the CPU or a usable CUDA GPU. A logical device is a device of a session.
The lists of devices come from the registered `DeviceSource`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from gpugraph.base.proto_messages import to_bool
from gpugraph.config import process_settings
from gpugraph.config.config_proto import ConfigProto


class DeviceSource(Protocol):
    """The source of two lists: the GPUs of the machine, and the devices of a session."""

    def gpu_ordinals(self) -> Sequence[int]:
        """Return the numbers of the usable CUDA GPUs, as they are used in `visible_device_list`."""

    def session_devices(self, config: ConfigProto) -> Sequence[tuple[str, str]]:
        """Return the full name and the type of each device that a session with this config has."""


class PhysicalDevice(NamedTuple):
    """A device of the machine, with a name such as "/physical_device:GPU:0" and a type."""

    name: str
    device_type: str


source: list[DeviceSource] = []
"""The source of the lists of devices. The package `devices` registers itself here when it is
imported.
"""
_visible: list[list[PhysicalDevice]] = []
_growth: dict[PhysicalDevice, bool] = {}
_parts: dict[PhysicalDevice, list[VirtualDeviceConfiguration]] = {}


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the usable devices of the machine: one CPU, and the CUDA GPUs.

    Args:
      device_type: "CPU" or "GPU" to return only devices of this type, or None.
    """
    gpus = [f"/physical_device:GPU:{index}" for index, _ in enumerate(source[0].gpu_ordinals())]
    devices = [
        PhysicalDevice("/physical_device:CPU:0", "CPU"),
        *(PhysicalDevice(name, "GPU") for name in gpus),
    ]
    return _of_type(devices, device_type)


class LogicalDevice(NamedTuple):
    """A device of a session, with its full name and its type."""

    name: str
    device_type: str


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices that a session without a config would have now. If a type is given, return
    only devices of this type.
    """
    named = source[0].session_devices(process_settings.session_config())
    return _of_type([LogicalDevice(*device) for device in named], device_type)


def experimental_list_devices() -> list[str]:
    """Return the full names of the devices that a session without a config would have now."""
    return [device.name for device in list_logical_devices()]


def _of_type(devices: list[Any], device_type: str | None) -> list[Any]:
    return [device for device in devices if device_type in (None, device.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the physical devices that new sessions without a config use, by default all."""
    return _of_type(list(_visible[0]) if _visible else list_physical_devices(), device_type)


def set_visible_devices(
    devices: PhysicalDevice | Iterable[PhysicalDevice], device_type: str | None = None
) -> None:
    """Restrict new sessions without a config to these physical devices.

    Raises ValueError if one of `devices` is not a physical device, or is not of `device_type`.

    Args:
      devices: one device, or several.
      device_type: if it is set, only the visible devices of this type are replaced.
    """
    chosen = [devices] if isinstance(devices, (PhysicalDevice, str)) else list(devices)
    for device in chosen:
        _check(device, device_type)
    others = get_visible_devices() if device_type is not None else []
    _visible[:] = [[other for other in others if other.device_type != device_type] + chosen]


def _check(device: Any, device_type: str | None = None) -> None:
    known = list_physical_devices(device_type)
    if device not in known:
        names = ", ".join(map(repr, known)) or "none"
        raise ValueError(f"Unrecognized device: {device!r}; there are: {names}")


class VirtualDeviceConfiguration(NamedTuple):
    """One of the devices into which a physical device is divided.

    Args:
      memory_limit: the memory limit in MiB for a GPU, or None for the CPU.
    """

    memory_limit: float | None = None


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Return the value that was set by `set_memory_growth` for a GPU, by default False. Raises
    ValueError for any other device.
    """
    _check(device)
    if device.device_type != "GPU":
        raise ValueError(f"Cannot get memory growth of non-GPU devices: {device!r}")
    return _growth.get(device, False)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Set `GPUOptions.allow_growth` of new sessions without a config.

    All visible GPUs must have the same value when a session is created. gpugraph always reserves
    memory as it is needed, whatever the value is. Raises ValueError if the device is not a GPU, or
    was divided by `set_virtual_device_configuration`.
    """
    _check(device)
    if device in _parts:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type != "GPU":
        raise ValueError(f"Cannot set memory growth on non-GPU devices: {device!r}")
    _growth[device] = to_bool("enable", enable)


def get_virtual_device_configuration(
    device: PhysicalDevice,
) -> list[VirtualDeviceConfiguration] | None:
    """Return the devices into which a physical device is divided, or None if it is not divided.

    Raises ValueError if `device` is not a physical device of this machine.
    """
    _check(device)
    return _parts.get(device)


def set_virtual_device_configuration(
    device: PhysicalDevice, virtual_devices: Sequence[VirtualDeviceConfiguration]
) -> None:
    """Divide a physical device into several devices in new sessions without a config.

    Raises ValueError if the memory limits are invalid, or if `device` is not a device of this
    machine.

    Args:
      virtual_devices: the devices into which it is divided. For a GPU, each must have a memory
        limit in MiB. For the CPU, none may have one.
    """
    _check(device)
    limits = [part.memory_limit for part in virtual_devices]
    if device.device_type == "CPU" and any(limit is not None for limit in limits):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if device.device_type == "GPU" and None in limits:
        raise ValueError("Setting memory limit is required for GPU virtual devices")
    _parts[device] = list(virtual_devices)


def forget() -> None:
    """Undo all settings of this module. Then all devices are visible, none is divided, and memory
    growth is off.
    """
    _visible.clear()
    _growth.clear()
    _parts.clear()


def _add_devices(config: ConfigProto) -> None:
    """Apply the settings of this module to a session's config."""
    if not (_visible or _growth or _parts):
        return
    visible = get_visible_devices()
    for kind in ("CPU", "GPU"):
        counts = [len(_parts.get(device, [None])) for device in _of_type(visible, kind)]
        config.device_count[kind] = sum(counts)
    gpus = _of_type(visible, "GPU")
    options = config.gpu_options
    ordinals = source[0].gpu_ordinals()
    chosen = [ordinals[int(gpu.name.rpartition(":")[2])] for gpu in gpus]
    options.visible_device_list = ",".join(map(str, chosen))
    growths = {get_memory_growth(gpu) for gpu in gpus if gpu not in _parts}
    if len(growths) > 1:
        raise ValueError("Memory growth cannot differ between GPU devices")
    options.allow_growth = growths == {True}
    if any(gpu in _parts for gpu in gpus):
        for gpu in gpus:
            limits = [part.memory_limit for part in _parts.get(gpu, ())]
            options.experimental.virtual_devices.add(memory_limit_mb=limits)


process_settings.parts.append(_add_devices)
