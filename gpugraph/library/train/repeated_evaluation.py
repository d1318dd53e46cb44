"""The evaluation of one checkpoint, or of each new checkpoint.

`tf.contrib.training` and estimators use these functions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.variable_scope.get_variable import get_variable
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import control_dependencies, get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.summary import FileWriterCache
from gpugraph.library.summary.summary_functions import merge_all
from gpugraph.library.train.global_step import get_or_create_global_step
from gpugraph.library.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpugraph.library.train.hooks.stop_and_wait_hooks import FinalOpsHook
from gpugraph.library.train.monitored_sessions.monitored_session import MonitoredSession
from gpugraph.library.train.monitored_sessions.scaffold import Scaffold
from gpugraph.library.train.monitored_sessions.session_creators import ChiefSessionCreator
from gpugraph.library.train.savers.checkpoints_iterator import checkpoints_iterator
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.state.reference_variable_ops import assign_add
from gpugraph.platform import logging

_STEPS_PER_RUN = "hooks_steps_per_run"
_LOGS = 10


def get_or_create_eval_step() -> Any:
    """Return the counter of evaluated batches, a local variable. The first call in a graph creates
    it.

    Raises ValueError if the collection EVAL_STEP has several variables.
    """
    counters = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(counters) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if counters:
        return counters[0]
    return get_variable(
        "eval_step",
        [],
        dtypes.int64,
        lambda shape, dtype=None, partition_info=None: cast(0, dtypes.int64),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


def get_latest_eval_step_value(update_ops: Any) -> Tensor:
    """Return a tensor with the number of evaluated batches after `update_ops` have run.

    Args:
      update_ops: a list of ops, or a dict whose values are ops.
    """
    updates = list(update_ops.values()) if isinstance(update_ops, dict) else update_ops
    with control_dependencies(updates):
        return identity(get_or_create_eval_step().read_value())


def get_or_create_steps_per_run_variable() -> Any:
    """Return the variable that holds the number of steps that one `Session.run` executes.

    Raises RuntimeError if the graph has several of these variables.
    """
    graph = get_default_graph()
    known = graph.get_collection(_STEPS_PER_RUN)
    if len(known) > 1:
        raise RuntimeError("Multiple steps_per_run_var in collection.")
    if known:
        return known[0]
    return Variable(
        1,
        trainable=False,
        dtype=dtypes.int32,
        name="steps_per_run",
        collections=[_STEPS_PER_RUN, GraphKeys.LOCAL_VARIABLES],
        use_resource=True,
    )


class StopAfterNEvalsHook(SessionRunHook):
    """Stops the evaluation after `num_evals` batches. If `num_evals` is None, the evaluation stops
    at the end of the input.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals, self._log_progress = num_evals, log_progress
        self._evals_completed: Any = None
        is_short = num_evals is None or num_evals < 2 * _LOGS
        self._log_frequency = 1 if is_short or num_evals is None else num_evals // _LOGS

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the number of evaluated batches."""
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the progress, and stop after the last batch."""
        completed, total = run_values.results["evals_completed"], self._num_evals
        if self._log_progress and (completed % self._log_frequency == 0 or completed == total):
            logging.info("Evaluation [%s]", completed if total is None else f"{completed}/{total}")
        if total is not None and completed >= total:
            run_context.request_stop()


class MultiStepStopAfterNEvalsHook(StopAfterNEvalsHook):
    """Stops the evaluation after `num_evals` batches. One run evaluates up to `steps_per_run`
    batches.
    """

    def __init__(self, num_evals: int | None, steps_per_run: int = 1) -> None:
        super().__init__(num_evals)
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        """Create the variable that holds the number of steps in one run."""
        self._variable = get_or_create_steps_per_run_variable()

    def _load_steps(self, completed: int, session: Any) -> None:
        rest = self._steps_per_run if self._num_evals is None else self._num_evals - completed
        self._variable.load(min(self._steps_per_run, rest), session=session)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Read the number of batches that the first run may compute."""
        self._load_steps(0, session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Set the number of steps of the next run, log the progress, and stop after the last
        batch.
        """
        self._load_steps(run_values.results["evals_completed"], run_context.session)
        super().after_run(run_context, run_values)


