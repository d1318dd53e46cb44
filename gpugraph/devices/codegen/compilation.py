"""Compilations, each of one source to a library. Several threads may wait for the result."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import NamedTuple

from gpugraph.base.interruptions.signal_handlers import raised_by_handler


class Library(NamedTuple):
    """The result of a compilation: a loaded library, or the reason why there is none."""

    library: ctypes.CDLL | None
    reason: str


class Compilation:
    """A source that is compiled to a library.

    Attributes:
      library: the library, loaded by ctypes. None until the compilation has ended, or if the
        compilation failed.
      reason: the reason why the compilation failed.
    """

    def __init__(
        self,
        make: Callable[[str, str], Library],
        serve: Callable[[Compilation], None],
        source: str,
        name: str,
    ) -> None:
        """Describe the compilation, without starting it.

        Args:
          make: a function that compiles a source. Its second argument is a name for messages.
          serve: a function that queues the compilation for a background thread, unless it is queued
            already.
        """
        self.name = name
        self.library: ctypes.CDLL | None = None
        self.reason = ""
        self._make_library = make
        self._serve = serve
        self._source = source
        self._is_done = False
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    @property
    def done(self) -> bool:
        """Whether the compilation has ended. If it has not, reading this property queues the
        compilation again, since a fork may have removed the queue.
        """
        if not self._is_done:
            self._serve(self)
        return self._is_done

    @property
    def is_over(self) -> bool:
        """Whether the compilation has ended. Unlike `done`, reading this property queues
        nothing.
        """
        return self._is_done

    def take(self, result: Library) -> None:
        """End the compilation with `result`, which was found in the cache. Do nothing if `result`
        has no library or the compilation has already ended.
        """
        with self._lock:
            if result.library is not None and not self._is_done:
                self._finish(result)

    def wait(self, timeout: float = -1) -> ctypes.CDLL | None:
        """Compile the source now, unless another thread is compiling it, and return the library. If
        the compilation has failed, set `reason` and return None.

        If another thread does not finish within `timeout` seconds, return None, without a reason.
        """
        if not self._is_done:
            worker = self._start_worker()
            if worker is None:
                self._work(timeout)
            else:
                worker.join(None if timeout < 0 else timeout)
        return self.library

    def _start_worker(self) -> threading.Thread | None:
        """Return a thread that compiles on behalf of the main thread, where an interrupt could stop
        the compilation halfway. Return None in any other thread, or if no thread can be started.
        """
        if threading.current_thread() is not threading.main_thread():
            return None
        if self._worker is None or not self._worker.is_alive():
            worker = threading.Thread(target=self._work, name="gpugraph-cc", daemon=True)
            try:
                worker.start()
            except RuntimeError:  # no thread is available
                return None
            self._worker = worker
        return self._worker

    def _work(self, timeout: float = -1) -> None:
        if self._lock.acquire(timeout=timeout):
            try:
                if not self._is_done:
                    self._make()
            finally:
                self._lock.release()

    def _make(self) -> None:
        try:
            result = self._make_library(self._source, self.name)
        except Exception as error:  # any error: NumPy is always available
            if raised_by_handler(error):
                raise
            result = Library(None, f"{type(error).__name__}: {error}")
        self._finish(result)

    def _finish(self, result: Library) -> None:
        self.library, self.reason = result
        self._source = ""
        self._is_done = True

    def forget_others(self) -> None:
        """Forget the threads of the parent process, in a forked child."""
        self._lock = threading.Lock()
        self._worker = None
