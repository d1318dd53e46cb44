"""SummarySaverHook, which writes summaries at intervals of steps or seconds."""

from __future__ import annotations

from typing import Any

from gpugraph.formats.messages_pb2 import SessionLog
from gpugraph.library.summary.file_writer import FileWriter
from gpugraph.library.summary.file_writer_cache import FileWriterCache
from gpugraph.library.train.global_step import global_step_for
from gpugraph.library.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpugraph.library.train.hooks.step_timer import SecondOrStepTimer


class SummarySaverHook(SessionRunHook):
    """Writes summaries at the first run, and then at intervals of steps or seconds.

    Args:
      save_steps: the number of global steps between two summaries.
      save_secs: the seconds between two summaries. Pass either save_steps or save_secs.
      output_dir: the folder of the event file. It is used if there is no `summary_writer`.
      summary_writer: the FileWriter. If neither `output_dir` nor `summary_writer` is passed,
        nothing is written.
      scaffold: a Scaffold, whose `summary_op` is written.
      summary_op: the summary, or a list of summaries. Pass either scaffold or summary_op.

    Raises:
      ValueError: both or neither of save_steps and save_secs are passed, or both or neither of
        scaffold and summary_op are passed.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: FileWriter | None = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._summary_writer, self._output_dir = summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Find the global step and open the writer. Raises RuntimeError if there is no global
        step.
        """
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._global_step = global_step_for("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step, and also the summaries if they are due."""
        step = self._next_step
        self._is_time = step is None or self._timer.should_trigger_for_step(step)
        requests = {"global_step": self._global_step}
        if self._is_time and (summaries := self._summaries()) is not None:
            requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the summaries. Their step is the value of the global step after the run."""
        if self._summary_writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._next_step is None or self._is_time:
            step = run_context.session.run(self._global_step)
        if self._next_step is None:
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._is_time:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        """Flush the writer."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> list[Any] | None:
        chosen = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        return chosen if chosen is None or isinstance(chosen, list) else [chosen]
