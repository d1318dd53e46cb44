"""The work of a row of gpu.py for the process that measures it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["EPSILON", "Work", "measure"]

EPSILON = 1e-5
"""Of normalizations."""

BATCH_SECONDS = 0.02
"""Minimum time of a batch of steps, which are enqueued together and waited for at their end."""

Step = Callable[[], Any]


class Work(NamedTuple):
    """step: enqueues the work, and may return before it is done. finish: waits for it.
    results: runs a step and returns numbers of it, few enough to be compared."""

    step: Step
    finish: Step
    results: Step


def measure(work: Work, seconds: float) -> dict[str, float]:
    """Return microseconds of a step among many, and those of its host part when the queue is
    empty.
    """
    count = 1
    while _batch(work, count) < min(BATCH_SECONDS, seconds / 4) and count < 10_000:
        count *= 2
    times, ends = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < ends:
        times.append(_batch(work, count) / count)
    return {"us": statistics.median(times) * 1e6, "host_us": _host(work, seconds / 4) * 1e6}


def _batch(work: Work, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        work.step()
    work.finish()
    return time.perf_counter() - start


def _host(work: Work, seconds: float) -> float:
    times, ends = [], time.perf_counter() + seconds
    while len(times) < 3 or (len(times) < 1000 and time.perf_counter() < ends):
        start = time.perf_counter()
        work.step()
        times.append(time.perf_counter() - start)
        work.finish()
    return statistics.median(times)
