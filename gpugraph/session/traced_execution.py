"""Executions with a time limit, or with statistics of their steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.plan import Plan, TimeLimit
from gpugraph.runtime import StepTrace, execute_traced


class TracedExecution:
    """Executes a plan with a time limit, which starts now (0: none), and statistics if `trace`.

    `times` and `plan` are those of the run.
    """

    def __init__(self, trace: bool, limit_ms: int) -> None:
        self.trace = trace
        self.limit = TimeLimit.of(limit_ms / 1000) if limit_ms > 0 else None
        self.times: StepTrace | None = None
        self.plan: Plan | None = None

    def __call__(self, plan: Plan, values: Sequence[Any]) -> list[Any]:
        self.plan = plan
        results, self.times = execute_traced(plan, values, self.trace, self.limit)
        return results
