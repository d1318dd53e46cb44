"""Arena layout: the offset of each storage in its device's arena, and the sizes of arenas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpugraph.base.sizes import hint
from gpugraph.compile.unit.compile_unit import Storage, Unit
from gpugraph.memory import (
    ArenaPlan,
    Lifetime,
    Stacking,
    buffers_below,
    human_readable_bytes,
    plan_offsets,
)
from gpugraph.plan import PassReport


def lay_out(unit: Unit) -> list[str]:
    """Set the offsets of buffers and the sizes of arenas. Return a report line about each arena.

    If sizes are open, the offsets are valid for the sizes of the first run. `Relayout` computes the
    offsets for all other sizes.
    """
    for device, group in _by_device(unit.storages).items():
        plan = plan_offsets(
            [Lifetime(hint(storage.size), storage.first, storage.last) for storage in group]
        )
        _set_offsets(unit, device, group, plan)
    return _lines(unit)


def _set_offsets(unit: Unit, device: str, group: Sequence[Storage], plan: ArenaPlan) -> None:
    for storage, offset in zip(group, plan.offsets):
        storage.offset = offset
    unit.arena_sizes[device] = plan.size


def _lines(unit: Unit) -> list[str]:
    """Return a report line for each arena."""
    return [
        f"arena on {device}: {human_readable_bytes(unit.arena_sizes[device])} for {len(group)} "
        "buffers, which hold "
        f"{human_readable_bytes(sum(hint(storage.size) for storage in group))} in turn"
        for device, group in _by_device(unit.storages).items()
    ]


class Relayout:
    """The layout of a unit's arenas for any values of its open sizes. For each buffer, it contains
    the list of the buffers below. These lists are the same for all values.
    """

    def __init__(self, unit: Unit, part_of: Callable[[Storage], int] = lambda _: 0) -> None:
        """Derive the layout from the offsets of the unit's buffers.

        Args:
          part_of: a function that returns the stage of a run at whose start the size of a buffer
            becomes known. Buffers of earlier stages are below buffers of later stages.
        """
        self._stackings: dict[str, Stacking] = {}
        for device, group in _by_device(unit.storages).items():
            lifetimes = [Lifetime(hint(s.size), s.first, s.last) for s in group]
            parts = [part_of(s) for s in group]
            candidates = [
                Stacking(buffers_below(lifetimes, places))
                for places in _orders(lifetimes, [s.offset for s in group], parts)
            ]
            sizes = [lifetime.size for lifetime in lifetimes]
            self._stackings[device] = min(candidates, key=lambda one: one.plan(sizes).size)

    def apply(self, unit: Unit) -> None:
        """Set the offsets and arena sizes of `unit`, a unit in which all sizes are known."""
        for device, group in _by_device(unit.storages).items():
            plan = self._stackings[device].plan([storage.size for storage in group])
            _set_offsets(unit, device, group, plan)

    def stacking(self, device: str) -> Stacking:
        """Return the order of a device's buffers in the arena."""
        return self._stackings[device]

    def reports(self, unit: Unit) -> list[PassReport]:
        """Return the pass reports of `unit`, with the current sizes of the arenas in the report of
        this pass.
        """
        return [
            report._replace(lines=_lines(unit)) if report.name == "memory_planning" else report
            for report in unit.reports
        ]


def _orders(
    lifetimes: Sequence[Lifetime], offsets: Sequence[int], parts: Sequence[int]
) -> Iterator[Sequence[int]]:
    """Yield possible orders of buffers in the arena. Each order is a sequence with one sort key for
    each buffer.

    Buffers of earlier stages are always below buffers of later stages. Within a stage, three orders
    are tried. The first is the order in the plan of all stages. The second is the order in a plan
    of the stage alone. The third is the second order, but buffers that are no longer live when the
    next stage begins come first.
    """
    top = 1 + max(offsets)
    yield [part * top + offset for part, offset in zip(parts, offsets)]
    if not any(parts):
        return
    alone, is_brief = [0] * len(parts), [False] * len(parts)
    for part in set(parts):
        group = [index for index, other in enumerate(parts) if other == part]
        plan = plan_offsets([lifetimes[index] for index in group])
        following = [lifetimes[i].first for i, other in enumerate(parts) if other > part]
        for index, offset in zip(group, plan.offsets):
            alone[index] = offset
            is_brief[index] = lifetimes[index].last < min(following, default=0)
    top = 1 + max(alone)
    yield [part * top + offset for part, offset in zip(parts, alone)]
    yield [(2 * part + brief) * top + offset for part, brief, offset in zip(parts, is_brief, alone)]


def _by_device(storages: Sequence[Storage]) -> dict[str, list[Storage]]:
    groups: dict[str, list[Storage]] = {}
    for storage in storages:
        groups.setdefault(storage.device, []).append(storage)
    return groups
