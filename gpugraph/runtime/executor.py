"""The executor, which runs a plan in one thread, one step after the other.

A run loads the feeds, calls the steps and reads the fetches. A failing step ends the run with an
error that names the step. The memory of the run is freed, variables keep the values that earlier
steps have written, and the plan can run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from types import FrameType
from typing import Any

import numpy as np

from gpugraph.base.interruptions.signal_handlers import defers_signals, raised_by_handler
from gpugraph.plan import (
    FetchDestination,
    FetchSlot,
    Plan,
    Step,
    TimeLimit,
    UnfitReportError,
    failed_step,
)
from gpugraph.runtime.step_failure import as_op_error
from gpugraph.runtime.step_times import StepTrace, timed


def _interrupt(frame: FrameType) -> None:
    """Interrupt the run that executes in the Python frame `frame`, because a signal has arrived."""
    frame.f_locals["plan"].clock.interrupt()


def execute(plan: Plan, feeds: Sequence[Any]) -> list[Any]:
    """Run the plan with these arrays, which are in the order of `plan.feeds`. Return the values of
    the fetches.

    The caller must hold `plan.lock` and must have acquired the plan's memory. If a step fails,
    raises TensorFlow's `OpError`, with the step's node and the line of the program that created the
    node.
    """
    return plan.context.run(execute_in_context, plan, feeds)


@defers_signals(_interrupt)
def execute_in_context(plan: Plan, feeds: Sequence[Any]) -> list[Any]:
    """Run the plan as `execute` does. The caller must call this function in `plan.context`."""
    slot: FetchSlot | Step | None = None  # the source of an error that names no step
    plan.running = True
    access = plan.access
    try:
        if access is not None:
            access.enter(plan.clock.check)
        for load, value in zip(plan.loads, feeds):
            load(value)
        if plan.warm:
            slot = plan.alone
            plan.run_unguarded()
        else:
            plan.stale = plan.stale or plan.runs_once
            plan.run_guarded()
            plan.warm = all(state.initialized for state in plan.variables)
        results = []
        for slot in plan.fetches:
            results.append(slot.read())
        for slot in plan.ends:
            slot.read()
        return results
    except UnfitReportError:
        raise
    except Exception as error:
        failed = failed_step(error) or slot
        if failed is None or raised_by_handler(error):
            raise
        raise as_op_error(error, failed) from error
    finally:
        try:
            if plan.has_cells:
                plan.reset()
        finally:
            if access is not None:
                access.leave()
            plan.running = False
            plan.runs += 1
            if plan.stale:  # the plan was dropped during the run
                plan.release()


def execute_traced(
    plan: Plan,
    feeds: Sequence[Any],
    trace: bool,
    limit: TimeLimit | None,
    place: FetchDestination | None = None,
) -> tuple[list[Any], StepTrace | None]:
    """Run the plan as `execute` does, one step at a time. Return the values, and the trace if one
    was recorded, otherwise None.

    Args:
      trace: whether to record the times of the steps. The run then waits for the device after each
        step.
      limit: the time limit. If it has passed, DeadlineExceededError is raised before the next step.
      place: a function that returns arrays into which fetched values are copied.
    """
    stats = StepTrace(in_use=plan.in_use) if trace else None
    results = plan.context.run(_execute_traced, plan, feeds, stats, limit, place)
    if stats is not None:
        stats.finish()
    return results, stats


@defers_signals(_interrupt)
def _execute_traced(
    plan: Plan,
    feeds: Sequence[Any],
    stats: StepTrace | None,
    limit: TimeLimit | None,
    place: FetchDestination | None,
) -> list[Any]:
    clock = plan.clock
    clock.start(limit)
    plan.running = True
    access = plan.access
    try:
        if access is not None:
            access.enter(clock.check)
        for load, value in zip(plan.loads, feeds):
            load(value)
        if stats is not None:
            for wait in plan.waits.values():
                wait()
        plan.stale = plan.stale or plan.runs_once
        for step in plan.steps:
            _run_traced(plan, step, stats)
        clock.check_ended("after the last step")
        plan.warm = all(state.initialized for state in plan.variables)
        results = [_read(slot, number, place) for number, slot in enumerate(plan.fetches)]
        for slot in plan.ends:
            _read(slot)
        return results
    finally:
        clock.start(None)
        try:
            plan.reset()
        finally:
            if access is not None:
                access.leave()
            plan.running = False
            plan.runs += 1
            if plan.stale:
                plan.release()


def _run_traced(plan: Plan, step: Step, stats: StepTrace | None) -> None:
    """Run a step. If the step is a group whose steps may run separately, run these steps one by
    one.
    """
    begun = perf_counter_ns()
    plan.clock.check_ended(f"before '{step.name}'")
    parts = step.group.parts(stats is not None) if step.group is not None else None
    if parts is not None:
        for part in parts:
            _run_traced(plan, part, stats)
        return
    try:
        if stats is None or step.kind == "guard":  # a guard computes nothing
            step.run()
        else:
            timed(stats, step, begun, plan.waits.get(step.device))
    except UnfitReportError:
        raise
    except Exception as error:
        if raised_by_handler(error):
            raise
        raise as_op_error(error, failed_step(error) or step) from error


def _read(slot: FetchSlot, number: int = 0, place: FetchDestination | None = None) -> Any:
    try:
        if place is None or slot.array is None:
            return slot.read()
        target = place(number, slot.array)
        if target is None:
            return slot.read()
        np.copyto(target, slot.array)
        return target
    except Exception as error:
        raise as_op_error(error, slot) from error
