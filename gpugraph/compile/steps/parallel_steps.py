"""One step that runs the large products of a group (`compile/memory/side_by_side.py`) in parallel.

The step starts its threads when it runs, and ends when all of its products have ended. If a product
fails or the run is interrupted, the error is raised only after all products have ended. If several
products fail, the error of the first of them is raised.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.plan import Clock, Step, StepCode, StepGroup, note_step


def with_parallel_steps(
    entries: Sequence[GuardedStep], lanes: int, clock: Clock
) -> list[GuardedStep]:
    """Merge adjacent steps of one group into a step, which runs them in at most `lanes` threads.
    Return the resulting list of steps.

    If a check that a variable is initialized is between two steps of a group, the check is moved
    before these steps.
    """
    result: list[GuardedStep] = []
    group: list[GuardedStep] = []
    for entry in entries:
        if group and entry.group != group[0].group and entry.step.kind != "guard":
            result += _joined(group, lanes, clock)
            group = []
        if entry.group is None or entry.step.kind == "guard":
            result.append(entry)
        else:
            group.append(entry)
    return [*result, *_joined(group, lanes, clock)]


def _joined(group: Sequence[GuardedStep], lanes: int, clock: Clock) -> Sequence[GuardedStep]:
    if len(group) < 2:
        return group
    code = partial(StepCode, "plain", "it runs beside others, in a thread")
    steps = ParallelSteps([replace(entry.step, code=code) for entry in group], lanes, clock)
    return [GuardedStep(group[0].guard, Step.of(steps, "concurrent"))]


class ParallelSteps(StepGroup):
    """A callable that runs steps in at most `lanes` threads, including the calling thread."""

    def __init__(self, steps: Sequence[Step], lanes: int, clock: Clock) -> None:
        self.steps = steps
        self.helpers = min(lanes, len(steps)) - 1
        self.clock = clock

    def run(self) -> None:
        """Run all steps. When all have ended, raise the error of the first step that failed, if
        any.
        """
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
        """Start threads that run the waiting steps, and return the threads. If the system refuses
        to start a thread, fewer threads are returned.
        """
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
        """If `traced`, return the single steps, so that the trace has a time for each of them.
        Otherwise return None.
        """
        return self.steps if traced else None


def _run_beside(waiting: deque[Step], errors: dict[Step, BaseException]) -> None:
    """Run waiting steps in a new thread, with the run's settings for NumPy errors. New threads do
    not inherit these settings.
    """
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
    """Wait until a thread has ended, even if a signal interrupts the wait. Return the error that
    has interrupted the wait, or None.

    A thread that continued to run might write to memory that the next run uses.
    """
    interrupt: BaseException | None = None
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:
            interrupt = error
    return interrupt
