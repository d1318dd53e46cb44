"""Plan: the frozen record between compilation and runtime."""

from __future__ import annotations

import numpy as np
import pytest

from gpugraph.base.dtypes import float32
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.plan import FeedSlot, FetchSlot, Plan, PlanKey, Step, rendezvous_key
from gpugraph.runtime import execute, parse_key


def make_plan(steps=(), feeds=(), fetches=(), **options) -> Plan:
    nothing = PlanKey((), (), ())
    return Plan(
        nothing, tuple(steps), tuple(feeds), tuple(fetches), (), (), (), {}, (),
        (), lambda: False,
        options.pop("reset", lambda: None), options.pop("release", lambda: None), **options,
    )  # fmt: skip


def step(name, run, kind="kernel"):
    return Step(name, "Op", "/cpu", 0, run, kind=kind)


def test_a_plan_is_what_its_steps_do_one_after_the_other():
    seen = []
    plan = make_plan(
        [step(name, lambda name=name: seen.append(name)) for name in "abc"],
        [FeedSlot("x:0", float32, (), lambda value: seen.append(value))],
        [FetchSlot("y:0", lambda: "".join(map(str, seen)))],
    )
    assert execute(plan, [7]) == ["7abc"]


def test_runs_are_the_steps_without_guards():
    def guard() -> None: ...
    def kernel() -> None: ...

    plan = make_plan([step("v", guard, "guard"), step("a", kernel)])
    assert plan.guarded.runs == (guard, kernel)
    assert plan.unguarded.runs == (kernel,)
    assert [step.name for step in plan.unguarded.steps] == ["a"]


def test_errors_name_the_only_step_and_no_other_part_of_the_run():
    """A plan of one step calls it as it is from the second run on."""
    faults = set()

    def part(name):
        def run(*_):
            if name in faults:
                raise ValueError(name)

        return run

    feed = FeedSlot("x:0", float32, (), part("the feed"))
    plan = make_plan([step("a", part("the step"))], [feed], [FetchSlot("y:0", part("the fetch"))])
    for _ in range(3):
        assert execute(plan, [1]) == [None]
        for name, node in (("the step", "a"), ("the fetch", "y")):
            faults.add(name)
            with pytest.raises(InvalidArgumentError, match=rf"{name}\n\t \[\[node {node}"):
                execute(plan, [1])
            faults.clear()
        faults.add("the feed")
        with pytest.raises(ValueError, match=r"the feed$"):
            execute(plan, [1])
        faults.clear()


def test_a_released_plan_is_stale():
    released = []
    plan = make_plan(release=lambda: released.append(plan.stale))
    plan.release()
    assert released == [True]
    assert plan.stale


def test_numpy_is_quiet_in_the_plans_context_alone():
    plan = make_plan([step("a", lambda: np.divide(np.ones(1), np.zeros(1)))])
    execute(plan, [])
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.divide(np.ones(1), np.zeros(1))


def test_records_are_frozen_and_keys_compare_by_content():
    key = PlanKey((("x:0", (2, None)),), ("y:0",), ())
    assert key == PlanKey((("x:0", (2, None)),), ("y:0",), ())
    assert {key: 1}[PlanKey((("x:0", (2, None)),), ("y:0",), ())] == 1
    assert key != PlanKey((("x:0", (2, 3)),), ("y:0",), ())
    with pytest.raises(AttributeError):
        key.fetches = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        step("a", lambda: None).name = "b"  # type: ignore[misc]


def test_a_rendezvous_key_has_five_parts():
    key = rendezvous_key("/job:a/device:GPU:0", 0xAB, "/job:a/device:CPU:0", "edge_3_x", 2, 5)
    assert key == "/job:a/device:GPU:0;00000000000000ab;/job:a/device:CPU:0;edge_3_x;2:5"
    assert parse_key(key) == (
        "/job:a/device:GPU:0",
        0xAB,
        "/job:a/device:CPU:0",
        "edge_3_x",
        (2, 5),
    )


def test_an_error_of_a_fetch_names_the_fetch_and_not_the_last_step():
    def fail():
        raise MemoryError("no room")

    plan = make_plan([step("a", lambda: None)], fetches=[FetchSlot("y:0", fail, "user.py:3")])
    with pytest.raises(Exception, match=r"no room\n.*node y:0 \(defined at user.py:3\)"):
        execute(plan, [])


def test_what_a_run_left_in_cells_is_given_up_after_it_failed_too():
    cleared = []

    def fail():
        raise ValueError("no")

    plan = make_plan([step("a", fail)], reset=lambda: cleared.append(1), has_cells=True)
    with pytest.raises(Exception, match="node a"):
        execute(plan, [])
    assert cleared == [1]
