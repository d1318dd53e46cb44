"""Device maps: the devices of the components of per-replica values, by the index of the replica."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gpugraph.graph.client.default_graph_functions import get_default_graph


class DeviceMap:
    """Base class of the maps from replicas to devices. Each replica is on one device."""

    _devices: tuple[str, ...]

    @property
    def all_devices(self) -> tuple[str, ...]:
        """All devices."""
        return self._devices

    @property
    def devices_by_replica(self) -> Iterator[tuple[str, ...]]:
        """The devices of each replica."""
        raise ValueError(f"{type(self).__name__} not indexed by replicas")

    @property
    def num_logical_devices(self) -> int:
        """The number of devices of a replica."""
        return 1

    @property
    def num_replicas_in_graph(self) -> int:
        """The number of devices that have a component."""
        return len(self._devices)

    def logical_device_from_values(self, values: Any) -> int:
        """Return 0, the index of the components' device among the devices of a replica."""
        del values
        return 0

    def logical_to_actual_devices(self, logical_device_id: int) -> tuple[str, ...]:
        """Return the devices of the components. Raises AssertionError unless `logical_device_id` is
        0, because each replica has only one device.
        """
        if logical_device_id != 0:
            raise AssertionError(f"A replica has one device, with the index 0, not "
                                 f"{logical_device_id}")  # fmt: skip
        return self._devices

    def select_for_current_replica(self, values: Sequence[Any], replica_context: Any) -> Any:
        """Return the component that belongs to the replica of `replica_context`."""
        return values[replica_context._replica_id]

    def select_for_device(self, values: Sequence[Any], device: str) -> Any:
        """Return the component on a device. Raises ValueError if there is none."""
        if device not in self._devices:
            here = get_default_graph()._scope.device or ""
            raise ValueError(
                f"Device {device} not found in {self._devices} (current device {here})"
            )
        return values[self._devices.index(device)]

    def replica_for_device(self, device: str) -> int | None:
        """Return the index of the replica on a device, or None."""
        raise ValueError(f"{type(self).__name__} not indexed by replicas")

    def is_device_in_replica(self, device: str, replica_id: int) -> bool:
        """Return whether a device belongs to a replica."""
        raise ValueError(f"{type(self).__name__} not indexed by replicas")


class SingleDeviceMap(DeviceMap):
    """The map for a value on one device that all replicas share."""

    def __init__(self, device: str) -> None:
        self._devices = (device,)

    def select_for_current_replica(self, values: Sequence[Any], replica_context: Any) -> Any:
        """Return the only component."""
        del replica_context
        return values[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._devices[0]!r})"


class ReplicaDeviceMap(DeviceMap):
    """The map of replicas with one device each.

    Raises ValueError if two replicas have the same device.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        self._devices = tuple(devices)
        if len(set(self._devices)) != len(self._devices):
            raise ValueError(
                f"Duplicate devices in {devices}, after canonicalization: {self._devices}"
            )

    @property
    def devices_by_replica(self) -> Iterator[tuple[str, ...]]:
        """The devices of each replica."""
        return ((name,) for name in self._devices)

    def replica_for_device(self, device: str) -> int | None:
        """Return the index of the replica on a device, or None."""
        return self._devices.index(device) if device in self._devices else None

    def is_device_in_replica(self, device: str, replica_id: int) -> bool:
        """Return whether `device` is the device of the replica `replica_id`."""
        return self._devices[replica_id] == device

    def __str__(self) -> str:
        return f"[{', '.join(self._devices)}]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self._devices))}])"


class WorkerDeviceMap(DeviceMap):
    """The map of values with one component for each worker.

    Args:
      devices: the device of each worker.
      num_replicas_per_worker: the number of replicas of each worker.
    """

    def __init__(self, devices: Sequence[str], num_replicas_per_worker: int) -> None:
        self._devices = tuple(devices)
        self._num_replicas_per_worker = num_replicas_per_worker

    def select_for_current_replica(self, values: Sequence[Any], replica_context: Any) -> Any:
        """Return the component of the worker that runs the replica of `replica_context`."""
        return values[replica_context._replica_id // self._num_replicas_per_worker]

    def __repr__(self) -> str:
        return (f"{type(self).__name__}({self._devices!r}, "
                f"num_replicas_per_worker={self._num_replicas_per_worker})")  # fmt: skip


class LogicalDeviceSpec(NamedTuple):
    """A device map, and the index of a device among the devices of a replica."""

    device_map: DeviceMap
    logical_device: int
