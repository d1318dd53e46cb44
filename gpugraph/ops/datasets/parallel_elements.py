"""Iterations over the results of a function that several threads call."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.errors import CancelledError, OpError, OutOfRangeError, invalid_argument
from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline
from gpugraph.ops.datasets.elements.worker_threads import AUTOTUNE, Job, Workers, num_bytes
from gpugraph.ops.datasets.passed_stages import Through


def check_end(stage: Any, error: OutOfRangeError) -> None:
    """Raise InvalidArgumentError if the function has raised the OutOfRangeError `error` and this
    must not end the dataset.
    """
    if stage.keeps_number:
        raise invalid_argument(
            "Function invocation produced OutOfRangeError: " + error.message
        ) from error


Outcome = tuple[Element | None, BaseException | None]
"""The result of a call, or the error that it raised."""


class ParallelElements(Through):
    """An iteration over results that threads compute ahead, in the order of the elements.

    A thread receives as many elements at once as it can compute in about a millisecond, so that
    passing them between threads costs little time. If a call of the function takes less time than
    the transfer of an element to a thread, no thread is used.

    Args:
      reads_ahead: whether elements may be read before they are needed. If not, a thread receives
        one element at a time, and no more elements are computed ahead than the program permits.
    """

    threaded = ("function",)

    def fullness(self) -> tuple[int, int]:
        """Return (the number of results that are computed ahead or in progress, the maximum of this
        number).
        """
        return sum(len(part) or 1 for part, _ in self.pending), self.limit * self._part_size()

    def __init__(self, stage: Any, source: Elements, pipeline: Pipeline, reads_ahead: bool) -> None:
        super().__init__(source)
        self.stage, self.pipeline, self.reads_ahead = stage, pipeline, reads_ahead
        calls = AUTOTUNE if stage.calls == 1 else stage.calls
        self.workers = Workers(calls, pipeline, only_computes=reads_ahead)
        self.limit = self.workers.count + (1 if reads_ahead else 0)
        self.function = stage.function.started(pipeline)
        self.on_several = stage.function.started_on_several(pipeline) if reads_ahead else None
        self.pending: deque[tuple[Sequence[Element], Job]] = deque()
        """Pairs of elements and the job that computes their results. For an error of the source,
        there are no elements."""
        self.done: deque[tuple[Element, Outcome]] = deque()
        """Pairs of an element and the outcome of its call, which are returned next."""
        self.result_bytes = 0
        self.is_over = False

    def next(self) -> Element | None:
        """Return the function's result for the next element."""
        if not self.done:
            if self.workers.is_quick and not self.pending:
                if self.on_several is None:
                    return self._result()
                self._compute_part()
            self._read_ahead()
            if not self.done and not self.pending:
                return None
            if not self.done:
                self._finish_first()
        _, (result, error) = self.done.popleft()
        if error is None:
            return result
        if isinstance(error, OutOfRangeError):
            check_end(self.stage, error)
            return None
        if isinstance(error, CancelledError):
            self.pipeline.check()  # the end of the run is reported before that of its calls
        raise error

    def _finish_first(self) -> None:
        """Wait for the first job in progress to end, and start another job in its place."""
        elements, job = self.pending[0]
        job.wait(self.pipeline)
        self.pending.popleft()
        outcomes = job.result()
        self.done.extend(zip(elements, outcomes, strict=True))
        result = outcomes[0][0]
        if result is not None:
            self.result_bytes = num_bytes(result)
        if self.reads_ahead:
            self._read_ahead()

    def _compute_part(self) -> None:
        """Compute the results for several elements in this thread."""
        elements, failure = ([], None) if self.is_over else self._read_part()
        self.done.extend(zip(elements, self._outcomes(elements), strict=True))
        if failure is not None:
            self.pipeline.check()
            self.pending.append(((), Job.failed(failure)))

    def _result(self) -> Element | None:
        """Compute the function's result for the next element in this thread, and return it."""
        element = None if self.is_over else self.source.next()
        if element is None:
            self.is_over = True
            return None
        try:
            return self.workers.timed(self.function, element)
        except OutOfRangeError as error:
            check_end(self.stage, error)
            return None

    def _read_ahead(self) -> None:
        if self.workers.is_quick:
            return
        while not self.is_over and len(self.pending) < self.limit:
            elements, failure = self._read_part()
            if elements:
                self._start(elements)
            if failure is not None:
                self.pipeline.check()  # the end of a run is no element
                self.pending.append(((), Job.failed(failure)))

    def _read_part(self) -> tuple[list[Element], OpError | None]:
        """Return the next elements for a thread, and the error that follows them, or None if there
        is none.
        """
        elements: list[Element] = []
        size, ends = self._part_size(), time.perf_counter() + _PART_S
        try:
            while len(elements) < size and not (elements and time.perf_counter() > ends):
                element = self.source.next()
                if element is None:
                    self.is_over = True
                    break
                elements.append(element)
        except OpError as error:
            return elements, error
        return elements, None

    def _part_size(self) -> int:
        """Return the number of elements that a thread receives."""
        if not self.reads_ahead or not self.workers.call_s:
            return 1
        size = min(int(_PART_S / self.workers.call_s), _LARGEST_PART)
        return max(1, min(size, _PART_BYTES // max(self.result_bytes, 1)))

    def _start(self, elements: Sequence[Element]) -> None:
        self.pending.append((elements, self.workers.start(self._outcomes, elements)))

    def _outcomes(self, elements: Sequence[Element]) -> list[Outcome]:
        """Call the function for each element in a worker thread, and return the results and
        errors.
        """
        if self.on_several is not None and len(elements) > 1:
            try:
                return self._outcomes_at_once(self.on_several, elements)
            except OpError:
                pass  # one of the calls below raises it
        outcomes: list[Outcome] = []
        for element in elements:
            try:
                outcomes.append((self.workers.timed(self.function, element), None))
            except BaseException as error:
                outcomes.append((None, error))
        return outcomes

    def _outcomes_at_once(
        self, function: Callable[[Sequence[Element]], list[Element]], elements: Sequence[Element]
    ) -> list[Outcome]:
        start = self.workers.clock()
        results = function(elements)
        seconds = (self.workers.clock() - start) / len(elements)
        self.workers.record(seconds, num_bytes(results[0]), len(elements))
        return [(result, None) for result in results]

    def close(self) -> None:
        """End the threads."""
        self.workers.close()
        super().close()

    def save(self) -> Any:
        """Return the current position, and the elements that were read ahead, without their
        results.
        """
        ahead = [list(element) for element, _ in self.done]
        for elements, job in self.pending:
            if not elements:
                job.result()  # raises the error
            ahead += map(list, elements)
        return [self.is_over, ahead, self.source.save()]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned. The results of elements that were read ahead
        are computed again.
        """
        self.is_over, ahead, position = state
        self.source.restore(position)
        for element in ahead:
            self._start([tuple(element)])


_PART_S, _LARGEST_PART, _PART_BYTES = 1e-3, 64, 1 << 21
"""The time for which a thread computes, the number of its elements and the size of its results."""
