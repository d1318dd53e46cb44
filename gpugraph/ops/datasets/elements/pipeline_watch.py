"""Watches, which measure how long each stage of a pipeline takes, and how full the stage's buffer
is.

A watch measures the iterations of one iterator. It replaces the methods `next` and `next_rows` of
these iterations with methods that also measure. Iterators without a watch are therefore not slowed
down.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from gpugraph.ops.datasets.elements.stage import Elements, Stage
from gpugraph.plan.pipeline_spans import note


class StageTimes:
    """The times of a dataset's iterations.

    `spent` is the time in this stage in nanoseconds, excluding the time in stages that it calls in
    the same thread. `worked` is the time of its calls in worker threads in nanoseconds. `filled` is
    a sum over all elements read: each element adds the fraction of the buffer that was in use when
    it was read.
    """

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.elements = self.spent = self.worked = self.takes = 0
        self.filled = 0.0
        self.capacity = 0

    def line(self) -> tuple[str, ...]:
        """Return the columns of a table row: kind, name, number of elements, time in this stage,
        time per element, time in worker threads, and fullness.
        """
        per_element = self.spent / max(self.elements, 1) / 1e3
        worked = f"{self.worked / 1e6:.1f} ms in threads" if self.worked else ""
        full = self.filled / max(self.takes, 1)
        filled = f"{100 * full:.0f} % of {self.capacity} full" if self.takes else ""
        texts = (
            f"{self.elements} elements",
            f"{self.spent / 1e6:.1f} ms",
            f"{per_element:.1f} us each",
        )
        return self.kind, f"'{self.name}'", *texts, worked, filled


class Watch:
    """The measurements of the pipeline of one iterator.

    Args:
      name: the iterator's name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.stage: Stage | None = None
        self.times: dict[str, StageTimes] = {}
        self._lock = threading.Lock()
        self._local = threading.local()

    def add(self, stage: Stage, elements: Elements) -> None:
        """Measure `elements`, an iteration over `stage` that has started."""
        held = vars(elements)
        if "measured_by" in held:
            return
        held["measured_by"] = self
        times = self._times_of(stage)
        for name in ("next", "next_rows"):
            held[name] = self._measured(getattr(elements, name), times, elements)
        for name in elements.threaded:
            held[name] = self._worked(getattr(elements, name), times)

    def add_all(self, elements: Elements) -> None:
        """Measure an iteration and all iterations that it reads."""
        if elements.origin is not None:
            self.add(elements.origin, elements)
        for value in list(vars(elements).values()):
            for part in list(value) if isinstance(value, (list, tuple, deque)) else (value,):
                if isinstance(part, Elements):
                    self.add_all(part)

    def _times_of(self, stage: Stage) -> StageTimes:
        name = stage.node or type(stage).__name__
        with self._lock:
            return self.times.setdefault(name, StageTimes(name, stage.kind))

    def _measured(
        self, call: Callable[..., Any], times: StageTimes, elements: Elements
    ) -> Callable[..., Any]:
        def measured(*arguments: Any) -> Any:
            fullness = elements.fullness()
            stack = self._stack()
            stack.append(0)
            begun = time.perf_counter_ns()
            result = None
            try:
                result = call(*arguments)
            finally:
                ended = time.perf_counter_ns()
                inner = stack.pop()
                if stack:
                    stack[-1] += ended - begun
                count = 0 if result is None else len(result[0]) if arguments and result else 1
                with self._lock:
                    times.spent += ended - begun - inner
                    times.elements += count
                    if fullness is not None and result is not None:
                        held, times.capacity = fullness
                        times.takes += 1
                        times.filled += min(held / max(times.capacity, 1), 1.0)
                note(times.name, times.kind, len(stack), begun, ended)
            return result

        return measured

    def _worked(self, call: Callable[..., Any], times: StageTimes) -> Callable[..., Any]:
        def worked(*arguments: Any) -> Any:
            begun = time.perf_counter_ns()
            try:
                return call(*arguments)
            finally:
                ended = time.perf_counter_ns()
                with self._lock:
                    times.worked += ended - begun
                note(times.name, times.kind, len(self._stack()), begun, ended)

        return worked

    def _stack(self) -> list[int]:
        """Return this thread's stack of measured calls in progress. The entry of a call is the
        total time in nanoseconds of the calls that it has made.
        """
        stack: list[int] | None = getattr(self._local, "stack", None)
        if stack is None:
            stack = self._local.stack = []
        return stack

    def rows(self) -> list[tuple[int, StageTimes]]:
        """Return pairs (depth of a stage, its times). The stages of the dataset come first. Stages
        that functions create follow, with depth -1.
        """
        depths: dict[str, int] = {}
        if self.stage is not None:
            _walk(self.stage, 0, depths)
        with self._lock:
            times = dict(self.times)
        for name in times:
            depths.setdefault(name, -1)
        kinds = {} if self.stage is None else _kinds(self.stage)
        return [
            (depth, times.get(name) or StageTimes(name, kinds.get(name, "")))
            for name, depth in depths.items()
        ]

    def text(self) -> str:
        """Return a table with one line for each stage, the last transformation first, indented by
        depth.
        """
        rows = self.rows()
        lines = [
            ("  " * depth + line[0] if depth >= 0 else f"(in a function) {line[0]}", *line[1:])
            for depth, line in ((depth, times.line()) for depth, times in rows)
        ]
        widths = [max(map(len, column)) for column in zip(*lines)]
        texts = [
            "  " + "  ".join(f"{text:<{width}}" for text, width in zip(line, widths)).rstrip()
            for line in lines
        ]
        return "\n".join([f"pipeline of '{self.name}':", *texts])


def _walk(stage: Stage, depth: int, depths: dict[str, int]) -> None:
    depths.setdefault(stage.node or type(stage).__name__, depth)
    for source in inputs_of(stage):
        _walk(source, depth + 1, depths)


def _kinds(stage: Stage) -> dict[str, str]:
    kinds = {stage.node or type(stage).__name__: stage.kind}
    for source in inputs_of(stage):
        kinds |= _kinds(source)
    return kinds


def inputs_of(stage: Stage) -> Iterable[Stage]:
    """Return the datasets that a dataset reads, including datasets in lists."""
    for value in vars(stage).values():
        for part in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(part, Stage):
                yield part
