"""Times of steps: the order, the thread, and the moments of each step."""

from __future__ import annotations

import threading
import time

import pytest

from gpugraph.plan import Step
from gpugraph.runtime import StepTrace
from gpugraph.runtime.step_times import timed


def make_step(name: str, run) -> Step:
    return Step(name, "Wait", "/cpu", 0, run)


def test_a_step_is_run_once_and_recorded_in_order():
    ran = []
    trace = StepTrace()
    for name in ("a", "b"):
        timed(trace, make_step(name, lambda name=name: ran.append(name)), time.perf_counter_ns())
    assert ran == [entry.step.name for entry in trace.times] == ["a", "b"]
    assert {entry.thread for entry in trace.times} == {threading.get_ident()}


def test_moments_are_nanoseconds_from_the_start_of_the_run():
    trace = StepTrace()
    for name in ("a", "b"):
        step = make_step(name, lambda: time.sleep(0.002))
        timed(trace, step, time.perf_counter_ns(), wait=lambda: time.sleep(0.001))
    trace.finish()
    a, b = trace.times
    assert 0 <= a.begun <= a.started and a.returned - a.started >= 2e6
    assert a.ended - a.returned >= 1e6 and b.begun >= a.ended and trace.end_ns >= b.ended


def test_a_step_that_fails_is_not_recorded_and_its_error_goes_on():
    trace = StepTrace()

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        timed(trace, make_step("a", fail), time.perf_counter_ns())
    assert trace.times == []
