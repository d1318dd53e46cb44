"""A table that compares the devices of a run. It has a column for each device, with operations,
steps, arena and transfers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gpugraph.memory import human_readable_bytes
from gpugraph.plan import ArenaRecord, Transfer


def device_columns(
    operations: Sequence[str],
    steps: Sequence[str],
    arenas: Mapping[str, ArenaRecord],
    transfers: Sequence[Transfer],
) -> str:
    """Return a table with a column for each device, and a line for each pair of devices with
    transfers. If the run uses only one device, return "".

    Args:
      operations, steps: the full names of the devices of all operations and of all steps.
    """
    names = sorted({*operations, *steps})
    if len(names) < 2:
        return ""
    num_operations, num_steps = Counter(operations), Counter(steps)
    rows = [
        ["", *(name.rpartition("device:")[2] for name in names)],
        ["operations", *(str(num_operations[name]) for name in names)],
        ["steps", *(str(num_steps[name]) for name in names)],
        ["arena", *(_arena(arenas.get(name)) for name in names)],
        ["sends", *(_moved([t for t in transfers if t.source == name]) for name in names)],
        ["receives", *(_moved([t for t in transfers if t.target == name]) for name in names)],
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(map(str.rjust, row[1:], widths[1:]))]) for row in rows
    ]
    pairs = sorted({(copy.source, copy.target) for copy in transfers})
    for source, target in pairs:
        moved = _moved(
            [copy for copy in transfers if (copy.source, copy.target) == (source, target)]
        )
        ends = (name.rpartition("device:")[2] for name in (source, target))
        lines.append(f"{' -> '.join(ends)}: {moved}")
    return "\n".join(line.rstrip() for line in lines)


def _arena(arena: ArenaRecord | None) -> str:
    return "-" if arena is None else human_readable_bytes(arena.num_bytes)


def _moved(transfers: Sequence[Transfer]) -> str:
    if not transfers:
        return "-"
    open_sizes = sum(copy.num_bytes is None for copy in transfers)
    text = (
        f"{len(transfers)}, {human_readable_bytes(sum(copy.num_bytes or 0 for copy in transfers))}"
    )
    return f"{text} and {open_sizes} of open size" if open_sizes else text
