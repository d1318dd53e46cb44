"""The executor: runs a plan, one step after the other, in one thread.

All was settled before: a run loads the feeds, calls the steps and reads the fetches. A step that
fails ends the run with an error that names it; what the run had made is freed, variables keep
what whole steps have written, and the plan can run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, perf_counter_ns
from typing import Any

import numpy as np

from gpugraph.errors import DeadlineExceededError
from gpugraph.plan import FetchSlot, Plan
from gpugraph.runtime.failure import as_op_error
from gpugraph.runtime.stats import StepStats, timed

__all__ = ["execute", "execute_traced"]


def execute(plan: Plan, feeds: Sequence[Any]) -> list[Any]:
    """Runs the plan with these arrays, in the order of `plan.feeds`; the fetches' values.

    Raises TensorFlow's error for what a step raised, with the step's node and line.
    """
    with plan.lock, np.errstate(all="ignore"):
        current: Any = None
        try:
            for slot, value in zip(plan.feeds, feeds):
                slot.load(value)
            for current in plan.runs if plan.warm else plan.guarded:
                current()
            if not plan.warm:
                plan.warm = all(state.initialized for state in plan.variables)
            results = []
            for current in plan.fetches:
                results.append(current.read())
            return results
        except Exception as error:
            if current is None:
                raise
            where = plan.step_of.get(id(current), current)  # a step, or else a fetch
            raise as_op_error(error, where) from error
        finally:
            if plan.has_cells:
                plan.reset()


def execute_traced(
    plan: Plan, feeds: Sequence[Any], trace: bool, timeout_s: float | None
) -> tuple[list[Any], StepStats | None]:
    """As `execute`, with the time of each step, or with a limit on the whole.

    DeadlineExceededError between two steps once `timeout_s` is over.
    """
    ends = None if timeout_s is None else monotonic() + timeout_s
    stats = StepStats(perf_counter_ns()) if trace else None
    with plan.lock, np.errstate(all="ignore"):
        try:
            for slot, value in zip(plan.feeds, feeds):
                slot.load(value)
            for step in plan.steps:
                if ends is not None and monotonic() > ends:
                    raise DeadlineExceededError(
                        None, None, f"Timed out before '{step.name}' after {timeout_s} s"
                    )
                try:
                    if stats is None:
                        step.run()
                    else:
                        timed(stats, step)
                except Exception as error:
                    raise as_op_error(error, step) from error
            plan.warm = all(state.initialized for state in plan.variables)
            return [_fetched(slot) for slot in plan.fetches], stats
        finally:
            plan.reset()


def _fetched(slot: FetchSlot) -> Any:
    try:
        return slot.read()
    except Exception as error:
        raise as_op_error(error, slot) from error
