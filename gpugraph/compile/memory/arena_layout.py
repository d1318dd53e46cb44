"""Arena layout: the offset of each storage in its device's arena, and the sizes of arenas."""

from __future__ import annotations

from gpugraph.compile.unit.compile_unit import Storage, Unit
from gpugraph.memory import Lifetime, human_readable_bytes, plan_offsets


def lay_out(unit: Unit, storages: list[Storage]) -> list[str]:
    """Assign an offset in its device's arena to each storage, set the sizes of the arenas, and
    return a report line about each.
    """
    by_device: dict[str, list[Storage]] = {}
    for storage in storages:
        by_device.setdefault(storage.device, []).append(storage)
    lines = []
    for device, group in by_device.items():
        plan = plan_offsets(
            [Lifetime(storage.size, storage.first, storage.last) for storage in group]
        )
        for storage, offset in zip(group, plan.offsets):
            storage.offset = offset
        unit.arena_sizes[device] = plan.size
        lines.append(
            f"arena on {device}: {human_readable_bytes(plan.size)} for {len(group)} buffers, which "
            f"hold {human_readable_bytes(sum(storage.size for storage in group))} in turn"
        )
    return lines
