"""Memory of a device over a run: live bytes by time, the peak, and who owns memory there."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.inspection.step_statistics import span_of
from gpugraph.plan import GraphRecord
from gpugraph.runtime import StepTrace

MOST_OWNERS = 20
"""Owners at the peak that are named; the others are one sum."""

MOST_MOMENTS = 2_000
"""Moments of a curve; of neighbours beyond, the one with more bytes stays."""


class _Peak(NamedTuple):
    """The most bytes: of the plan and of what is sized in the run; the place and the time."""

    total: int
    sized: int
    place: int
    moment_us: float


def memory_over_time(device: str, graph: GraphRecord, trace: StepTrace) -> dict[str, Any]:
    """The curve as `[microseconds, bytes]`, the peak, and the owners there.

    Bytes are those that the plan knows (of its arena, of variables and of constants) and those that
    the device gives out during the run, for what is sized in it.
    """
    live, known = graph.live_bytes(device), graph.by_name()
    place = max(range(len(live)), key=live.__getitem__, default=-1)
    peak = _Peak(live[place] if live else 0, 0, place, 0.0)
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
        total = live[most] + sized
        curve.append([start, total])
        if total > peak.total:
            peak = _Peak(total, sized, most, start)
        elif not peak.sized and first <= peak.place:
            peak = peak._replace(moment_us=max(peak.moment_us, start))
    owners = owners_at(peak.place, device, graph)
    return {
        "device": device,
        "curve": _thinned(curve),
        "peak": peak.total,
        "peak_us": peak.moment_us,
        "peak_node": graph.nodes[peak.place].name if live else "",
        "owners": owners + ([["sized in the run", "run", peak.sized]] if peak.sized else []),
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
