"""Steps of a plan whose sizes change: native calls in sequences, and steps by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from gpugraph.compile.steps.compiled_stretch import Member
from gpugraph.compile.steps.native_calls import RefusableCall, native_code
from gpugraph.devices.native import OpenCall, Words, open_sequence
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Run, Step

StepKey = tuple[str, str]
"""The kind of a step and its part, which distinguish the steps of a node."""


class NativeStep(NamedTuple):
    """A native step of the plan.

    calls: those of the step, each with its words and open form; empty if it has none. conditions:
    under which that holds. place: the address of the word that points to the step's block.
    """

    node: Node
    member: Member
    call: Run
    calls: Sequence[tuple[Words, OpenCall]]
    conditions: Sequence[tuple[str, Any, Any, bool]]


class NumPyStep:
    """The callable of a step by NumPy for the current sizes."""

    def __init__(self, node: Node, step: Step) -> None:
        self.node: Node = node
        self.key: StepKey = step.kind, step.part
        self.run: Run = step.run

    def __call__(self) -> Any:
        return self.run()


class NativeSequence:
    """Native steps as one call, whose blocks can be exchanged."""

    def __init__(
        self,
        calls: Sequence[Run],
        steps: Sequence[Step],
        natives: Sequence[NativeStep],
        may_fail: bool,
    ) -> None:
        self.natives = natives
        self._held, self._released, self.places = open_sequence(calls)
        self._steps, self._may_fail = steps, may_fail
        self.set_release(False)

    def set_release(self, releases: bool) -> None:
        """Set whether the GIL is released during the calls."""
        call = self._released if releases else self._held
        self.call: Run = RefusableCall(call, self._steps) if self._may_fail else call

    def __call__(self) -> Any:
        return self.call()


def native_steps(
    natives: Sequence[NativeStep], run_plain: Callable[[Node, StepKey], Any]
) -> tuple[NativeSequence, Step]:
    """Return native steps as one step, and its callable.

    run_plain: runs a step by NumPy, to raise the error that native code has found.
    """
    steps = []
    for native in natives:
        step = native.member.entry.step
        plain = partial(run_plain, native.node, (step.kind, step.part))
        steps.append(replace(step, run=plain))
    may_fail = any(n.member.calls is not None and n.member.calls.may_fail for n in natives)
    run = NativeSequence([native.call for native in natives], steps, natives, may_fail)
    return run, replace(steps[0], run=run, kind="native", code=native_code)
