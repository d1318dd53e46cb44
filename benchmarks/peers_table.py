"""The tables of a benchmark: times of each column with their ratios, then other measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

__all__ = ["show"]

Records = Mapping[str, Mapping[str, Mapping[str, float]]]
OWN = "gpugraph"
NOT_A_PACKAGE = "numpy"
"""NumPy code was written by hand for one program: the second ratio leaves it out."""


def show(results: Records) -> None:
    """Print the times with ratios, then the other measurements of each process.

    A ratio is the best peer's time divided by gpugraph's: above 1 gpugraph is ahead.
    """
    table(results, "us", duration, "time")
    titles = {
        "build_ms": "preparing, ms",
        "first_ms": "first step, ms",
        "cpu_ms": "CPU time of the process and of compilers, ms",
    }
    for key, title in titles.items():
        if any(key in record for records in results.values() for record in records.values()):
            table(results, key, "{:.1f}".format, title)
    table(results, "peak_mb", "{:.0f}".format, "largest resident size, MB")


def table(results: Records, key: str, text: Callable[[float], str], title: str) -> None:
    lines_by_row = {
        name: {column: record[key] for column, record in records.items() if key in record}
        for name, records in results.items()
        if any(key in record for record in records.values())
    }
    columns = list(dict.fromkeys(column for values in lines_by_row.values() for column in values))
    columns.sort(key=lambda column: not column.startswith(OWN))
    lines = [[title, *columns]]
    for name, values in lines_by_row.items():
        lines.append([name, *(text(values[key]) if key in values else "" for key in columns)])
    if key == "us":
        add_ratios(lines, list(lines_by_row.values()))
    print_lines(lines)


def add_ratios(lines: list[list[str]], times: Sequence[Mapping[str, float]]) -> None:
    """Two more columns, which name the best peer, and their geometric means as the last line."""
    means = ["geometric mean", *("" for _ in lines[0][1:])]
    for by_hand, title in ((True, "best / gpugraph"), (False, "best package / gpugraph")):
        ratios = [ratio(times_by_column, by_hand) for times_by_column in times]
        cells = [
            f"{best(times_by_column, by_hand)} {factor:.2f}"
            for times_by_column, factor in zip(times, ratios)
        ]
        lines[0].append(title)
        for line, cell, factor in zip(lines[1:], cells, ratios):
            line.append(cell if factor else "")
        means.append(f"{geometric_mean(ratios):.2f}")
    lines.append(means)


def best(times: Mapping[str, float], by_hand: bool) -> str:
    """Return the fastest peer; empty where there is none. NumPy by hand counts if `by_hand`."""
    peers = [
        column
        for column in times
        if not column.startswith(OWN) and (by_hand or column != NOT_A_PACKAGE)
    ]
    return min(peers, key=times.__getitem__, default="")


def ratio(times: Mapping[str, float], by_hand: bool) -> float:
    """The best peer's time divided by gpugraph's; 0 where one of them is missing."""
    peer = best(times, by_hand)
    return times[peer] / times[OWN] if peer and OWN in times else 0.0


def geometric_mean(ratios: Sequence[float]) -> float:
    logs = [math.log(ratio) for ratio in ratios if ratio]
    return math.exp(sum(logs) / len(logs)) if logs else 0.0


def duration(microseconds: float) -> str:
    if microseconds < 1e3:
        return f"{microseconds:.3g} us"
    if microseconds < 1e6:
        return f"{microseconds / 1e3:.3g} ms"
    return f"{microseconds / 1e6:.3g} s"


def print_lines(lines: Sequence[Sequence[str]]) -> None:
    """Print lines as Markdown with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    for index, line in enumerate(lines):
        cells = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        print("| " + " | ".join([line[0].ljust(widths[0]), *cells]) + " |")
        if index == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print()
