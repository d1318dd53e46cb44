"""Steps of a plan: groups as one step, their order, and the step that an error names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpugraph.plan import Step, StepGroup, StepSequence, all_steps, failed_step, noting_step


def step(name: str, run: Callable[[], Any] = lambda: None, kind: Any = "kernel") -> Step:
    return Step(name, "Op", "/cpu", 0, run, "here.py:1", kind, 8)


def fail() -> None:
    raise ValueError("no")


class Group(StepGroup):
    """Runs its steps, with or without guards."""

    def __init__(self, *steps: Step, guarded: bool = True) -> None:
        self.steps = steps
        self.sequence = StepSequence(steps, guarded)

    def run(self) -> None:
        self.sequence.run()

    def unguarded(self) -> Callable[[], Any]:
        return Group(*self.steps, guarded=False).run


def test_a_group_is_a_step_in_the_place_of_its_first() -> None:
    group = Step.of(Group(step("a"), step("b")), "region")
    assert (group.name, group.device, group.origin) == ("a", "/cpu", "here.py:1")
    assert (group.kind, group.output_bytes) == ("region", 16)
    named = Step.of(Group(step("a"), step("b")), "joined", "a .. b", "Op, Op")
    assert (named.name, named.op_type) == ("a .. b", "Op, Op")
    assert [member.name for member in all_steps([step("c"), named])] == ["c", "a .. b", "a", "b"]


def test_a_sequence_without_guards_leaves_those_of_groups_out_too() -> None:
    calls: list[str] = []
    guard = step("g", lambda: calls.append("g"), "guard")
    inner = Step.of(Group(guard, step("a", lambda: calls.append("a"))), "region")
    StepSequence([guard, inner]).run()
    assert calls == ["g", "g", "a"]
    calls.clear()
    StepSequence([guard, inner], guarded=False).run()
    assert calls == ["a"]


def test_an_error_names_the_innermost_step_once() -> None:
    inner = step("b", fail)
    outer = Step.of(Group(step("a"), inner), "loop")
    with pytest.raises(ValueError, match="no") as caught:
        StepSequence([step("c"), outer]).run()
    assert failed_step(caught.value) is inner
    assert failed_step(caught.value) is None


def test_errors_outside_of_all_steps_name_the_step_that_is_noted() -> None:
    with pytest.raises(ValueError, match="no") as caught, noting_step(step("a")):
        fail()
    failed = failed_step(caught.value)
    assert failed is not None and failed.name == "a"
