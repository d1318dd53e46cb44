"""Captures: steps of one GPU that follow each other, told to it as one.

    steps      x@w   +b,relu   (host) unique   h@v   loss   ...
    runs       [ one graph ]   unique          [   one graph   ]

The first run tells the stream step by step, so that all is loaded which may not be loaded later.
The next one is captured as a CUDA graph, which all further runs launch: some microseconds for any
number of kernels. What is on the host, is sized at run time or copies to another device stays a
step, between two captures. A driver that refuses to capture says why, and the steps stay.
GPUGRAPH_CAPTURE=0 leaves all of them steps, in plans that are made from then on: to find an error's
step, or out whether a capture is to blame.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.compile.steps.launch_joining import joined
from gpugraph.compile.unit.rewrite_switches import CAPTURE, is_off
from gpugraph.devices import DriverError, Enqueued, VariableState, is_blocking
from gpugraph.plan import Step, blame

_logger = logging.getLogger(__name__)

Run = Callable[[], Any]


class Check:
    """A guard of a variable: raises unless it is initialized."""

    __slots__ = ("state",)

    def __init__(self, state: VariableState) -> None:
        self.state = state

    def __call__(self) -> None:
        self.state.value  # noqa: B018


class Capture:
    """The steps of a stretch of one GPU, on their way to being one graph."""

    def __init__(self, device: Any, steps: Sequence[Step]) -> None:
        self.device = device
        self.steps = steps
        self.runs = [step.run for step in steps]
        self.warm = False
        self.replay: Run | None = None
        self.reason = ""

    def run(self) -> None:
        """One run of the steps, by what there is."""
        with self.device.lock:
            self._run()

    def _run(self) -> None:
        if self.replay is not None:
            self.replay()
            return
        if not self.warm or self.reason:
            _run_all(self.runs)
            self.warm = True  # only now: what a step that failed kept others from is not yet loaded
            return
        try:
            self.replay = self.device.capture(lambda: _run_all(self.runs))
        except DriverError as error:
            self.reason = str(error)
            _logger.warning("%s: %s is not captured: %s", self.device.name, self.name, error)
            _run_all(self.runs)
            return
        self.replay()

    @property
    def name(self) -> str:
        return f"{self.steps[0].name} .. {self.steps[-1].name}"


class Captured:
    """Runs a capture. `checks` are the guards of variables, all before anything else."""

    __slots__ = ("capture", "checks", "guards")

    def __init__(self, capture: Capture, checks: Sequence[Step]) -> None:
        self.capture = capture
        self.checks = checks
        self.guards = [step.run for step in checks]

    def plain(self) -> Captured:
        return Captured(self.capture, ())

    def parts(self, traced: bool) -> list[Step]:
        """The steps that it runs: one that is captured; in a trace all, each by itself."""
        capture = self.capture
        if traced:
            return [*self.checks, *capture.steps]
        step = capture.steps[0]._replace(name=capture.name, run=capture.run, kind="native")
        return [*self.checks, step]

    def __call__(self) -> None:
        if self.guards:
            _run_all(self.guards)
        self.capture.run()


def _run_all(runs: Sequence[Run]) -> None:
    current = None
    try:
        for current in runs:
            current()
    except Exception as error:
        blame(error, current)
        raise


def captured(entries: Sequence[Entry], devices: dict[str, Any], told: list[str]) -> list[Entry]:
    """The entries, those that one GPU can do as one together; `told` gets lines."""
    found: list[Entry] = []
    for _, group in groupby(entries, key=_kind):
        members = _needed(group)
        steps = [each.step for each in members if each.step.kind != "guard"]
        if len(steps) < 2 or not isinstance(steps[0].run, Enqueued):
            found += members
            continue
        name = f"from {steps[0].name} to {steps[-1].name}: {len(steps)} steps"
        members = _joined(members, steps, devices, told)
        why = f"{CAPTURE} is 0" if is_off(CAPTURE) else ""
        why = why or ("CUDA_LAUNCH_BLOCKING is set" if is_blocking() else "")
        if why:
            found += members
            told.append(f"not captured {name}, for {why}")
            continue
        found.append(_made(members, devices))
        told.append(f"captured {name}")
    return found


def _needed(members: Iterable[Entry]) -> list[Entry]:
    """The members but guards of variables that a step before has just given a value: they can't
    come first."""
    assigned: set[int] = set()
    found = []
    for each in members:
        run = each.step.run
        if isinstance(run, Enqueued):
            assigned.update(map(id, run.assigned))
        if not isinstance(run, Check) or id(run.state) not in assigned:
            found.append(each)
    return found


def _joined(
    members: Sequence[Entry], steps: Sequence[Step], devices: dict[str, Any], told: list[str]
) -> list[Entry]:
    """The members, launches that can be one as one; then guards are in front."""
    made = joined(steps, devices[steps[0].device].kernels, told)
    if len(made) == len(steps):
        return list(members)
    known = {id(each.step): each for each in members}
    guards = [each for each in members if each.step.kind == "guard"]
    assigns = any(each.assigns for each in members)
    one = Entry(members[0].guard, steps[0], assigns=assigns)
    return [*guards, *(known.get(id(step), one._replace(step=step)) for step in made)]


def _kind(entry: Entry) -> Any:
    """What entries of one capture have in common; one that can be in none is alone."""
    step = entry.step
    if step.kind == "guard":
        return entry.guard, step.device
    if not isinstance(step.run, Enqueued) or entry.sets or entry.reads:
        return id(entry)
    return entry.guard, step.device


def _made(members: Sequence[Entry], devices: dict[str, Any]) -> Entry:
    guards = [each.step for each in members if each.step.kind == "guard"]
    steps = [each.step for each in members if each.step.kind != "guard"]
    first = members[0].step
    step = Step(
        first.name,
        first.op_type,
        first.device,
        first.depth,
        Captured(Capture(devices[first.device], steps), guards),
        first.origin,
        "stretch",
        sum(each.output_bytes for each in steps),
        tuple(each.step for each in members),
    )
    return Entry(members[0].guard, step)
