"""Device names for strategies: full names, and the devices of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.devices.device_listing import list_local_devices
from gpugraph.graph.device_names import DeviceSpec


def canonical_device(name: str) -> str:
    """Return the full name of a device, as TensorFlow's strategies write it.

    A missing type becomes CPU, and a missing number becomes 0. A missing job stays missing. Raises
    ValueError for an invalid name.
    """
    spec = DeviceSpec.from_string(name)
    full = DeviceSpec(
        job=spec.job,
        replica=spec.replica or 0,
        task=spec.task or 0,
        device_type=spec.device_type or "CPU",
        device_index=spec.device_index or 0,
    )
    return full.to_string()


def canonical_devices(names: Sequence[str]) -> tuple[str, ...]:
    """Return the full names of devices. Raises AssertionError if the list is empty or if a device
    occurs twice.
    """
    devices = tuple(canonical_device(name) for name in names)
    if not devices:
        raise AssertionError("Must specify at least one device.")
    if len(set(devices)) < len(devices):
        raise AssertionError(f"No duplicates allowed in `devices` argument: {list(devices)}")
    return devices


def all_local_devices(num_gpus: int | None = None) -> tuple[str, ...]:
    """Return the first `num_gpus` GPUs of the machine, by default all GPUs. If there is no GPU,
    return the CPU.
    """
    gpus = [device for device in list_local_devices() if device.device_type == "GPU"]
    names = [f"/device:GPU:{number}" for number in range(len(gpus))]
    if num_gpus is not None:
        if num_gpus > len(names):
            raise ValueError(f"{num_gpus} GPUs are asked for; this machine has {len(names)}")
        names = names[:num_gpus]
    return canonical_devices(names or ["/device:CPU:0"])


def first_value(value: Any) -> Any:
    """Return the first component of a per-replica value. Return any other value unchanged."""
    values = getattr(value, "values", None)
    return values[0] if isinstance(values, tuple) else value
