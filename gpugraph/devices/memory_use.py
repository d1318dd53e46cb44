"""Who uses a device's memory: its allocator's counters, and the bytes of each owner."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

from gpugraph.devices.device import Device
from gpugraph.memory import AllocatorStats


@dataclass(slots=True)
class MemoryUse(AllocatorStats):
    """The counters of a device's allocator, in bytes, and who has how many of them.

    owners: bytes that were asked for by owner, the most first: a variable or an op by its name, a
    plan as `a run of FETCHES`.
    """

    owners: dict[str, int] = field(default_factory=dict)


def memory_use(device: Device) -> MemoryUse:
    """The counters and owners of now."""
    stats = device.allocator.get_stats()
    owners: Counter[str] = Counter()
    for num_bytes, owner in list(device.owners.values()):
        owners[owner] += num_bytes
    counters = {entry.name: getattr(stats, entry.name) for entry in fields(stats)}
    return MemoryUse(**counters, owners=dict(owners.most_common()))
