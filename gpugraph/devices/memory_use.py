"""Memory use: the counters of a device's allocator, and the bytes that each owner has allocated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

from gpugraph.devices.device import Device
from gpugraph.memory import AllocatorStats


@dataclass(slots=True)
class MemoryUse(AllocatorStats):
    """The counters of a device's allocator in bytes, and the owners of its memory.

    Args:
      owners: the number of allocated bytes by owner, in descending order. An owner is the name of a
        variable or an op or, for a plan, `a run of FETCHES`.
    """

    owners: dict[str, int] = field(default_factory=dict)


def memory_use(device: Device) -> MemoryUse:
    """Return the current counters of a device's allocator, and the owners of its memory."""
    stats = device.allocator.get_stats()
    owners: Counter[str] = Counter()
    for num_bytes, owner in list(device.owners.values()):
        owners[owner] += num_bytes
    counters = {entry.name: getattr(stats, entry.name) for entry in fields(stats)}
    return MemoryUse(**counters, owners=dict(owners.most_common()))


def give_back_idle(devices: Sequence[Device], reclaim: Callable[[], object]) -> int:
    """Call `reclaim`, which releases idle plans, and return free memory regions of the devices to
    the system. Return the number of bytes by which the reserved memory has decreased.
    """
    before = _reserved(devices)
    reclaim()
    for device in devices:
        device.synchronize()
        device.give_regions_back()
    return before - _reserved(devices)


def _reserved(devices: Sequence[Device]) -> int:
    return sum(device.allocator.get_stats().bytes_reserved for device in devices)
