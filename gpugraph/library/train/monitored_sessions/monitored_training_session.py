"""MonitoredTrainingSession, which creates a MonitoredSession that writes checkpoints, summaries and
the step rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.config import ConfigProto
from gpugraph.library.train.hooks.checkpoint_saver_hook import CheckpointSaverHook
from gpugraph.library.train.hooks.logging_hooks import StepCounterHook
from gpugraph.library.train.hooks.session_run_hook import SessionRunHook
from gpugraph.library.train.hooks.summary_saver_hook import SummarySaverHook
from gpugraph.library.train.monitored_sessions.monitored_session import MonitoredSession
from gpugraph.library.train.monitored_sessions.scaffold import Scaffold
from gpugraph.library.train.monitored_sessions.session_creators import (
    ChiefSessionCreator,
    WorkerSessionCreator,
)
from gpugraph.library.train.monitored_sessions.worker_context import worker_context
from gpugraph.platform import logging


class _Default:
    """The type of a default value which means that the caller has not set the argument."""

    def __repr__(self) -> str:
        return "USE_DEFAULT"


USE_DEFAULT: Any = _Default()
"""The value of `save_checkpoint_secs` and similar arguments that the caller leaves unset."""

_SUMMARY_STEPS, _CHECKPOINT_SECONDS = 100, 600


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: ConfigProto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Create a MonitoredSession that restores the latest checkpoint, and saves new checkpoints.

    Args:
      master, config: the target and the ConfigProto of the session.
      is_chief: whether this process initializes the variables. Any other worker waits for its
        chief. If the workers of a strategy have copies of the variables, the strategy determines
        the roles.
      checkpoint_dir: the folder of checkpoints. If it is None, no checkpoints are read or saved.
      scaffold: determines how the session is initialized.
      hooks: a list of SessionRunHooks.
      chief_only_hooks: a list of additional SessionRunHooks that only a chief uses.
      save_checkpoint_secs, save_checkpoint_steps: the interval of checkpoints. If both are unset,
        it is 600 seconds. If both are None or 0, no checkpoints are saved.
      save_summaries_secs, save_summaries_steps: the interval of summaries. If both are unset, it is
        100 steps. If both are None or 0, no summaries are written.
      stop_grace_period_secs: the seconds that threads have to stop.
      log_step_count_steps: the number of global steps between two reports of the rate. If it is
        None or 0, there are no reports.
      max_wait_secs: the maximum number of seconds that a worker waits for its chief.
      summary_dir: the folder of summaries, by default `checkpoint_dir`.
      save_graph_def: whether `graph.pbtxt` and the checkpoints' `.meta` files are written.

    >>> step = tf.train.get_or_create_global_step()
    >>> count = tf.assign_add(step, 1)
    >>> with tf.train.MonitoredTrainingSession() as monitored:
    ...     print(monitored.run(count))
    1
    """
    scaffold = scaffold or Scaffold()
    folder, saved_to = summary_dir or checkpoint_dir, checkpoint_dir
    initializes = is_chief
    context = worker_context(master)
    if context is not None:
        master, config, is_chief = context.master, context.config(config), context.is_chief
        initializes = context.initializes
        folder = context.folder(folder, context.strategy.extended.should_save_summary)
        saved_to = context.folder(checkpoint_dir, is_chief)
        if context.has_copies and _is_wanted(save_checkpoint_secs):
            logging.warning("Workers with copies of variables save together: `save_checkpoint_secs`"
                            " is replaced by `save_checkpoint_steps` = 1000")  # fmt: skip
            save_checkpoint_secs, save_checkpoint_steps = None, 1000
    if not initializes:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    every: list[SessionRunHook] = list(chief_only_hooks or ()) if is_chief else []
    if folder and _is_wanted(log_step_count_steps):
        every.append(StepCounterHook(output_dir=folder, every_n_steps=log_step_count_steps))
    steps, secs = _chosen(save_summaries_steps, save_summaries_secs, (_SUMMARY_STEPS, None))
    if folder and (_is_wanted(steps) or _is_wanted(secs)):
        every.append(
            SummarySaverHook(save_steps=steps, save_secs=secs, scaffold=scaffold, output_dir=folder)
        )
    steps, secs = _chosen(save_checkpoint_steps, save_checkpoint_secs, (None, _CHECKPOINT_SECONDS))
    if saved_to and (_is_wanted(steps) or _is_wanted(secs)):
        every.append(
            CheckpointSaverHook(
                saved_to,
                save_steps=steps,
                save_secs=secs,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    return MonitoredSession(chief, [*every, *(hooks or ())], stop_grace_period_secs)


def _chosen(steps: Any, secs: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return (steps, seconds), with None in place of the one that is unset. If both are unset,
    return `default`.
    """
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return (None if steps is USE_DEFAULT else steps), (None if secs is USE_DEFAULT else secs)


def _is_wanted(often: Any) -> bool:
    return often is not USE_DEFAULT and bool(often) and often > 0
