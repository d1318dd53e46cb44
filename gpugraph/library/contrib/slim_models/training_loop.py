"""`slim.learning.train`: a loop of training steps under a Supervisor."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import AbortedError, OutOfRangeError
from gpugraph.building.variables import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
    tables_initializer,
)
from gpugraph.config import ConfigProto, RunMetadata, RunOptions
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import (
    control_dependencies,
    get_default_graph,
    name_scope,
)
from gpugraph.inspection.timeline import Timeline
from gpugraph.library.summary.summary_functions import merge_all
from gpugraph.library.train.global_step import get_or_create_global_step
from gpugraph.library.train.monitored_sessions.supervisor import Supervisor
from gpugraph.library.train.savers.saver import Saver
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.comparison_and_select import equal, greater_equal
from gpugraph.ops.elementwise.division import floormod as mod
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.platform import logging

_OPEN: Any = 0
"""TensorFlow's value of an argument that the caller leaves unset."""


def train_step(
    sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]
) -> tuple[Any, bool]:
    """Take one training step. Return the loss and whether the training should stop.

    Raises ValueError if "should_trace" is passed without "logdir".

    Args:
      train_step_kwargs: a dict with optional keys. The values of "should_stop", "should_log" and
        "should_trace" are tensors. "logdir" is the folder of traces, and "summary_writer" is a
        FileWriter.
    """
    began = time.time()
    metadata = _trace_of(sess, train_step_kwargs)
    options = RunOptions(trace_level=RunOptions.FULL_TRACE) if metadata is not None else None
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.time() - began
    if metadata is not None:
        _write_trace(metadata, step, train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    stop = train_step_kwargs.get("should_stop")
    return loss, bool(stop is not None and sess.run(stop))


def _trace_of(sess: Any, arguments: dict[str, Any]) -> Any:
    """Return a RunMetadata if the step is to be traced, otherwise None."""
    if "should_trace" not in arguments:
        return None
    if "logdir" not in arguments:
        raise ValueError("logdir must be present in train_step_kwargs when should_trace is present")
    return RunMetadata() if sess.run(arguments["should_trace"]) else None


def _write_trace(metadata: Any, step: int, arguments: dict[str, Any]) -> None:
    path = os.path.join(arguments["logdir"], f"tf_trace-{step}.json")
    with open(path, "w") as file:
        file.write(Timeline(metadata.step_stats).generate_chrome_trace_format())
    if arguments.get("summary_writer") is not None:
        arguments["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


def train(
    train_op: Any,
    logdir: Any,
    train_step_fn: Callable[..., Any] = train_step,
    train_step_kwargs: Any = _OPEN,
    log_every_n_steps: int = 1,
    graph: Graph | None = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _OPEN,
    init_feed_dict: Any = None,
    local_init_op: Any = _OPEN,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = _OPEN,
    summary_op: Any = _OPEN,
    save_summaries_secs: float = 600,
    summary_writer: Any = _OPEN,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: ConfigProto | None = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Train until the function of a step stops the training, and return the last loss.

    If `logdir` is not None, checkpoints, summaries and the graph are written to this folder. If the
    folder contains a checkpoint, the checkpoint is restored first. The function has the same
    arguments as in TensorFlow. `train_step_fn` receives the session, the training op, the global
    step and `train_step_kwargs`.

    Raises:
      ValueError: `train_op` is None, or arguments exclude each other.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        _refuse_without_folder(summary_op, saver, trace_every_n_steps)
    optimizers = _listed(sync_optimizer)
    if optimizers and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    graph = graph or get_default_graph()
    with graph.as_default():
        global_step = get_or_create_global_step() if global_step is None else global_step
        saver = saver or Saver()
        with name_scope("init_ops"):
            if init_op is _OPEN:
                init_op = global_variables_initializer()
            if ready_op is _OPEN:
                ready_op = report_uninitialized_variables()
            if local_init_op is _OPEN:
                local_init_op = group(local_variables_initializer(), tables_initializer())
            ready_for_local, local_init_op = _synchronized(optimizers, is_chief, local_init_op)
        if summary_op is _OPEN:
            summary_op = merge_all()
        starts = [
            (optimizer.get_init_tokens_op(), optimizer.get_chief_queue_runner())
            for optimizer in (optimizers if is_chief else ())
        ]
        if train_step_kwargs is _OPEN:
            train_step_kwargs = _step_tensors(global_step, number_of_steps, log_every_n_steps)
            if is_chief and trace_every_n_steps is not None:
                with name_scope("train_step"):
                    remainder = mod(global_step, trace_every_n_steps)
                    train_step_kwargs |= {"should_trace": equal(remainder, 0), "logdir": logdir}
    supervisor = Supervisor(
        graph=graph,
        is_chief=is_chief,
        logdir=logdir,
        init_op=init_op,
        init_feed_dict=init_feed_dict,
        local_init_op=local_init_op,
        ready_for_local_init_op=ready_for_local,
        ready_op=ready_op,
        summary_op=summary_op,
        summary_writer=summary_writer,
        global_step=global_step,
        saver=saver,
        save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs,
        init_fn=init_fn,
    )
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = supervisor.summary_writer
    delay = min(startup_delay_steps, number_of_steps or sys.maxsize)

    def step(session: Any) -> Any:
        return train_step_fn(session, train_op, global_step, train_step_kwargs)

    def run() -> Any:
        with supervisor.managed_session(
            master, start_standard_services=False, config=session_config
        ) as session:
            wrapped = session if session_wrapper is None else session_wrapper(session)
            threads = _start(supervisor, wrapped, starts, delay)
            return _steps(supervisor, wrapped, step, threads, ignore_live_threads)

    while True:
        try:
            return run()
        except AbortedError:
            logging.info("Retrying training!")


def _refuse_without_folder(summary_op: Any, saver: Any, trace_every_n_steps: Any) -> None:
    """Raise ValueError if there are arguments about files, because there is no folder for the
    files.
    """
    excluded = {
        "summary_op": summary_op is not _OPEN,
        "saver": saver is not None,
        "trace_every_n_steps": trace_every_n_steps is not None,
    }
    for name, is_passed in excluded.items():
        if is_passed:
            raise ValueError(f"Cannot provide {name} because logdir=None")


def _listed(sync_optimizer: Any) -> list[Any]:
    if sync_optimizer is None:
        return []
    listed = sync_optimizer if isinstance(sync_optimizer, (list, tuple)) else [sync_optimizer]
    if not all(hasattr(optimizer, "get_init_tokens_op") for optimizer in listed):
        raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
    return list(listed)


def _synchronized(optimizers: list[Any], is_chief: bool, local_init_op: Any) -> tuple[Any, Any]:
    """Return the op that reports uninitialized variables before the local initialization, and the
    op of that initialization.
    """
    if not optimizers:
        return None, local_init_op
    with control_dependencies([] if local_init_op is None else [local_init_op]):
        inits = [
            optimizer.chief_init_op if is_chief else optimizer.local_step_init_op
            for optimizer in optimizers
        ]
        local_init_op = group(*inits)
    return concat([opt.ready_for_local_init_op for opt in optimizers], 0), local_init_op


def _step_tensors(global_step: Any, number_of_steps: Any, log_every: int) -> dict[str, Any]:
    """Return the tensors that determine whether a step stops the training and whether it logs."""
    with name_scope("train_step"):
        stop = greater_equal(global_step, number_of_steps) if number_of_steps else constant(False)
        tensors = {"should_stop": stop}
        if log_every > 0:
            tensors["should_log"] = equal(mod(global_step, log_every), 0)
    return tensors


def _start(supervisor: Supervisor, session: Any, starts: list[Any], delay: int) -> Any:
    """Start the threads of a session. A worker first waits until the global step is `delay`."""
    if supervisor.is_chief:
        if supervisor.save_path:
            supervisor.start_standard_services(session)
    else:
        while delay > 0 and session.run(supervisor.global_step) < delay:
            time.sleep(1)
    threads = supervisor.start_queue_runners(session)
    for init_tokens, runner in starts:
        supervisor.start_queue_runners(session, [runner])
        session.run(init_tokens)
    return threads


def _steps(
    supervisor: Supervisor,
    session: Any,
    step: Callable[[Any], Any],
    threads: Any,
    ignore_live_threads: bool,
) -> Any:
    """Take steps until one of them stops the training or the input ends. Save the variables, and
    return the last loss.
    """
    loss = None
    try:
        while not supervisor.should_stop():
            loss, should_stop = step(session)
            if should_stop:
                supervisor.request_stop()
                break
    except OutOfRangeError as error:
        logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
    if supervisor.save_path and supervisor.is_chief:
        supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
        supervisor.stop(threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads)
    return loss
