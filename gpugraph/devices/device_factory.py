"""The registry of device factories, and the creation of a session's devices.

A factory's `create_devices(options, name_prefix)` returns its devices in order. The registered
factory with the highest priority is the factory of a device type. The priorities also order the
device types for placement: a GPU (210) is preferred to the CPU (70).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from gpugraph.base.errors import AlreadyExistsError, NotFoundError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.config import SessionOptions
from gpugraph.devices.device import Device


class SupportsCreateDevices(Protocol):
    """The interface of a device factory."""

    def create_devices(self, options: SessionOptions, name_prefix: str) -> Sequence[Device]:
        """Create the devices that the options request. The names of the devices begin with
        `name_prefix`.
        """


class _Entry(NamedTuple):
    factory: SupportsCreateDevices
    priority: int


class DeviceFactory:
    """The process-wide registry of device factories. It contains a factory and its priority for
    each device type.
    """

    _entries: dict[str, _Entry] = {}  # noqa: RUF012
    _lock = new_lock()

    @classmethod
    def register(cls, device_type: str, factory: SupportsCreateDevices, priority: int = 50) -> None:
        """Register a factory for `device_type`. Do nothing if the type has a factory with a higher
        priority.

        Raises AlreadyExistsError if the type has a factory with the same priority. Raises
        InvalidArgumentError if the type is empty, the priority is negative, or the factory has no
        `create_devices`.
        """
        if not device_type or priority < 0 or not hasattr(factory, "create_devices"):
            raise invalid_argument(
                f"A device factory needs a device type, a priority of 0 or more and a method "
                f"create_devices; given: {device_type!r}, {priority}, {factory!r}"
            )
        with cls._lock:
            present = cls._entries.get(device_type)
            if present is not None and present.priority == priority:
                raise AlreadyExistsError.of_no_node(
                    f"Duplicate registration of device factory for type {device_type} with the "
                    f"same priority {priority}"
                )
            if present is None or priority > present.priority:
                cls._entries[device_type] = _Entry(factory, priority)

    @classmethod
    def unregister(cls, device_type: str) -> None:
        """Remove the factory of a device type. Raises NotFoundError if the type has no factory."""
        with cls._lock:
            if cls._entries.pop(device_type, None) is None:
                raise NotFoundError.of_no_node(f"No device factory for type {device_type}")

    @classmethod
    def get_factory(cls, device_type: str) -> SupportsCreateDevices | None:
        """Return the factory of a device type, or None."""
        entry = cls._entries.get(device_type)
        return entry.factory if entry is not None else None

    @classmethod
    def device_priority(cls, device_type: str) -> int:
        """Return the priority of a device type's factory, or -1 if the type has no factory."""
        entry = cls._entries.get(device_type)
        return entry.priority if entry is not None else -1

    @classmethod
    def device_types(cls) -> list[str]:
        """Return the device types that have a factory, in the order in which placement prefers
        them: by priority, then by name.
        """
        entries = cls._entries
        return sorted(
            entries, key=lambda device_type: (-entries[device_type].priority, device_type)
        )

    @classmethod
    def add_devices(cls, options: SessionOptions, name_prefix: str) -> list[Device]:
        """Create all devices for these options, the CPUs first.

        Raises NotFoundError if there is no CPU factory, or if it creates no device. Raises
        AlreadyExistsError if two devices have the same name.
        """
        cpu = cls.get_factory("CPU")
        if cpu is None:
            raise NotFoundError.of_no_node("CPU Factory not registered: no session can run")
        devices = list(cpu.create_devices(options, name_prefix))
        if not devices:
            raise NotFoundError.of_no_node("No CPU devices are available in this process")
        for device_type in cls.device_types():
            factory = cls.get_factory(device_type)
            if device_type != "CPU" and factory is not None:
                devices += factory.create_devices(options, name_prefix)
        names = [device.name for device in devices]
        for name in names:
            if names.count(name) > 1:
                raise AlreadyExistsError.of_no_node(f"Two devices were made of the name {name}")
        return devices
