"""Memory of a device over a run: live bytes by time, the peak, and who owns memory there."""

from __future__ import annotations

from typing import Any

from gpugraph.inspection.step_statistics import span_of
from gpugraph.plan import GraphRecord
from gpugraph.runtime import StepTrace

MOST_OWNERS, MOST_MOMENTS = 20, 2_000
"""Owners at the peak that are named (the others are one sum); moments of a curve (of neighbours
beyond, the one with more bytes stays)."""


def memory_over_time(device: str, graph: GraphRecord, trace: StepTrace) -> dict[str, Any]:
    """The curve as `[microseconds, bytes]`, the peak, and the owners there.

    Bytes are those that the plan knows (of its arena, of variables and of constants) and those that
    the device gives out during the run, for what is sized in it.
    """
    live, known = graph.live_bytes(device), graph.by_name()
    place = max(range(len(live)), key=live.__getitem__, default=-1)
    total, sized_then, moment = live[place] if live else 0, 0, 0.0  # at the peak
    curve: list[list[float]] = []
    sized = 0
    for time in trace.times:
        first, last = span_of(time.step, known)
        if time.step.device == device:
            sized = time.sized
        if first < 0:
            continue
        start = round(time.begun / 1000, 3)
        most = max(range(first, max(first, last) + 1), key=live.__getitem__)
        curve.append([start, live[most] + sized])
        if live[most] + sized > total:
            total, sized_then, place, moment = live[most] + sized, sized, most, start
        elif not sized_then and first <= place:
            moment = max(moment, start)
    owners = owners_at(place, device, graph)
    return {
        "device": device,
        "curve": _thinned(curve),
        "peak": total,
        "peak_us": moment,
        "peak_node": graph.nodes[place].name if live else "",
        "owners": owners + ([["sized in the run", "run", sized_then]] if sized_then else []),
    }


def owners_at(place: int, device: str, graph: GraphRecord) -> list[list[Any]]:
    """Owner, kind and bytes of what is live at a place, most first; the rest as one."""
    live = sorted(graph.live(device, place), key=lambda storage: -storage.num_bytes)
    owners: list[list[Any]] = [
        [storage.owner, storage.kind, storage.num_bytes] for storage in live[:MOST_OWNERS]
    ]
    rest = live[MOST_OWNERS:]
    if rest:
        total = sum(storage.num_bytes for storage in rest)
        owners.append([f"{len(rest)} others", "", total])
    return owners


def _thinned(curve: list[list[float]]) -> list[list[float]]:
    """A curve of at most `MOST_MOMENTS`, with the peaks it had."""
    size = -(-len(curve) // MOST_MOMENTS) or 1
    groups = (curve[start : start + size] for start in range(0, len(curve), size))
    return [[group[0][0], max(bytes_ for _, bytes_ in group)] for group in groups]
