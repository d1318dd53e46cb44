"""Executions with a time limit, or with statistics of their steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.plan import Plan, PlanKey, TimeLimit
from gpugraph.runtime import StepStats, execute_traced


class TracedExecution:
    """Executes a plan with a time limit, which starts now (0: none), and statistics if `trace`.

    one_thread: whether all is done in the calling thread.

    `stats` and `key` are those of the plan that was run.
    """

    def __init__(self, trace: bool, limit_ms: int, one_thread: bool = False) -> None:
        self.trace = trace
        self.one_thread = one_thread
        self.limit = TimeLimit.of(limit_ms / 1000) if limit_ms > 0 else None
        self.stats: StepStats | None = None
        self.key: PlanKey | None = None

    def __call__(self, plan: Plan, values: Sequence[Any]) -> list[Any]:
        self.key = plan.key
        plan.clock.one_thread = self.one_thread
        try:
            results, self.stats = execute_traced(plan, values, self.trace, self.limit)
        finally:
            plan.clock.one_thread = False
        return results
