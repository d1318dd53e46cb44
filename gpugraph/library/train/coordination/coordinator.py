"""A coordinator of threads. When one of the threads requests a stop, all threads stop."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from gpugraph.base.errors import OutOfRangeError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.platform import logging

_POLL_S = 0.05  # interval at which `join` checks whether a stop was requested
_START_S = 1.0  # time within which `join` expects that given threads are started
_FIRST_JOIN_S = 0.001
_LONGEST_JOIN_S = 0.1


class Coordinator:
    """Stops several threads together, and raises the exception of one of these threads in `join`.

    Each thread calls `should_stop()` in its loop. A thread that was ended by an exception may call
    `request_stop` with this exception. `join` waits for all threads, and raises the exception.

    Args:
      clean_stop_exception_types: the exceptions that mark an ordinary end, so that `join` does not
        raise them. The default is OutOfRangeError, which reports the end of an input.

    >>> coordinator = tf.train.Coordinator()
    >>> coordinator.request_stop()
    >>> coordinator.should_stop()
    True
    """

    def __init__(
        self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None
    ) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = new_lock()
        self._stop_event = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Whether `join` has returned, or has raised, since the last `clear_stop`."""
        return self._joined

    def request_stop(self, ex: Any = None) -> None:
        """Request that all threads stop. Only the first exception is kept, and `join` raises it.

        If `join` has already finished, `request_stop` raises the exception itself, unless it is one
        of `clean_stop_exception_types`.

        Args:
          ex: an exception, or the result of `sys.exc_info()`. Any other value is replaced by a
            ValueError.
        """
        with self._lock:
            error = self._unclean(ex)
            if self._joined and error is not None:
                raise error
            if not self._stop_event.is_set():
                if error is not None and self._error is None:
                    logging.info("Error reported to Coordinator: %s, %s", type(error), str(error))
                    self._error = error
                self._stop_event.set()

    def _unclean(self, ex: Any) -> BaseException | None:
        error = ex[1] if isinstance(ex, tuple) and len(ex) == 3 else ex
        if error is None or isinstance(error, self._clean_stop_exception_types):
            return None
        if isinstance(error, BaseException):
            return error
        return ValueError(
            f"ex must be a tuple or sys.exc_info must return the current exception: {ex!r}"
        )

    def clear_stop(self) -> None:
        """Clear the stop request and its exception, so that threads can be coordinated again."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self._stop_event.is_set()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Return a context manager that suppresses an exception and requests a stop with it."""
        try:
            yield
        except BaseException:
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is requested, for at most `timeout` seconds. Return whether a stop was
        requested.
        """
        return self._stop_event.wait(timeout=timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Let `join` also wait for this thread."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until `threads` and the registered threads end.

        After a stop request, the threads have `stop_grace_period_secs` seconds to end. If an
        exception was passed to `request_stop`, it is raised. Raises RuntimeError if threads still
        run after this time, unless `ignore_live_threads` is true.
        """
        with self._lock:
            waited = self._registered_threads.union(threads or ())
        self._wait_until_ended(waited)
        _join_all(waited, stop_grace_period_secs)
        stragglers = [thread.name for thread in waited if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._error is not None:
                raise self._error
            if stragglers:
                text = f"Coordinator stopped with threads still running: {' '.join(stragglers)}"
                if not ignore_live_threads:
                    raise RuntimeError(text)
                logging.info("%s", text)

    def _wait_until_ended(self, threads: Iterable[threading.Thread]) -> None:
        """Wait until a stop is requested, or all threads have ended.

        If a thread has not been started yet, the function waits for its start for up to a second.
        """
        starts = monotonic() + _START_S
        while not self.should_stop():
            if alive := _alive(threads):
                alive[0].join(_POLL_S)
            elif monotonic() < starts and any(thread.ident is None for thread in threads):
                self.wait_for_stop(_FIRST_JOIN_S)
            else:
                return

    def raise_requested_exception(self) -> None:
        """Raise the exception with which a thread has requested a stop, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error


def _alive(threads: Iterable[threading.Thread]) -> list[threading.Thread]:
    """Return the threads that still run, except for the caller."""
    current = threading.current_thread()
    return [thread for thread in threads if thread.is_alive() and thread is not current]


def _join_all(threads: Iterable[threading.Thread], grace_s: float) -> None:
    """Wait until the threads have ended, for at most `grace_s` seconds."""
    ends = monotonic() + grace_s
    join_s = _FIRST_JOIN_S
    while (alive := _alive(threads)) and monotonic() < ends:
        for thread in alive:
            thread.join(join_s)
        join_s = min(2 * join_s, _LONGEST_JOIN_S)
