"""Concurrent calls of user functions that do not depend on each other.

TensorFlow runs such functions in a thread pool, so that a function may wait for another function.
Here, adjacent calls at one depth of the order (see `compile/memory/execution_order.py`) and under
one guard become one step. The step reads the inputs and writes the results in the thread of the
run, and calls each function in a separate thread. The step waits briefly for each function before
it calls the next one, so that quick functions run in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.compile.steps.call_threads import CallThread
from gpugraph.compile.steps.dynamic_steps import CallingStep
from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.plan import Step, StepGroup, WaitingRun, noting_step

_HEAD_START_S = 0.01  # wait for a function before the next is called
_SLICE_S = 0.05  # interval of checks for cancellation


def with_concurrent_calls(entries: Sequence[GuardedStep]) -> list[GuardedStep]:
    """Merge adjacent calls that do not depend on each other into one step. Return the resulting
    list of steps.

    If a check that a variable is initialized is between two calls, the check is moved before the
    calls.
    """
    result: list[GuardedStep] = []
    calls: list[GuardedStep] = []
    checks: list[GuardedStep] = []
    for entry in entries:
        if calls and entry.step.kind == "guard" and entry.guard == calls[0].guard:
            checks.append(entry)
            continue
        if calls and not _goes_with(entry, calls[0]):
            result += [*_joined(calls), *checks]
            calls, checks = [], []
        if _is_call(entry):
            result += checks
            calls, checks = [*calls, entry], []
        else:
            result.append(entry)
    return [*result, *_joined(calls), *checks]


def _is_call(entry: GuardedStep) -> bool:
    run = entry.step.run
    return isinstance(run, WaitingRun) and isinstance(run.step_run, CallingStep)


def _goes_with(entry: GuardedStep, call: GuardedStep) -> bool:
    """Return whether a step is a call of a user function at the same depth as `call`. Calls at one
    depth do not depend on each other.
    """
    return _is_call(entry) and entry.guard == call.guard and entry.step.depth == call.step.depth


def _joined(calls: Sequence[GuardedStep]) -> Sequence[GuardedStep]:
    if len(calls) < 2:
        return calls
    group = ConcurrentCalls([entry.step for entry in calls])
    return [GuardedStep(calls[0].guard, Step.of(group, "concurrent"))]


def wait_for_all(calls: Sequence[CallThread], check: Callable[[str], None]) -> None:
    """Wait until all calls have returned. If a call raises an error, calls that are still running
    are abandoned.
    """
    waited = list(calls)
    while waited:
        waited[0].join(_SLICE_S)
        check(waited[0].place)
        waited = [call for call in waited if call.is_alive()]
        if any(call.has_failed for call in calls):
            for call in waited:
                call.leave()


class ConcurrentCalls(StepGroup):
    """A callable that calls functions concurrently, each in a thread. When all functions have
    returned, it raises the first error, if any.

    Errors that calls raise because they were abandoned are raised only if there is no other error.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.calling: list[CallingStep] = [step.run.step_run for step in steps]  # type: ignore[attr-defined]
        waiting: Any = steps[0].run
        self.check: Callable[[str], None] = waiting.clock.check
        self.waiting = WaitingRun(self._run, waiting.access, waiting.clock)

    def run(self) -> None:
        """Call all functions and wait for them."""
        self.waiting()

    def _run(self) -> None:
        calls = []
        for step, calling in zip(self.steps, self.calling):
            with noting_step(step):
                calls.append(CallThread(step.name, calling.begin(), calling.place))
        try:
            for call in calls:
                call.start()
                call.join(_HEAD_START_S)
            wait_for_all(calls, self.check)
        except BaseException:
            for call in calls:
                call.leave()
            raise
        ended = list(zip(self.steps, self.calling, calls))
        for step, calling, call in sorted(ended, key=lambda item: item[2].gave_up):
            with noting_step(step):
                calling.end(call.result())
