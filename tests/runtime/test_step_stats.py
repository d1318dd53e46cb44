"""Step statistics: device, start, duration and output bytes of each step."""

from __future__ import annotations

import time

from gpugraph.plan import Step
from gpugraph.runtime.step_stats import StepStats, timed


def make_step(name: str, device: str, run, size: int = 0) -> Step:
    return Step(name, "Wait", device, 0, run, output_bytes=size)


def test_a_step_is_run_once_and_recorded_under_its_device():
    ran = []
    stats = StepStats(time.perf_counter_ns())
    timed(stats, make_step("a", "/cpu", lambda: ran.append("a"), 64))
    timed(stats, make_step("b", "/gpu", lambda: ran.append("b")))
    timed(stats, make_step("c", "/cpu", lambda: ran.append("c")))
    assert ran == ["a", "b", "c"]
    assert list(stats.dev_stats) == ["/cpu", "/gpu"]
    first, second = stats.dev_stats["/cpu"]
    assert (first.node_name, second.node_name) == ("a", "c")
    assert first.timeline_label == "a = Wait"
    assert first.output_bytes == 64


def test_times_are_microseconds_from_the_start_of_the_run():
    stats = StepStats(time.perf_counter_ns())
    for name in ("a", "b"):
        timed(stats, make_step(name, "/cpu", lambda: time.sleep(0.002)))
    a, b = stats.dev_stats["/cpu"]
    assert a.all_start_micros >= 0
    assert a.all_end_rel_micros >= 2000
    assert b.all_start_micros >= a.all_start_micros + a.all_end_rel_micros


def test_a_step_that_fails_is_not_recorded_and_its_error_goes_on():
    stats = StepStats(time.perf_counter_ns())

    def fail():
        raise ValueError("no")

    try:
        timed(stats, make_step("a", "/cpu", fail))
    except ValueError as error:
        assert str(error) == "no"
    else:
        raise AssertionError("the error was lost")
    assert stats.dev_stats == {}
