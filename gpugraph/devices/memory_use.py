"""The use of a device's memory: its allocator's counters, and the bytes of each owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

from gpugraph.devices.device import Device
from gpugraph.memory import AllocatorStats


@dataclass(slots=True)
class MemoryUse(AllocatorStats):
    """The counters of a device's allocator, in bytes, and the bytes of each owner.

    owners: requested bytes by owner, the largest first. An owner is a variable or an op by its
    name, or a plan as `a run of FETCHES`.
    """

    owners: dict[str, int] = field(default_factory=dict)


def memory_use(device: Device) -> MemoryUse:
    """Return the current counters and owners."""
    stats = device.allocator.get_stats()
    owners: Counter[str] = Counter()
    for num_bytes, owner in list(device.owners.values()):
        owners[owner] += num_bytes
    counters = {entry.name: getattr(stats, entry.name) for entry in fields(stats)}
    return MemoryUse(**counters, owners=dict(owners.most_common()))


def give_back_idle(devices: Sequence[Device], reclaim: Callable[[], object]) -> int:
    """Release idle memory with `reclaim`, then whole regions; return the bytes released."""
    before = _reserved(devices)
    reclaim()
    for device in devices:
        device.synchronize()
        device.give_regions_back()
    return before - _reserved(devices)


def _reserved(devices: Sequence[Device]) -> int:
    return sum(device.allocator.get_stats().bytes_reserved for device in devices)
