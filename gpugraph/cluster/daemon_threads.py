"""An executor whose threads do not keep a process alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

_Task = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class DaemonThreads(Executor):
    """An executor that starts each call immediately, in an idle thread or, if there is none, in a
    new thread.

    So if a call waits for another call, it never prevents the other call from starting.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._num_threads = 0
        self._is_over = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call and return its future. Raises RuntimeError after `shutdown`."""
        if self._is_over:
            raise RuntimeError("This executor is shut down")
        future: Future[Any] = Future()
        self._tasks.put((future, fn, args, kwargs))
        if not self._idle.acquire(blocking=False):
            self._num_threads += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, function, args, kwargs = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*args, **kwargs))
                except BaseException as error:
                    future.set_exception(error)
            del task, future, function, args, kwargs
            self._idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Reject all further calls.

        Each thread ends after its current call. This method does not wait for the threads.
        """
        del wait, cancel_futures
        self._is_over = True
        for _ in range(self._num_threads):
            self._tasks.put(None)
