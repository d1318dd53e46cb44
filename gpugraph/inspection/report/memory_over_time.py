"""Memory of a device over a run: live bytes by time, the peak, and who owns memory there."""

from __future__ import annotations

from typing import Any

from gpugraph.inspection.step_statistics import span_of
from gpugraph.plan import GraphRecord
from gpugraph.runtime import StepTrace

MOST_OWNERS = 20
"""Owners at the peak that are named; the others are one sum."""

MOST_MOMENTS = 2_000
"""Moments of a curve; of neighbours beyond, the one with more bytes stays."""


def memory_over_time(device: str, graph: GraphRecord, trace: StepTrace) -> dict[str, Any]:
    """The curve as `[microseconds, bytes]`, the peak in the plan's order, its owners.

    Bytes are those that the plan knows: of its arena, of variables and of constants.
    """
    live = graph.live_bytes(device)
    known = graph.by_name()
    curve: list[list[float]] = []
    peak_place = max(range(len(live)), key=live.__getitem__, default=-1)
    peak_us = 0.0
    for time in trace.times:
        first, last = span_of(time.step, known)
        if first < 0:
            continue
        start = round(time.begun / 1000, 3)
        curve.append([start, max(live[first : last + 1], default=live[first])])
        if first <= peak_place:
            peak_us = max(peak_us, start)
    return {
        "device": device,
        "curve": _thinned(curve),
        "peak": live[peak_place] if live else 0,
        "peak_us": peak_us,
        "peak_node": graph.nodes[peak_place].name if live else "",
        "owners": owners_at(peak_place, device, graph),
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
