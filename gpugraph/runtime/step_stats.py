"""Step statistics: when each step of a run ran, where, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, NamedTuple

from gpugraph.plan import Step

_KINDS = {"native": ", native", "measure": ", its sizes"}


class NodeExecStats(NamedTuple):
    """One step: node, op type, start (microseconds since the run's), duration, bytes of outputs."""

    node_name: str
    timeline_label: str
    all_start_micros: float
    all_end_rel_micros: float
    output_bytes: int


@dataclass(slots=True)
class StepStats:
    """A run's steps, by device."""

    start_ns: int
    dev_stats: dict[str, list[NodeExecStats]] = field(default_factory=dict)


def timed(stats: StepStats, step: Step, wait: Callable[[], Any] | None = None) -> None:
    """Runs a step and records it; its end is when `wait` returns."""
    start = perf_counter_ns()
    step.run()
    if wait is not None:
        wait()
    end = perf_counter_ns()
    stats.dev_stats.setdefault(step.device, []).append(
        NodeExecStats(
            step.name,
            f"{step.name} = {step.op_type}{_KINDS.get(step.kind, '')}",
            (start - stats.start_ns) / 1000,
            (end - start) / 1000,
            step.output_bytes,
        )
    )
