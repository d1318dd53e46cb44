"""Explanation: how a run is done and why, as a text and as records."""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.memory import human_readable_bytes
from gpugraph.plan import PassReport, Placed, Plan, Transfer

__all__ = ["Explanation"]


class Explanation:
    """Where each op of a run is and why, what goes between devices, what each pass did.

    `str()` gives it all as text; `summary()` leaves out the ops one by one.
    """

    def __init__(self, plan: Plan) -> None:
        self.placed: Sequence[Placed] = plan.placed
        self.transfers: Sequence[Transfer] = plan.transfers
        self.reports: Sequence[PassReport] = plan.reports
        self.arena_bytes: dict[str, int] = dict(plan.arena_bytes)
        self.steps: Sequence[str] = [f"{step.kind} {step.name}" for step in plan.steps]

    def device_of(self, name: str) -> str:
        """The full name of the device of op `name`; KeyError when the run does not hold it."""
        return next_or_key_error((each.device for each in self.placed if each.name == name), name)

    def reason_of(self, name: str) -> str:
        """Why op `name` is where it is; KeyError when the run does not hold it."""
        return next_or_key_error((each.reason for each in self.placed if each.name == name), name)

    def summary(self) -> str:
        """A line for each pass and each device."""
        lines = [
            f"{report.name:<10}{report.seconds * 1e3:9.2f} ms  {report.summary}"
            for report in self.reports
        ]
        for device, size in sorted(self.arena_bytes.items()):
            lines.append(f"arena on {device}: {human_readable_bytes(size)}")
        return "\n".join(lines)

    def table(self) -> str:
        """A line for each op: name, op type, device, how it is run, why it is there."""
        return "\n".join(
            f"{each.name:<40} {each.op_type:<24} {_short(each.device):<8} {each.mode:<28} "
            f"{each.reason}".rstrip()
            for each in self.placed
        )

    def __str__(self) -> str:
        ways = "\n".join(
            f"{way.tensor}: {way.source} -> {way.target} "
            f"({'size known at run time' if way.num_bytes is None else human_readable_bytes(way.num_bytes)})"
            for way in self.transfers
        )
        return "\n\n".join(part for part in (self.summary(), self.table(), ways) if part)


def next_or_key_error(found: object, name: str) -> str:
    """The first of `found`, else KeyError for `name`."""
    for each in found:  # type: ignore[attr-defined]
        return each  # type: ignore[no-any-return]
    raise KeyError(name)


def _short(device: str) -> str:
    return device.rpartition("device:")[2]
