"""A thread that calls a function repeatedly until its coordinator stops it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from time import time
from typing import Any

from gpugraph.base.value_text import shown
from gpugraph.library.train.coordination.coordinator import Coordinator


class LooperThread(threading.Thread):
    """Calls `target(*args, **kwargs)`, or the method `run_loop` of a subclass, until `coord` stops.

    If a call raises an exception, the thread requests a stop of `coord` with the exception. The
    thread is a daemon thread.

    The constructor raises ValueError if `coord` is not a Coordinator.

    Args:
      coord: a `Coordinator`, with which the thread registers.
      timer_interval_secs: the seconds between the starts of two calls. If it is None, there is no
        pause between calls.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {shown(coord)}")
        super().__init__()
        self.daemon = True
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._loop_target = target
        self._loop_arguments = args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Create a thread with these arguments, and start it."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Call `run_loop` until the coordinator stops. `start` calls this method in the new
        thread.
        """
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                next_time = time()
                while not self._coord.wait_for_stop(max(0.0, next_time - time())):
                    next_time += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Do nothing. `run` calls this method once, in the thread, before the first `run_loop`."""

    def stop_loop(self) -> None:
        """Do nothing. `run` calls this method once, in the thread, after the last `run_loop`,
        unless a call failed.
        """

    def run_loop(self) -> None:
        """Call the target, if there is one."""
        if self._loop_target is not None:
            args, kwargs = self._loop_arguments
            self._loop_target(*args, **kwargs)
