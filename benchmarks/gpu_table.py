"""The tables of gpu.py, as Markdown: times, rates, host times, agreement, omissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from peers_table import duration, geometric_mean

__all__ = ["tables"]

OWN = "gpugraph"
COPY = "copy of"
ENOUGH_HOST_US, ENOUGH_OF_COPY = 15.0, 0.9

Rows = Mapping[str, Mapping[str, Any]]


def tables(record: Mapping[str, Any]) -> str:
    """All of a record of gpu.py."""
    rows = {name: row for name, row in record["rows"].items() if row["columns"]}
    parts = [
        "**Emulated: the programs are tried; times mean nothing.**" if record["emulated"] else "",
        "\n".join(f"- {name}: {value}" for name, value in record["machine"].items()),
        "\n".join(f"- {name}: {value}" for name, value in record["versions"].items()),
        times(rows),
        table(rows, "rate", rate, "rate"),
        "" if record["emulated"] else beside_copy(rows),
        table(rows, "host_us", duration, "host part of a step"),
        table(rows, "difference", "{:.1e}".format, "difference from gpugraph's results"),
        listed("Remarks:", remarks(rows)),
        listed("Left out:", record["left_out"]),
    ]
    return "\n\n".join(part for part in parts if part)


def listed(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, "", *(f"- {line}" for line in lines)]) if lines else ""


def remarks(rows: Rows) -> list[str]:
    """gpugraph's remarks on its plans."""
    remarks_by_row = {
        name: row["columns"].get(OWN, {}).get("remarks", []) for name, row in rows.items()
    }
    return [
        f"{name}: {remark}"
        for name, row_remarks in remarks_by_row.items()
        for remark in row_remarks
    ]


def columns_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(column for row in rows.values() for column in row["columns"]))


def times(rows: Rows) -> str:
    """Return the times, and the ratio of the best peer's time to gpugraph's: above 1 it is
    ahead.
    """
    columns = columns_of(rows)
    lines = [["time of a step", *columns, "best peer / gpugraph"]]
    ratios = []
    for name, row in rows.items():
        times_us = {column: record["us"] for column, record in row["columns"].items()}
        cells = [duration(times_us[key]) if key in times_us else "" for key in columns]
        peer, ratio = ahead(times_us)
        ratios.append(ratio)
        lines.append([name, *cells, f"{peer} {ratio:.2f}" if peer else ""])
    lines.append(["geometric mean", *("" for _ in columns), f"{geometric_mean(ratios):.2f}"])
    return markdown(lines)


def ahead(times_us: Mapping[str, float]) -> tuple[str, float]:
    """Return the best peer, and its time divided by gpugraph's; "" and 0 where one of them is
    missing.
    """
    others = [column for column in times_us if not column.startswith(OWN)]
    if not others or OWN not in times_us:
        return "", 0.0
    best = min(others, key=times_us.__getitem__)
    return best, times_us[best] / times_us[OWN]


def table(rows: Rows, key: str, text: Callable[[Any], str], title: str) -> str:
    columns = columns_of(rows)
    lines = [[title, *columns]]
    for name, row in rows.items():
        records = row["columns"]
        if not any(key in record for record in records.values()):
            continue
        cells = [
            told(records[column], key, text, row["unit"]) if key in records.get(column, {}) else ""
            for column in columns
        ]
        lines.append([name, *cells])
    return markdown(lines) if len(lines) > 1 else ""


def told(record: Mapping[str, Any], key: str, text: Callable[[Any], str], unit: str) -> str:
    if key == "difference":
        return text(record[key]) + (" DIFFERS" if record["differs"] else "")
    return text(record[key]) + (f" {unit}" if key == "rate" else "")


def rate(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def beside_copy(rows: Rows) -> str:
    """gpugraph's other rates of memory, as shares of the best copy; and whether host times hold."""
    copies = [row["columns"] for name, row in rows.items() if name.startswith(COPY)]
    best = max((record["rate"] for records in copies for record in records.values()), default=0.0)
    lines = []
    for name, row in rows.items():
        ours = row["columns"].get(OWN)
        if ours is None:
            continue
        if row["unit"] == "GB/s" and best and not name.startswith(COPY):
            share = ours["rate"] / best
            aim = "reached" if share >= ENOUGH_OF_COPY else "missed"
            lines.append(
                f"- {name}: {share:.0%} of the fastest copy (aim {ENOUGH_OF_COPY:.0%}: {aim})"
            )
        if name.endswith("step"):
            aim = "reached" if ours["host_us"] <= ENOUGH_HOST_US else "missed"
            lines.append(
                f"- {name}: {ours['host_us']:.1f} us of host time (aim {ENOUGH_HOST_US:.0f}: {aim})"
            )
    return "\n".join(lines)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rest = ("| " + " | ".join(line) + " |" for line in lines)
    rule = "|---" * len(lines[0]) + "|"
    return "\n".join([head, rule, *rest])
