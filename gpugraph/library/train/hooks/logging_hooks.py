"""Hooks that report the progress of a training: LoggingTensorHook, StepCounterHook,
NanTensorHook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.summary.file_writer import FileWriter, scalar_message
from gpugraph.library.summary.file_writer_cache import FileWriterCache
from gpugraph.library.train.global_step import get_global_step, global_step_for
from gpugraph.library.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpugraph.library.train.hooks.step_timer import NeverTriggerTimer, SecondOrStepTimer
from gpugraph.platform import logging

_MAX_WARNINGS = 5


class LoggingTensorHook(SessionRunHook):
    """Logs tensors at the level INFO, at intervals of runs or seconds, and at the end.

    Args:
      tensors: a dict from labels to tensors or their names, or an iterable of tensors or names.
      every_n_iter: the number of runs between two logs. The first run is also logged.
      every_n_secs: the seconds between two logs.
      at_end: whether to log at the end. If it is true, every_n_iter and every_n_secs may both be
        missing.
      formatter: a function that returns the text for a dict of the values.

    Raises:
      ValueError: not exactly one of every_n_iter and every_n_secs is passed, or every_n_iter is
        less than 1.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[Any], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._tags, self._tensors = _by_tag(tensors)
        self._formatter, self._log_at_end = formatter, at_end
        self._timer = (
            NeverTriggerTimer()
            if only_at_end
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )

    def begin(self) -> None:
        """Find the tensors in the default graph. Raises ValueError if a tensor belongs to another
        graph.
        """
        self._timer.reset()
        self._runs = 0
        self._current = {tag: _tensor(item) for tag, item in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the tensors if a log is due in this run."""
        self._is_time = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._current) if self._is_time else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the fetched tensors."""
        if self._is_time:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Any) -> None:
        """Log the tensors once more, if `at_end` is true."""
        if self._log_at_end:
            self._log(session.run(self._current))

    def _log(self, values: Mapping[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._runs)
        if self._formatter:
            logging.info(self._formatter(values))
            return
        with np.printoptions(suppress=True):
            text = ", ".join(f"{tag} = {values[tag]!s}" for tag in self._tags)
        logging.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


def _by_tag(tensors: Any) -> tuple[Iterable[Any], dict[Any, Any]]:
    if isinstance(tensors, dict):
        return sorted(tensors), tensors
    items = list(tensors)
    return items, {item: item for item in items}


def _tensor(item: Any) -> Any:
    """Return `item` if it belongs to the default graph, or the tensor or operation that has the
    name `item`.

    The name of an operation with one output means this output: `loss` means `loss:0`. Raises
    ValueError if the item belongs to another graph, or is an operation with several outputs.
    """
    graph = get_default_graph()
    if not isinstance(item, str):
        if getattr(item, "graph", None) is not graph:
            raise ValueError(
                f"Passed {item} should have graph attribute that is equal to current graph {graph}."
            )
        return item
    if ":" in item:
        return graph.as_graph_element(item)
    tensor: Any = graph.as_graph_element(f"{item}:0")
    if len(tensor.op.outputs) > 1:
        raise ValueError(
            f"Name {item} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
        )
    return tensor


class StepCounterHook(SessionRunHook):
    """Logs the number of global steps per second, and writes it as a summary `global_step/sec`.

    The constructor raises ValueError unless exactly one of `every_n_steps` and `every_n_secs` is
    set.

    Args:
      every_n_steps: the number of global steps between two reports.
      every_n_secs: the seconds between two reports.
      output_dir: the folder of the event file. It is used if there is no `summary_writer`.
      summary_writer: the FileWriter. If neither `output_dir` nor `summary_writer` is passed, the
        rate is only logged.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: FileWriter | None = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer, self._output_dir = summary_writer, output_dir
        self._last_global_step: int | None = None
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        """Set the number of global steps by which one run advances."""
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        """Find the global step and open the writer. Raises RuntimeError if there is no step."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._global_step = global_step_for("StepCounterHook")
        self._tag = f"{get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the value that the global step has before the run."""
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Report the rate if a report is due. Log a warning if the global step does not change."""
        before = run_values.results
        if self._timer.should_trigger_for_step(before + self._steps_per_run):
            step = run_context.session.run(self._global_step)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None and steps is not None:
                    self._log_and_record(steps, seconds, step)
        if before == self._last_global_step:
            logging.log_first_n(
                logging.WARN,
                "It seems that global step (tf.train.get_global_step) has not been increased: it "
                "was %s before two consecutive runs. Pass tf.train.get_global_step() to "
                "Optimizer.apply_gradients or Optimizer.minimize.",
                _MAX_WARNINGS,
                before,
            )
        self._last_global_step = before

    def end(self, session: Any) -> None:
        """Flush the writer."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        rate = elapsed_steps / max(elapsed_time, 1e-9)
        if self._summary_writer is not None:
            self._summary_writer.add_summary(scalar_message(self._tag, rate), global_step)
        logging.info("%s: %g", self._tag, rate)


class NanLossDuringTrainingError(RuntimeError):
    """The error that a NanTensorHook raises."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Ends the training if a loss is NaN. It raises NanLossDuringTrainingError or requests a stop.

    Args:
      loss_tensor: the loss.
      fail_on_nan_loss: whether to raise the error instead of requesting a stop.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the loss."""
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Raise the error or request a stop if the fetched loss is NaN."""
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            logging.error(message)
            raise NanLossDuringTrainingError
        logging.warning(message)
        run_context.request_stop()
