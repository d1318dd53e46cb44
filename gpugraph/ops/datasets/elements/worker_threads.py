"""Threads that compute elements ahead. `Workers` is a pool of threads for one iteration, and
`Buffer` is a buffer that one thread fills.

The threads are daemons. They end with their iteration and do not keep the session alive.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import CancelledError
from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline
from gpugraph.plan.single_threads import SingleThread

AUTOTUNE = -1

_NAME = "gpugraph_data"


def parallel_calls(requested: int) -> int:
    """Return the number of threads for a value of the argument `num_parallel_calls`, which may be
    AUTOTUNE.
    """
    return requested if requested > 0 else max(2, min(16, len(os.sched_getaffinity(0))))


def num_bytes(element: Any) -> int:
    """Return the size of the arrays of an element."""
    return sum(getattr(array, "nbytes", 0) for array in element or ())


class Job:
    """A function call that a worker thread makes."""

    __slots__ = ("_call", "_done", "_error", "_result")

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call: Callable[[], Any] | None = call
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._result: Any = None

    def run(self) -> None:
        """Make the call."""
        assert self._call is not None
        try:
            self._result = self._call()
        except BaseException as error:
            self._error = error
        self._call = None
        self._done.set()

    @classmethod
    def failed(cls, error: BaseException) -> Job:
        """Return a finished job whose result is `error`."""

        def call() -> None:
            raise error

        job = cls(call)
        job.run()
        return job

    def wait(self, pipeline: Pipeline) -> None:
        """Wait until the call has returned."""
        while not self._done.wait(0.05):
            pipeline.check()

    def result(self) -> Any:
        """Return the result of the call. If the call raised an error, raise the error."""
        if self._error is not None:
            raise self._error
        return self._result


class Pace:
    """Whether a repeated piece of work takes less time than the way to a thread and back, so that a
    thread does not pay off. A large result takes longer on this way, because it leaves the cache of
    the thread's core.
    """

    def __init__(self, is_quick: bool) -> None:
        self.is_quick = is_quick
        self._quick_times = self._slow_times = 0

    def record(self, seconds: float, num_bytes: int, times: int = 1) -> None:
        """Record that the work took `seconds`, `times` times in a row.

        Args:
          num_bytes: the size of the result.
        """
        seconds -= num_bytes / _BYTES_PER_S
        self._quick_times = self._quick_times + times if seconds < _QUICK_S else 0
        self._slow_times = self._slow_times + times if seconds > _SLOW_S else 0
        if self._slow_times >= _SLOW_TIMES:
            self.is_quick = False
        elif self._quick_times >= _QUICK_TIMES:
            self.is_quick = True


class Workers:
    """A pool of threads that call functions. The calls begin in the order in which `start` was
    called.

    Args:
      only_computes: whether the calls neither wait nor have effects. They are then assumed to be
        too quick for threads until calls are slow, and waits for the interpreter's lock do not
        count as time of a call.
    """

    def __init__(self, requested: int, pipeline: Pipeline, only_computes: bool) -> None:
        self.count = parallel_calls(requested)
        self.clock = time.thread_time if only_computes else time.perf_counter
        self._pipeline = pipeline
        self._condition = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._is_closed = False
        self._pace = Pace(is_quick=only_computes)
        self.call_s = 0.0
        """The time of the last calls, in seconds."""

    @property
    def is_quick(self) -> bool:
        """Whether the calls are too quick for threads to pay off."""
        return self._pace.is_quick

    def start(self, function: Callable[..., Any], *values: Any) -> Job:
        """Let a thread of the pool call `function(*values)`. Return the job, which will have the
        result.
        """
        job = Job(lambda: function(*values))
        with self._condition:
            self._jobs.append(job)
            if self._idle < len(self._jobs) and len(self._threads) < self.count:
                self._threads.append(_daemon(self._work))
            self._condition.notify()
        return job

    def timed(self, function: Callable[..., Any], *values: Any) -> Any:
        """Call the function in this thread and return its result. Record whether the calls are so
        quick that a separate thread does not pay off.
        """
        start = self.clock()
        result = function(*values)
        self.record(self.clock() - start, num_bytes(result))
        return result

    def record(self, seconds: float, result_bytes: int, calls: int = 1) -> None:
        """Record the time that several calls took and the size of their results, for each call."""
        known = self.call_s
        self.call_s = seconds if seconds < known or not known else known + (seconds - known) / 16
        self._pace.record(seconds, result_bytes, calls)

    def _work(self) -> None:
        single = SingleThread()
        while True:
            with self._condition:
                self._idle += 1
                while not self._jobs and not self._is_closed:
                    self._condition.wait()
                self._idle -= 1
                if self._is_closed:
                    return
                job = self._jobs.popleft()
            single.apply()
            job.run()

    def close(self) -> None:
        """End the threads, after the calls in progress have ended."""
        with self._condition:
            self._is_closed = True
            self._jobs.clear()
            self._condition.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_PATIENCE_S)
        self._threads.clear()


_QUICK_S, _QUICK_TIMES = 80e-6, 16
_SLOW_S, _SLOW_TIMES = 120e-6, 3
_BYTES_PER_S = 2e9
"""The bytes of a result that move from core to core in a second."""

_PATIENCE_S = 10.0
"""Seconds for which the end of an iteration waits for a thread: a function may never return."""


def _daemon(run: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=run, name=_NAME, daemon=True)
    thread.start()
    return thread


class Buffer:
    """Elements that a thread reads ahead from an iteration.

    The first call of `take` starts the thread. If the iteration raises an error, the buffer stores
    it in place of an element, and `take` raises it.
    """

    def __init__(self, source: Elements, capacity: int, pipeline: Pipeline) -> None:
        self.source, self.capacity, self.pipeline = source, capacity, pipeline
        self.items: deque[tuple[Element | None, BaseException | None]] = deque()
        self.is_over = False
        self.condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._is_paused = False
        self._is_bypassed = False  # whether the caller reads the elements itself
        self._is_reading = False
        self.waits = 0  # how often the buffer was empty
        self.read_s = 0.0  # the processor time of the last read, in seconds

    @property
    def is_started(self) -> bool:
        """Whether the thread was started."""
        return self._thread is not None

    def take(self) -> Element | None:
        """Return the next element, or None at the end."""
        with self.condition:
            if self._thread is None and not self.is_over:
                self._thread = _daemon(self._fill)
            if self._is_bypassed:
                self._is_bypassed = False
                self.condition.notify_all()
            if not self.items and not self.is_over:
                self.waits += 1
            while not self.items and not self.is_over:
                self.pipeline.wait(self.condition)
            if not self.items:
                return None
            item = self.items.popleft()
            self.condition.notify_all()
        return self._element(item)

    def bypass(self) -> Element | None:
        """Return the next element, which the calling thread reads itself if the buffer is empty.
        The buffer's thread does not read until the next call of `take`.
        """
        with self.condition:
            self._is_bypassed = True
            while self._is_reading:
                self.pipeline.wait(self.condition)
            if self.items:
                item = self.items.popleft()
            elif self.is_over:
                return None
            else:
                item = None
        if item is not None:
            return self._element(item)
        element = self._next()
        if element is None:
            with self.condition:
                self.is_over = True
                self.condition.notify_all()
        return element

    def _element(self, item: tuple[Element | None, BaseException | None]) -> Element | None:
        """Return the element of an item, or raise its error."""
        element, error = item
        if isinstance(error, CancelledError):
            self.pipeline.check()  # the end of the run is reported before that of its calls
        if error is not None:
            raise error
        return element

    def _fill(self) -> None:
        single = SingleThread()
        while True:
            with self.condition:
                while self._must_wait():
                    self.condition.wait()
                if self._is_closed or self.is_over:
                    return
                self._is_reading = True
            single.apply()
            item = self._read()
            with self.condition:
                self._is_reading = False
                if item is None:
                    self.is_over = True
                else:
                    self.items.append(item)
                    item = None  # the array may only be used again if nothing refers to it
                self.condition.notify_all()
                if self.is_over:
                    return

    def _must_wait(self) -> bool:
        """Return whether the thread must not read at the moment."""
        if self._is_closed or self.is_over:
            return False
        return self._is_paused or self._is_bypassed or len(self.items) >= self.capacity

    def _read(self) -> tuple[Element | None, BaseException | None] | None:
        try:
            element = self._next()
        except BaseException as error:
            return None, error
        return None if element is None else (element, None)

    def _next(self) -> Element | None:
        start = time.thread_time()
        element = self.source.next()
        self.read_s = time.thread_time() - start
        return element

    def pause(self) -> None:
        """Stop the thread from reading, and wait until it has stopped."""
        with self.condition:
            self._is_paused = True
            while self._is_reading:
                self.pipeline.wait(self.condition)

    def go_on(self) -> None:
        """Let the thread continue to read after `pause`."""
        with self.condition:
            self._is_paused = False
            self.condition.notify_all()

    def close(self) -> None:
        """End the thread and close the iteration that it reads."""
        with self.condition:
            self._is_closed, self._is_paused = True, False
            self.condition.notify_all()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_PATIENCE_S)
        self.source.close()
