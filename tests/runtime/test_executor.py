"""The executor on plans built by hand: order, failures, freed memory, times and limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.plan import FeedSlot, FetchSlot, Plan, PlanKey, Step, TimeLimit
from gpugraph.runtime import execute, execute_traced


class Diary:
    """A plan of named steps that record events."""

    def __init__(self, *names: str, kinds: dict[str, str] | None = None, cells: bool = True):
        self.written: list[str] = []
        self.does: dict[str, Callable[[], Any]] = {}
        self.variable = SimpleNamespace(initialized=True)
        kinds = kinds or {}
        steps = tuple(
            Step(name, "Op", "/device:CPU:0", 0, self._step(name), "here.py:1", kinds.get(name, ""))
            for name in names
        )
        self.plan = Plan(
            PlanKey((), (), ()),
            steps,
            (FeedSlot("x", tf.float32, (), lambda value: self.written.append(f"x={value}")),),
            (FetchSlot("y", lambda: "answer"),),
            (),
            (),
            (),
            {},
            (self.variable,),
            (),
            lambda: False,
            lambda: self.written.append("reset"),
            lambda: self.written.append("released"),
            has_cells=cells,
        )

    def _step(self, name: str) -> Callable[[], None]:
        def run() -> None:
            self.written.append(name)
            self.does.get(name, lambda: None)()

        return run

    def page(self) -> list[str]:
        """Return the text written since the last page."""
        page, self.written = self.written, []
        return page


def boom() -> None:
    raise ValueError("boom")


def runners() -> list[Any]:
    return [
        execute,
        lambda plan, feeds: execute_traced(plan, feeds, False, None)[0],
        lambda plan, feeds: execute_traced(plan, feeds, True, TimeLimit.of(60))[0],
    ]


@pytest.mark.parametrize("run", runners())
def test_feeds_then_steps_in_order_then_fetches_then_what_is_left_is_freed(run: Any) -> None:
    diary = Diary("a", "b")
    assert run(diary.plan, [5]) == ["answer"]
    assert diary.page() == ["x=5", "a", "b", "reset"]


@pytest.mark.parametrize("run", runners())
def test_a_failure_names_its_step_frees_and_leaves_the_plan_usable(run: Any) -> None:
    diary = Diary("a", "b", "c")
    diary.does["b"] = boom
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"boom[\s\S]*node b") as caught:
            run(diary.plan, [1])
        assert isinstance(caught.value.__cause__, ValueError)
        assert diary.page() == ["x=1", "a", "b", "reset"]
    del diary.does["b"]
    assert run(diary.plan, [1]) == ["answer"]


def test_a_plan_without_cells_has_nothing_to_free() -> None:
    diary = Diary("a", cells=False)
    execute(diary.plan, [1])
    assert diary.page() == ["x=1", "a"]


def test_guards_run_until_all_variables_are_initialized() -> None:
    diary = Diary("check", "a", kinds={"check": "guard"})
    diary.variable.initialized = False
    for _ in range(2):
        execute(diary.plan, [1])
        assert diary.page() == ["x=1", "check", "a", "reset"]
    diary.variable.initialized = True
    execute(diary.plan, [1])
    assert "check" in diary.page()
    execute(diary.plan, [1])
    assert "check" not in diary.page()


def test_numpy_s_warnings_are_off_inside_and_as_before_outside() -> None:
    diary = Diary("a")
    diary.does["a"] = lambda: np.float32(1) / np.float32(0)
    before = np.geterr()
    execute(diary.plan, [1])
    execute_traced(diary.plan, [1], True, None)
    assert np.geterr() == before


def test_a_trace_has_each_step_with_its_time() -> None:
    diary = Diary("a", "b")
    diary.does["b"] = lambda: time.sleep(0.01)
    results, trace = execute_traced(diary.plan, [1], True, None)
    assert results == ["answer"] and trace is not None
    first, second = trace.times
    assert (first.step.name, second.step.name) == ("a", "b")
    assert first.begun <= first.started <= first.returned <= first.ended <= second.begun
    assert second.ended - second.begun >= 9_000_000 and second.ended <= trace.end_ns
    assert execute_traced(diary.plan, [1], False, None)[1] is None


def test_a_limit_ends_a_run_before_the_next_step() -> None:
    diary = Diary("a", "b")
    diary.does["a"] = lambda: time.sleep(0.02)
    with pytest.raises(tf.errors.DeadlineExceededError, match="'b'"):
        execute_traced(diary.plan, [1], False, TimeLimit.of(0.01))
    assert diary.page() == ["x=1", "a", "reset"]


def test_a_released_plan_is_stale() -> None:
    diary = Diary("a")
    diary.plan.release()
    assert diary.plan.stale
    assert diary.page() == ["released"]


@pytest.mark.parametrize("is_traced", [False, True])
def test_a_plan_that_is_given_up_while_it_runs_gives_its_memory_back_at_the_end(
    is_traced: bool,
) -> None:
    diary = Diary("a")
    diary.does["a"] = lambda: setattr(diary.plan, "stale", True)
    if is_traced:
        assert execute_traced(diary.plan, [1], False, None)[0] == ["answer"]
    else:
        assert execute(diary.plan, [1]) == ["answer"]
    assert diary.page()[-1] == "released"
