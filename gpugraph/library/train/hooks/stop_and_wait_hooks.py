"""Hooks that delay the start of a training, end it, run final operations, or feed each run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import OutOfRangeError
from gpugraph.library.train.global_step import global_step_for
from gpugraph.library.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpugraph.platform import logging

_POLL_SECONDS = 0.5
_STEPS_BETWEEN_REPORTS = 1000


class StopAtStepHook(SessionRunHook):
    """Ends the training after `num_steps` more steps, or when the global step is `last_step`.

    The constructor raises ValueError unless exactly one of the arguments is passed.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError if the graph has no global step."""
        self._global_step = global_step_for("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """In the first session, compute the last step from `num_steps`."""
        if self._last_step is None:
            self._last_step = session.run(self._global_step) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the value that the global step has before the run."""
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Read the global step again, and request a stop if it has reached the last step."""
        last = self._last_step
        if run_values.results + 1 < last:
            return
        if run_context.session.run(self._global_step) >= last:
            run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first run until the global step has reached `wait_until_step`.

    Other workers increase the global step in the meantime.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError if the graph has no global step."""
        self._worker_is_started = False
        self._global_step = global_step_for("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Wait until the global step has reached `wait_until_step`. Nothing is added to the run."""
        if self._worker_is_started or self._wait_until_step <= 0:
            self._worker_is_started = True
            return
        message = "Waiting for global step %d before starting training."
        logging.info(message, self._wait_until_step)
        reported = 0
        while (step := run_context.session.run(self._global_step)) < self._wait_until_step:
            if step - reported > _STEPS_BETWEEN_REPORTS:
                logging.info(message + " Current step is %d.", self._wait_until_step, step)
                reported = step
            time.sleep(_POLL_SECONDS)
        self._worker_is_started = True


class FinalOpsHook(SessionRunHook):
    """Runs the fetches `final_ops` at the end of the training. `final_ops_values` contains the
    results.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops, self._feeds = final_ops, final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, in the structure of `final_ops`. Before the end of the training, it is
        None.
        """
        return self._values

    def end(self, session: Any) -> None:
        """Run the final ops. If this raises OutOfRangeError or StopIteration, the error is also
        logged.
        """
        if self._final_ops is None:
            return
        try:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)
        except (OutOfRangeError, StopIteration):
            logging.warning(
                "The final ops of a FinalOpsHook read from an input that has ended. "
                "They should depend on variables alone: update metrics in the "
                "steps, and read their values here."
            )
            raise


class FeedFnHook(SessionRunHook):
    """Feeds the result of `feed_fn()`, a dict from tensors to values, to each run."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Return the feeds of the run."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
