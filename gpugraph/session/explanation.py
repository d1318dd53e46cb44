"""Explanation: how a run is done and why, as a text and as records."""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.memory import human_readable_bytes
from gpugraph.plan import PassReport, Placement, Plan, Transfer


class Explanation:
    """Where each op of a run is and why, what goes between devices, what each pass did.

    `str()` gives it all as text; `summary()` leaves out the ops one by one.
    """

    def __init__(self, plan: Plan) -> None:
        self.placed: Sequence[Placement] = plan.placements
        self.transfers: Sequence[Transfer] = plan.transfers
        self.reports: Sequence[PassReport] = plan.reports
        self.arena_bytes: dict[str, int] = dict(plan.arena_bytes)
        wanted = [*plan.key.fetches, *plan.key.targets]
        self.title = ", ".join(wanted[:6]) + (" ..." if len(wanted) > 6 else "")
        self.steps: Sequence[str] = [f"{step.kind} {step.name}" for step in plan.steps]

    def device_of(self, name: str) -> str:
        """The full name of the device of op `name`; KeyError when the run does not hold it."""
        return self._placed(name).device

    def reason_of(self, name: str) -> str:
        """Why op `name` is where it is; KeyError when the run does not hold it."""
        return self._placed(name).reason

    def _placed(self, name: str) -> Placement:
        for each in self.placed:
            if each.name == name:
                return each
        raise KeyError(name)

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
            f"{way.tensor}: {way.source} -> {way.target} ({_size(way)})" for way in self.transfers
        )
        told = "\n".join(self._told())
        return "\n\n".join(part for part in (self.summary(), told, self.table(), ways) if part)

    def _told(self) -> Sequence[str]:
        """What is native, and why other steps are not."""
        return [line for report in self.reports if report.name == "bind" for line in report.lines]


def _size(way: Transfer) -> str:
    if way.num_bytes is None:
        return "size known at run time"
    return human_readable_bytes(way.num_bytes)


def _short(device: str) -> str:
    return device.rpartition("device:")[2]
