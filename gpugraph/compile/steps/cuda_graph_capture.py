"""Captures: adjacent steps on one GPU are replaced by one CUDA graph.

    steps      x@w   +b,relu   (host) unique   h@v   loss   ...
    runs       [ one graph ]   unique          [   one graph   ]

The first run enqueues the steps one by one, which loads everything that can't be loaded during a
capture. The second run captures a CUDA graph, and all further runs launch it. Launching a graph
takes a few microseconds, regardless of its number of kernels. A step remains separate, between two
captures, if it runs on the host, has sizes that are known only during a run, or copies to another
device. If the driver rejects a capture, the steps run one by one, and the report contains the
driver's reason.

GPUGRAPH_CAPTURE=0 disables captures for plans that are compiled afterwards. This helps to find the
step that causes an error, or to find out whether the capture causes it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Any

from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.compile.steps.launch_joining import switched_off, with_joined_launches
from gpugraph.compile.steps.stretch import stretch_of, without_guards
from gpugraph.compile.unit.rewrite_switches import CAPTURE
from gpugraph.devices import DriverError, Enqueued, VariableState
from gpugraph.plan import GRAPH, Run, Step, StepCode, StepSequence, step_codes

_logger = logging.getLogger(__name__)


class Check:
    """A check that a variable is initialized. A call of the check raises an error if the variable
    has no value.
    """

    __slots__ = ("state",)

    def __init__(self, state: VariableState) -> None:
        self.state = state

    def __call__(self) -> None:
        self.state.value  # noqa: B018


class Capture:
    """Adjacent steps on one GPU, and the CUDA graph that replaces them."""

    def __init__(self, device: Any, steps: Sequence[Step], steps_range: str) -> None:
        self.device = device
        self.range = steps_range
        self.steps = steps
        self.name = f"{steps[0].name} .. {steps[-1].name}"
        self.warm = False
        self.replay: Run | None = None
        self.reason = ""
        self._sequence = StepSequence(steps)

    def run(self) -> None:
        """Run the steps, or launch the graph."""
        if not self.warm:
            self._prepare()
        with self.device.lock:
            self._run()

    def _prepare(self) -> None:
        """Wait until all launches are compiled, while other threads may use the device. If a
        source does not compile, its step raises the error.
        """
        with suppress(DriverError):
            for step in self.steps:
                if isinstance(step.run, Enqueued):
                    step.run.prepare()

    def _run(self) -> None:
        run_steps = self._sequence.run
        if self.replay is not None:
            self.replay()
            return
        if not self.warm or self.reason:
            run_steps()
            self.warm = True  # only now: if a step fails, later ones have not loaded their kernels
            return
        try:
            self.replay = self.device.capture(run_steps)
        except DriverError as error:
            self.reason = str(error)
            _logger.warning("%s: %s is not captured: %s", self.device.name, self.name, error)
            run_steps()
            return
        self.replay()

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield each step with its code, which states whether the step is captured, will be
        captured, or is never captured.
        """
        code = GRAPH if self.replay is not None else StepCode("waiting", "captured after a run")
        if self.reason:
            code = StepCode("plain", f"the driver does not capture it: {self.reason}")
        return ((step, code) for step, _ in step_codes(self.steps))

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return lines for the report that state whether the steps are captured."""
        if self.reason:
            return [f"not captured {self.range}, for {self.reason}"]
        return [f"captured {self.range}{'' if self.replay else ', after a run'}"]

    def parts(self, traced: bool) -> Sequence[Step]:
        """Return the single steps if `traced`, otherwise one step that runs the graph."""
        if traced:
            return self.steps
        return [replace(self.steps[0], name=self.name, run=self.run, kind="native", group=None)]


def with_captures(
    entries: Sequence[GuardedStep], devices: dict[str, Any], report_lines: list[str]
) -> list[GuardedStep]:
    """Merge adjacent steps that one GPU can run as a CUDA graph into one step. Return the resulting
    list of steps.
    """
    stretches: list[GuardedStep] = []
    for _, group in groupby(entries, key=_stretch_key):
        members = _without_late_guards(group)
        steps = [entry.step for entry in without_guards(members)]
        if len(steps) < 2 or not isinstance(steps[0].run, Enqueued):
            stretches += members
            continue
        name = f"from {steps[0].name} to {steps[-1].name}: {len(steps)} steps"
        device = devices[steps[0].device]
        members = _with_joined(members, steps, device, report_lines)
        reason = switched_off(CAPTURE)
        if reason:
            stretches += members
            report_lines.append(f"not captured {name}, for {reason}")
            continue
        steps = [entry.step for entry in without_guards(members)]
        stretches.append(stretch_of(members, Capture(device, steps, name)))
    return stretches


def _without_late_guards(members: Iterable[GuardedStep]) -> list[GuardedStep]:
    """Return the members without the checks of variables that an earlier member initializes. A
    merged step runs all checks first, so these checks would fail.
    """
    assigned: set[int] = set()
    needed = []
    for entry in members:
        run = entry.step.run
        if isinstance(run, Enqueued):
            assigned.update(map(id, run.assigned))
        if not isinstance(run, Check) or id(run.state) not in assigned:
            needed.append(entry)
    return needed


def _with_joined(
    members: Sequence[GuardedStep], steps: Sequence[Step], device: Any, report_lines: list[str]
) -> list[GuardedStep]:
    """Return the members with launches joined where possible. If any launches are joined, the
    checks of variables are moved to the front.
    """
    steps_after = with_joined_launches(steps, device.kernels, report_lines)
    if len(steps_after) == len(steps):
        return list(members)
    entry_by_step = {entry.step: entry for entry in members}
    guards = [entry for entry in members if entry.step.kind == "guard"]
    assigns = any(entry.assigns for entry in members)
    joined = GuardedStep(members[0].guard, steps[0], assigns=assigns)
    return [*guards, *(entry_by_step.get(step, joined._replace(step=step)) for step in steps_after)]


def _stretch_key(entry: GuardedStep) -> Any:
    """Return a key of a step. Adjacent steps with equal keys can be in one capture. A step that
    can't be captured has a unique key.
    """
    step = entry.step
    if step.kind == "guard":
        return entry.guard, step.device
    if not isinstance(step.run, Enqueued) or entry.sets or entry.reads:
        return id(entry)
    return entry.guard, step.device
