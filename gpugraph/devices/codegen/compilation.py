"""One compilation: a source on its way to a library, and the threads that wait for it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import NamedTuple

from gpugraph.base.interruptions.signal_handlers import raised_by_handler


class Library(NamedTuple):
    """The result of a compilation: a loaded library, or the reason why there is none; its key."""

    library: ctypes.CDLL | None
    reason: str
    key: str = ""


class Compilation:
    """A source that is compiled to a library.

    library: loaded by ctypes; None before the end, or if it failed.
    reason: why it failed.
    key: covers everything that decides the library, for facts kept about it; empty before the end.
    """

    def __init__(
        self,
        make: Callable[[str, str], Library],
        serve: Callable[[Compilation], None],
        source: str,
        name: str,
    ) -> None:
        """make: compiles a source, with its name. serve: gives it to a thread, if none has it."""
        self.name = name
        self.library: ctypes.CDLL | None = None
        self.reason = ""
        self.key = ""
        self._make_library = make
        self._serve = serve
        self._source = source
        self._is_done = False
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    @property
    def done(self) -> bool:
        """Whether it is over; if not, it is given to a thread."""
        if not self._is_done:
            self._serve(self)
        return self._is_done

    @property
    def is_over(self) -> bool:
        """Whether it is over; it is not given to a thread."""
        return self._is_done

    def take(self, result: Library) -> None:
        """Use a library from the cache, if there is one, instead of compiling it."""
        with self._lock:
            if result.library is not None and not self._is_done:
                self._finish(result)

    def wait(self, timeout: float = -1) -> ctypes.CDLL | None:
        """Return the library, compiled now if no other thread does it; None with a reason.

        None without a reason if others took longer than `timeout` seconds.
        """
        if not self._is_done:
            worker = self._start_worker()
            if worker is None:
                self._work(timeout)
            else:
                worker.join(None if timeout < 0 else timeout)
        return self.library

    def _start_worker(self) -> threading.Thread | None:
        """Return a thread that works for the main one, as interrupts could leave it half done."""
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
        self.library, self.reason, self.key = result
        self._source = ""
        self._is_done = True

    def forget_others(self) -> None:
        """Drop the other threads, in a forked child."""
        self._lock = threading.Lock()
        self._worker = None
