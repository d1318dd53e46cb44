"""The memory of a device during a run: live bytes over time, the peak, and the owners at the peak.

The owner of memory is the tensor, variable or constant that occupies it.
"""

from __future__ import annotations

from typing import Any

from gpugraph.inspection.step_statistics import span_of
from gpugraph.plan import GraphRecord
from gpugraph.runtime import StepTrace

MAX_OWNERS, MAX_MOMENTS = 20, 2_000
"""The maximum number of owners that are named at the peak (the bytes of all other owners are
added), and the maximum number of points of a curve (a longer curve keeps the maximum of each group
of adjacent points).
"""


def memory_over_time(device: str, graph: GraphRecord, trace: StepTrace) -> dict[str, Any]:
    """Return the curve of live bytes, the peak, and the owners at the peak.

    The curve consists of `[microseconds, bytes]` pairs. The bytes include the memory of the plan
    (its arena, variables and constants), and the memory that the device allocates during the run
    for values whose size is known only then.
    """
    live, known = graph.live_bytes(device), graph.by_name()
    place = max(range(len(live)), key=live.__getitem__, default=-1)
    total, sized_then, moment = live[place] if live else 0, 0, 0.0  # values at the peak
    curve: list[list[float]] = []
    sized = 0
    for time in trace.times:
        first, last = span_of(time.step, known)
        if time.step.device == device:
            sized = time.sized
        if first < 0:
            continue
        start = round(time.begun / 1000, 3)
        position = max(range(first, max(first, last) + 1), key=live.__getitem__)
        curve.append([start, live[position] + sized])
        if live[position] + sized > total:
            total, sized_then, place, moment = live[position] + sized, sized, position, start
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
    """Return [owner, kind, bytes] of each storage that is live at position `place` of the node
    order.

    The largest storages come first. The last row sums up all storages after the first `MAX_OWNERS`.
    """
    live = sorted(graph.live(device, place), key=lambda storage: -storage.num_bytes)
    owners: list[list[Any]] = [
        [storage.owner, storage.kind, storage.num_bytes] for storage in live[:MAX_OWNERS]
    ]
    rest = live[MAX_OWNERS:]
    if rest:
        total = sum(storage.num_bytes for storage in rest)
        owners.append([f"{len(rest)} others", "", total])
    return owners


def _thinned(curve: list[list[float]]) -> list[list[float]]:
    """Return the curve reduced to at most `MAX_MOMENTS` points. The peaks of the curve are
    preserved.
    """
    size = -(-len(curve) // MAX_MOMENTS) or 1
    groups = (curve[start : start + size] for start in range(0, len(curve), size))
    return [[group[0][0], max(bytes_ for _, bytes_ in group)] for group in groups]
