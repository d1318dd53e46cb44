"""CheckpointSaverHook, which saves checkpoints at intervals of steps or seconds, and its
listeners.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.building.graph_files.write_graph import write_graph
from gpugraph.formats.messages_pb2 import SessionLog
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
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


class CheckpointSaverListener:
    """Base class of listeners, whose methods are called before and after checkpoints.

    The methods of this class do nothing.
    """

    def begin(self) -> None:
        """Do nothing. The method is called before there is a session, when the graph may still be
        changed.
        """

    def end(self, session: Any, global_step_value: int) -> None:
        """Do nothing. The method is called at the end of the training, after the last
        checkpoint.
        """

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Do nothing. The method is called before each checkpoint."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Do nothing. The method is called after each checkpoint. If it returns True, it requests
        the end of the training.
        """


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the start, at intervals of steps or seconds, and at the end.

    Args:
      checkpoint_dir: the folder of the checkpoints, and of an event file that records them.
      save_secs: the seconds between two checkpoints.
      save_steps: the number of global steps between two checkpoints. Pass either save_secs or
        save_steps.
      saver: the Saver. By default, it is the Saver of `scaffold`, or the only Saver in the
        collection SAVERS.
      checkpoint_basename: the name of the files without the step.
      scaffold: a Scaffold, whose Saver is used. Pass at most one of `saver` and `scaffold`.
      listeners: a list of CheckpointSaverListeners.
      save_graph_def: whether `graph.pbtxt` and the checkpoints' `.meta` files are written.

    Raises:
      ValueError: both saver and scaffold are passed, or not exactly one of save_secs and save_steps
        is passed.
    """

    def __init__(
        self,
        checkpoint_dir: Any,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        logging.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._checkpoint_dir = os.fspath(checkpoint_dir)
        self._save_path = os.path.join(self._checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())
        self._steps_per_run = 1_000_000
        self._save_graph_def = save_graph_def

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        """Set the number of global steps by which one run advances."""
        self._steps_per_run = steps_per_run

    def add_listener(self, listener: CheckpointSaverListener) -> None:
        """Add a listener, unless the hook already has it."""
        if listener not in self._listeners:
            self._listeners.append(listener)

    def begin(self) -> None:
        """Find the global step and open the event file. Raises RuntimeError if there is no step."""
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._global_step = global_step_for("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Write the graph, and save a checkpoint of the session's initial step."""
        step = int(session.run(self._global_step))
        self._write_graph()
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def _write_graph(self) -> None:
        graph = get_default_graph()
        graph_def = graph.as_graph_def(add_shapes=True)
        if self._save_graph_def:
            write_graph(graph_def, self._checkpoint_dir, "graph.pbtxt")
        saver_def = getattr(self._get_saver(), "saver_def", None)
        meta_graph, _ = export_scoped_meta_graph(graph=graph, saver_def=saver_def)
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(meta_graph)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the value that the global step has before the run."""
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save a checkpoint if one is due, and end the training if a listener requests it."""
        if self._timer.should_trigger_for_step(run_values.results + self._steps_per_run):
            step = int(run_context.session.run(self._global_step))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session: Any) -> None:
        """Save a checkpoint of the last step, unless there already is a checkpoint of this step."""
        step = int(session.run(self._global_step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)
        self._summary_writer.flush()

    def _save(self, session: Any, step: int) -> bool:
        """Save a checkpoint. Return whether a listener requests the end of the training."""
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(
            session, self._save_path, global_step=step, write_meta_graph=self._save_graph_def
        )
        self._summary_writer.add_session_log(
            SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path), step
        )
        ends = [listener for listener in self._listeners if listener.after_save(session, step)]
        for listener in ends:
            logging.info("A CheckpointSaverListener requested a stop: %s", listener)
        return bool(ends)

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None and self._scaffold.saver is not None:
            return self._scaffold.saver
        key = GraphKeys.SAVERS
        savers = get_default_graph().get_collection(key)
        if not savers:
            raise RuntimeError(
                f"No items in collection {key}. Please add a saver to the collection or provide a "
                "saver or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {key}. Please indicate which one to use by "
                "passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver


class HookBesideCheckpoints(SessionRunHook):
    """Base class of hooks that save additional state in the folder of a model's checkpoints.

    Attributes:
      folder: the folder of the model's checkpoints.
    """

    folder: str

    def listener(self) -> CheckpointSaverListener:
        """Return the listener that saves the additional state before each checkpoint of the model.

        The hook that saves the model is then the only hook that decides when to save.
        """
        raise NotImplementedError(f"{type(self).__name__}.listener")


def connect_checkpoints(hooks: Sequence[SessionRunHook]) -> None:
    """Add the listener of each HookBesideCheckpoints to the hook that saves the model in the same
    folder.
    """
    savers = [hook for hook in hooks if isinstance(hook, CheckpointSaverHook)]
    for hook in hooks:
        if not isinstance(hook, HookBesideCheckpoints):
            continue
        for saver in savers:
            if os.path.realpath(saver._checkpoint_dir) == os.path.realpath(hook.folder):
                saver.add_listener(hook.listener())
