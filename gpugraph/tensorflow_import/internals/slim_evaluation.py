"""`slim.evaluation`, which evaluates checkpoints. It writes summaries at the end of each
evaluation.
"""

from __future__ import annotations

from typing import Any

from gpugraph.library.summary.summary_functions import merge_all
from gpugraph.library.train.monitored_sessions.scaffold import Scaffold
from gpugraph.library.train.repeated_evaluation import (
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    evaluate_once as _evaluate_once,
    evaluate_repeatedly,
)
from gpugraph.library.train.savers.saver import Saver

_DEFAULT = object()


def _hooks(num_evals: int, logdir: Any, summary_op: Any, feed_dict: Any, hooks: Any) -> list[Any]:
    added = (
        []
        if summary_op is None
        else [
            SummaryAtEndHook(
                logdir,
                summary_op=merge_all() if summary_op is _DEFAULT else summary_op,
                feed_dict=feed_dict,
            )
        ]
    )
    return [StopAfterNEvalsHook(num_evals), *added, *(hooks or [])]


def _scaffold(init_op: Any, init_feed_dict: Any, init_fn: Any, variables: Any) -> Scaffold:
    """Return a scaffold that restores `variables`, which is a list, or a dict from names in the
    checkpoint. If `variables` is None, it restores all variables.
    """
    saver = None if variables is None else Saver(variables)
    return Scaffold(init_op, init_feed_dict, init_fn, saver=saver)


def evaluate_once(
    master: str,
    checkpoint_path: Any,
    logdir: Any,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Any = None,
) -> Any:
    """Restore a checkpoint, run `eval_op` `num_evals` times, and return the value of `final_op`
    from the end of the evaluation.
    """
    return _evaluate_once(
        checkpoint_path,
        master=master,
        scaffold=_scaffold(initial_op, initial_op_feed_dict, None, variables_to_restore),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: Any,
    logdir: Any,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Any = None,
    hooks: Any = None,
) -> Any:
    """Evaluate each new checkpoint in a folder as `evaluate_once` does."""
    return evaluate_repeatedly(
        checkpoint_dir,
        master=master,
        scaffold=_scaffold(initial_op, initial_op_feed_dict, init_fn, variables_to_restore),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        eval_interval_secs=eval_interval_secs,
        hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
        max_number_of_evaluations=max_number_of_evaluations,
        timeout=timeout,
        timeout_fn=timeout_fn,
    )
