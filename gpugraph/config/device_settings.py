"""Devices as `tf.config.experimental` has them: which GPUs sessions without a config use, and how.

A physical device is the CPU, or a CUDA GPU that can be used; a logical device is one that a session
has. Which there are is asked of the `DeviceSource` that the devices register.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from gpugraph.base.proto_messages import to_bool
from gpugraph.config import process_settings
from gpugraph.config.config_proto import ConfigProto


class DeviceSource(Protocol):
    """Knows the devices."""

    def gpu_ordinals(self) -> Sequence[int]:
        """The CUDA GPUs that can be used, by their numbers in `visible_device_list`."""

    def session_devices(self, config: ConfigProto) -> Sequence[tuple[str, str]]:
        """The full name and the type of each device of a session of this config."""


class PhysicalDevice(NamedTuple):
    """A device of the machine: a name such as "/physical_device:GPU:0", and its type."""

    name: str
    device_type: str


source: list[DeviceSource] = []
"""Who knows the devices; they register themselves when they are imported."""
_visible: list[list[PhysicalDevice]] = []
_growth: dict[PhysicalDevice, bool] = {}
_parts: dict[PhysicalDevice, list[VirtualDeviceConfiguration]] = {}


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The machine's devices that can be used: one CPU, and the CUDA GPUs.

    device_type: "CPU" or "GPU", for these alone.
    """
    gpus = [f"/physical_device:GPU:{index}" for index, _ in enumerate(source[0].gpu_ordinals())]
    devices = [
        PhysicalDevice("/physical_device:CPU:0", "CPU"),
        *(PhysicalDevice(name, "GPU") for name in gpus),
    ]
    return _of_type(devices, device_type)


class LogicalDevice(NamedTuple):
    """A device of a session: its full name and its type."""

    name: str
    device_type: str


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that a session without a config would have now, or those of a type."""
    named = source[0].session_devices(process_settings.session_config())
    return _of_type([LogicalDevice(*device) for device in named], device_type)


def experimental_list_devices() -> list[str]:
    """The full names of the devices that a session without a config would have now."""
    return [device.name for device in list_logical_devices()]


def _of_type(devices: list[Any], device_type: str | None) -> list[Any]:
    return [device for device in devices if device_type in (None, device.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The physical devices that new sessions without a config use; all by default."""
    return _of_type(list(_visible[0]) if _visible else list_physical_devices(), device_type)


def set_visible_devices(
    devices: PhysicalDevice | Iterable[PhysicalDevice], device_type: str | None = None
) -> None:
    """Lets new sessions without a config use these physical devices alone.

    devices: one, or several. device_type: they replace the visible devices of this type; those
      of others stay. ValueError for what is no physical device, or not of the type.
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
    """A part of a physical device. memory_limit: of a GPU's part, in MiB."""

    memory_limit: float | None = None


def get_memory_growth(device: PhysicalDevice) -> bool:
    """What `set_memory_growth` set for a GPU; False by default. ValueError for other devices."""
    _check(device)
    if device.device_type != "GPU":
        raise ValueError(f"Cannot get memory growth of non-GPU devices: {device!r}")
    return _growth.get(device, False)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Sets `GPUOptions.allow_growth` of new sessions without a config. It must be equal for all
    visible GPUs when a session is made.

    Memory is taken as it is needed in any case. ValueError for a device that is no GPU, and one
    that is divided.
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
    """The parts of a physical device; None if it is not divided. ValueError for other devices."""
    _check(device)
    return _parts.get(device)


def set_virtual_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[VirtualDeviceConfiguration]
) -> None:
    """Divides a physical device in new sessions without a config.

    logical_devices: the parts; of a GPU each with its memory limit in MiB, of the CPU each
      without. ValueError for another device or part.
    """
    _check(device)
    limits = [part.memory_limit for part in logical_devices]
    if device.device_type == "CPU" and any(limit is not None for limit in limits):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if device.device_type == "GPU" and None in limits:
        raise ValueError("Setting memory limit is required for GPU virtual devices")
    _parts[device] = list(logical_devices)


def forget() -> None:
    """Makes all devices visible again, and none of them divided."""
    _visible.clear()
    _growth.clear()
    _parts.clear()


def _add_devices(config: ConfigProto) -> None:
    """Sets what was set here in a session's config."""
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
