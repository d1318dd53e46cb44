"""The executor: runs a plan, one step after the other, in one thread.

All was settled before: a run loads the feeds, calls the steps and reads the fetches. A step that
fails ends the run with an error that names it; what the run had made is freed, variables keep
what whole steps have written, and the plan can run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from gpugraph.plan import FetchSlot, Plan, Step
from gpugraph.runtime.step_failure import as_op_error
from gpugraph.runtime.step_stats import StepStats, timed


def execute(plan: Plan, feeds: Sequence[Any]) -> list[Any]:
    """Runs the plan with these arrays, in the order of `plan.feeds`; the fetches' values.

    The caller holds `plan.lock`. Raises TensorFlow's error for what a step raised, with the
    step's node and line.
    """
    plan.running = True
    try:
        return plan.context.run(_execute, plan, feeds)
    finally:
        _ended(plan)


def _ended(plan: Plan) -> None:
    """A run is over. A plan that was given up meanwhile gives back what it holds."""
    plan.running = False
    if plan.stale:
        plan.release()


def _execute(plan: Plan, feeds: Sequence[Any]) -> list[Any]:
    current: Any = None
    try:
        for load, value in zip(plan.loads, feeds):
            load(value)
        if plan.warm:
            for current in plan.runs:
                current()
        else:
            for current in plan.guarded:
                current()
            plan.warm = all(state.initialized for state in plan.variables)
        results = []
        for current in plan.reads:
            results.append(current())
        for current in plan.ends:
            current()
        return results
    except Exception as error:
        failed = plan.raiser(error, current)
        if failed is None:
            raise
        raise as_op_error(error, failed) from error
    finally:
        if plan.has_cells:
            plan.reset()


def execute_traced(
    plan: Plan, feeds: Sequence[Any], trace: bool, timeout_s: float | None
) -> tuple[list[Any], StepStats | None]:
    """As `execute`, with the time of each step, or with a limit on the whole.

    For the times, a device that computes by itself is waited for after each step.
    DeadlineExceededError between two steps once `timeout_s` is over.
    """
    stats = StepStats(perf_counter_ns()) if trace else None
    plan.running = True
    try:
        return plan.context.run(_execute_traced, plan, feeds, stats, timeout_s), stats
    finally:
        _ended(plan)


def _execute_traced(
    plan: Plan, feeds: Sequence[Any], stats: StepStats | None, timeout_s: float | None
) -> list[Any]:
    clock = plan.clock
    clock.start(timeout_s)
    try:
        for load, value in zip(plan.loads, feeds):
            load(value)
        if stats is not None:
            for wait in plan.waits.values():
                wait()
        for step in plan.steps:
            _run_traced(plan, step, stats)
        clock.check("after the last step")
        plan.warm = all(state.initialized for state in plan.variables)
        results = [_fetched(slot) for slot in plan.fetches]
        for end in plan.ends:
            _fetched(FetchSlot("the end of the run", end))
        return results
    finally:
        clock.start(None)
        plan.reset()


def _run_traced(plan: Plan, step: Step, stats: StepStats | None) -> None:
    """Runs one step, or those of a region that is alive."""
    plan.clock.check(f"before '{step.name}'")
    if step.kind == "region":
        if step.run.is_alive():  # type: ignore[attr-defined]
            for inner in step.body:
                _run_traced(plan, inner, stats)
        return
    if step.kind == "guard" and stats is not None:
        stats = None  # it computes nothing
    if step.kind == "stretch":
        for inner in step.run.parts(stats is not None):  # type: ignore[attr-defined]
            _run_traced(plan, inner, stats)
        return
    try:
        if stats is None:
            step.run()
        else:
            timed(stats, step, plan.waits.get(step.device))
    except Exception as error:
        raise as_op_error(error, plan.raiser(error, step.run) or step) from error


def _fetched(slot: FetchSlot) -> Any:
    try:
        return slot.read()
    except Exception as error:
        raise as_op_error(error, slot) from error