class SummaryAtEndHook(SessionRunHook):
    """A hook that writes summaries once, at the end of a session."""

    def __init__(
        self,
        log_dir: Any = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: Any = None,
    ) -> None:
        if bool(log_dir) == (summary_writer is not None):
            raise ValueError("exactly one of log_dir and summary_writer should be provided.")
        self._log_dir, self._summary_writer = log_dir, summary_writer
        self._summary_op, self._feed_dict = summary_op, feed_dict

    def begin(self) -> None:
        """Set up the summaries and the writer, and create the global step if there is none."""
        if self._summary_op is None:
            self._summary_op = merge_all()
        self._step = get_or_create_global_step()
        if self._summary_writer is None:
            self._summary_writer = FileWriterCache.get(self._log_dir)

    def end(self, session: Any) -> None:
        """Run and write the summaries. If the graph has no summaries, do nothing."""
        if self._summary_op is None:
            return
        step, summary = session.run((self._step, self._summary_op), self._feed_dict)
        self._summary_writer.add_summary(summary, step)
        self._summary_writer.flush()


def _with_counter(eval_ops: Any, hooks: Sequence[Any]) -> Any:
    """Add an update of the batch counter to the ops of a run, and pass the counter to the hooks.
    Return the ops.
    """
    counter = get_or_create_eval_step()
    added: Any = 1
    if any(isinstance(hook, MultiStepStopAfterNEvalsHook) for hook in hooks):
        added = cast(get_or_create_steps_per_run_variable(), counter.dtype.base_dtype)
    update = assign_add(counter, added, use_locking=True)
    if isinstance(eval_ops, dict):
        eval_ops["update_eval_step"] = update
    else:
        listed = list(eval_ops) if isinstance(eval_ops, (tuple, list)) else [eval_ops]
        eval_ops = [*listed, update]
    value = get_latest_eval_step_value(eval_ops)
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(value)
    return eval_ops


def evaluate_once(
    checkpoint_path: Any,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Any = None,
    config: Any = None,
) -> Any:
    """Restore a checkpoint and run `eval_ops` until a hook stops the session.

    Returns the values of `final_ops`, which are run once at the end. If `final_ops` is None,
    returns None.
    """
    get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = _with_counter(eval_ops, hooks)
    logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.localtime()))
    creator = ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    final_ops_hook = FinalOpsHook(final_ops, final_ops_feed_dict)
    with MonitoredSession(session_creator=creator, hooks=[*hooks, final_ops_hook]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime()))
    return final_ops_hook.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: Any,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Any = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Any = None,
) -> Any:
    """Evaluate each new checkpoint in a folder with `evaluate_once`, and return the values of the
    last evaluation.

    Args:
      max_number_of_evaluations: the number of evaluations after which to return. 0 and None mean no
        limit.
      timeout: the seconds to wait for the next checkpoint.
      timeout_fn: a function that is called when this time has passed. It returns whether to stop
        waiting.
    """
    get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = _with_counter(eval_ops, hooks)
    final_ops_hook = FinalOpsHook(final_ops, final_ops_feed_dict)
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for count, path in enumerate(paths, 1):
        creator = ChiefSessionCreator(
            scaffold=scaffold, checkpoint_filename_with_path=path, master=master, config=config
        )
        with MonitoredSession(session_creator=creator, hooks=[*hooks, final_ops_hook]) as session:
            while eval_ops is not None and not session.should_stop():
                session.run(eval_ops, feed_dict)
        if max_number_of_evaluations and count >= max_number_of_evaluations:
            break
    return final_ops_hook.final_ops_values
