"""The times at which each step of a traced run began, was enqueued, and was completed by its
device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from threading import get_ident
from time import perf_counter_ns, time_ns
from typing import Any, NamedTuple

from gpugraph.plan import Step, StepCode


class StepTime(NamedTuple):
    """The times of one step in nanoseconds since the run's start, and the thread that ran it.

    Args:
      begun: the time at which the executor began with the step.
      started, returned: the times before and after the call of the step.
      ended: the time at which the device had completed the step.
      sized: the increase of the bytes in use on the device from the start of the run to the end of
        the step. It is due to tensors whose size is known only in the run.
      code: the kind of code that ran the step, if the step is not a group.
    """

    step: Step
    begun: int
    started: int
    returned: int
    ended: int
    thread: int
    sized: int = 0
    code: StepCode | None = None

    def later_by(self, nanoseconds: int) -> StepTime:
        """Return the times of the same step, counted from an earlier start."""
        begun, started, returned, ended = (
            time + nanoseconds for time in (self.begun, self.started, self.returned, self.ended)
        )
        return self._replace(begun=begun, started=started, returned=returned, ended=ended)


@dataclass(slots=True)
class StepTrace:
    """The times of a run's steps in execution order.

    Args:
      start_ns: the value of `perf_counter_ns` at the run's start.
      started_ns: the run's start in nanoseconds since the epoch.
    """

    start_ns: int = field(default_factory=perf_counter_ns)
    started_ns: int = field(default_factory=time_ns)
    times: list[StepTime] = field(default_factory=list)
    end_ns: int = 0
    in_use: Mapping[str, Callable[[], int]] = field(default_factory=dict)
    before: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.before = {device: count() for device, count in self.in_use.items()}

    def sized(self, device: str) -> int:
        """Return the increase of the bytes in use on a device since the start of the run. The
        result is at least 0.
        """
        count = self.in_use.get(device)
        return max(count() - self.before[device], 0) if count is not None else 0

    def after(self, first: StepTrace) -> StepTrace:
        """Return the times of a run whose first part has the times `first`, and whose second part
        has these times.
        """
        whole, later = copy(self), self.start_ns - first.start_ns
        shifted = [time.later_by(later) for time in self.times]
        whole.start_ns, whole.started_ns = first.start_ns, first.started_ns
        whole.times, whole.end_ns = [*first.times, *shifted], self.end_ns + later
        return whole

    def finish(self) -> None:
        """Record the end of the run."""
        self.end_ns = perf_counter_ns() - self.start_ns


def timed(trace: StepTrace, step: Step, begun: int, wait: Callable[[], Any] | None = None) -> None:
    """Run a step and add its times to the trace.

    Args:
      begun: the value of `perf_counter_ns` when the executor began with the step.
      wait: a function that waits until the step's device has completed it.
    """
    started = perf_counter_ns()
    step.run()
    returned = perf_counter_ns()
    if wait is not None:
        wait()
    ended, zero = perf_counter_ns(), trace.start_ns
    moments = (begun - zero, started - zero, returned - zero, ended - zero)
    code = step.code() if step.group is None else None
    trace.times.append(StepTime(step, *moments, get_ident(), trace.sized(step.device), code))
