"""Large products of one group (`compile/memory/side_by_side.py`) as one step that runs them in
parallel.

The step has threads only while it runs, and is over when all of its products are: an error in one
of them, or an interruption of the run, is raised afterwards, the first in their order.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.plan import Clock, Step, StepCode, StepGroup, note_step


def with_parallel_steps(entries: Sequence[Entry], lanes: int, clock: Clock) -> list[Entry]:
    """Return the entries, with adjacent ones of a group merged; `lanes` of them run in parallel.

    A check that a variable is initialized that stands between two comes before both.
    """
    result: list[Entry] = []
    group: list[Entry] = []
    for entry in entries:
        if group and entry.group != group[0].group and entry.step.kind != "guard":
            result += _joined(group, lanes, clock)
            group = []
        if entry.group is None or entry.step.kind == "guard":
            result.append(entry)
        else:
            group.append(entry)
    return [*result, *_joined(group, lanes, clock)]


def _joined(group: Sequence[Entry], lanes: int, clock: Clock) -> Sequence[Entry]:
    if len(group) < 2:
        return group
    code = partial(StepCode, "plain", "it runs beside others, in a thread")
    steps = ParallelSteps([replace(entry.step, code=code) for entry in group], lanes, clock)
    return [Entry(group[0].guard, Step.of(steps, "concurrent"))]


class ParallelSteps(StepGroup):
    """Runs steps in the calling thread and in others, at most `lanes` in all."""

    def __init__(self, steps: Sequence[Step], lanes: int, clock: Clock) -> None:
        self.steps = steps
        self.helpers = min(lanes, len(steps)) - 1
        self.clock = clock

    def run(self) -> None:
        """Run all steps; when all are over, raise the error of the first one that failed."""
        waiting = deque(self.steps)
        errors: dict[Step, BaseException] = {}
        threads = self._started(waiting, errors)
        interrupt: BaseException | None = None
        try:
            _run_all(waiting, errors)
        finally:
            for thread in threads:
                interrupt = _joined_thread(thread) or interrupt
        if interrupt is not None:
            raise interrupt
        for step in self.steps:
            if step in errors:
                note_step(errors[step], step)
                raise errors[step]

    def _started(
        self, waiting: deque[Step], errors: dict[Step, BaseException]
    ) -> list[threading.Thread]:
        """Start and return threads that take waiting steps; fewer if the system has none left."""
        threads: list[threading.Thread] = []
        for _ in range(0 if self.clock.one_thread else self.helpers):
            context = contextvars.copy_context()
            thread = threading.Thread(
                target=context.run, args=(_run_beside, waiting, errors), daemon=True
            )
            try:
                thread.start()
            except RuntimeError:
                break
            threads.append(thread)
        return threads

    def parts(self, traced: bool) -> Sequence[Step] | None:
        """Return the single steps in a trace, so that each has its own time."""
        return self.steps if traced else None


def _run_beside(waiting: deque[Step], errors: dict[Step, BaseException]) -> None:
    """Run waiting steps, in a new thread, which has no settings of NumPy yet."""
    np.seterr(all="ignore")
    _run_all(waiting, errors)


def _run_all(waiting: deque[Step], errors: dict[Step, BaseException]) -> None:
    """Run waiting steps until none is left."""
    while True:
        try:
            step = waiting.popleft()
        except IndexError:
            return
        try:
            step.run()
        except Exception as error:
            errors[step] = error


def _joined_thread(thread: threading.Thread) -> BaseException | None:
    """Wait until a thread is over, even if interrupted; return the interrupt.

    An abandoned thread would write to memory that the next run uses.
    """
    interrupt: BaseException | None = None
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:
            interrupt = error
    return interrupt
