"""ProfilerHook, which writes traces of single steps for Chrome and TensorBoard."""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base.whole_files import write_whole
from gpugraph.config import RunOptions
from gpugraph.inspection.timeline import Timeline
from gpugraph.library.summary.file_writer_cache import FileWriterCache
from gpugraph.library.train.global_step import global_step_for
from gpugraph.library.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpugraph.library.train.hooks.step_timer import SecondOrStepTimer
from gpugraph.platform import logging


class ProfilerHook(SessionRunHook):
    """Traces a run at intervals of steps or seconds, but not the first run.

    The trace of step N is the file `timeline-N.json`, which chrome://tracing can open. The run's
    RunMetadata is written to the event file under the tag `step_N`.

    The constructor raises ValueError unless exactly one of `save_steps` and `save_secs` is set.

    Args:
      save_steps: the number of global steps between two traces.
      save_secs: the seconds between two traces.
      output_dir: the folder of the files.
      show_dataflow, show_memory: see `Timeline.generate_chrome_trace_format`.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._output_dir = os.fspath(output_dir)
        self._shows = show_dataflow, show_memory

    def begin(self) -> None:
        """Find the global step and open the event file. Raises RuntimeError if there is no step."""
        self._next_step: int | None = None
        self._global_step = global_step_for("ProfilerHook")
        self._summary_writer = FileWriterCache.get(self._output_dir)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step, and request a trace if one is due."""
        step = self._next_step
        self._is_time = step is not None and self._timer.should_trigger_for_step(step)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._is_time else None
        return SessionRunArgs(self._global_step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the trace. Its step is the value of the global step after the run."""
        before = int(run_values.results)
        if self._next_step is None:
            self._timer.update_last_triggered_step(before)
        step = before + 1
        if self._is_time:
            step = int(run_context.session.run(self._global_step))
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def end(self, session: Any) -> None:
        """Flush the event file."""
        self._summary_writer.flush()

    def _save(self, step: int, run_metadata: Any) -> None:
        path = os.path.join(self._output_dir, f"timeline-{step}.json")
        logging.info("Saving timeline for %d into '%s'.", step, path)
        trace = Timeline(run_metadata.step_stats).generate_chrome_trace_format(*self._shows)
        write_whole(path, trace.encode())
        self._summary_writer.add_run_metadata(run_metadata, f"step_{step}")
