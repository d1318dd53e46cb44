"""Supervisor, the predecessor of MonitoredTrainingSession. Its threads write checkpoints and
summaries.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.building.graph_files.write_graph import write_graph
from gpugraph.building.variables import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)
from gpugraph.config import ConfigProto, RunOptions
from gpugraph.formats.messages_pb2 import SessionLog
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph, graph_or_default
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.summary.file_writer import FileWriter, scalar_message
from gpugraph.library.summary.summary_functions import merge_all
from gpugraph.library.train.coordination.coordinator import Coordinator
from gpugraph.library.train.coordination.looper_thread import LooperThread
from gpugraph.library.train.global_step import get_global_step
from gpugraph.library.train.monitored_sessions.scaffold import Scaffold
from gpugraph.library.train.monitored_sessions.session_manager import SessionManager
from gpugraph.library.train.savers.saver import Saver
from gpugraph.platform import logging
from gpugraph.session import Session

_OPEN: Any = 0
"""TensorFlow's value of an argument that the caller leaves unset."""


def _part(value: Any, key: str, default: Callable[[], Any]) -> Any:
    """Return `value`. If the caller has not set it, return the first item of the collection `key`.

    If the collection is empty, add the result of `default` to it and return this result.
    """
    if value is not _OPEN:
        return value
    items = get_default_graph().get_collection(key)
    return items[0] if items else Scaffold.get_or_default(key, key, default)


def _saver_of_variables() -> Saver | None:
    """Return a Saver of all variables, which writes one file of values for all devices."""
    return Saver() if global_variables() else None


class Supervisor:
    """Makes sessions ready, and writes checkpoints and summaries in threads until it is stopped.

    Args:
      graph: the graph, by default the default graph. It becomes finalized.
      ready_op, ready_for_local_init_op, init_op, init_feed_dict, local_init_op, init_fn,
        local_init_run_options, recovery_wait_secs: see SessionManager and Scaffold.
      is_chief: whether this process initializes the variables and writes files. The other workers
        wait for the variables.
      logdir: the folder of checkpoints and of the event file. If it is None, nothing is written.
      summary_op, saver, global_step: the objects to use. By default, they are the objects of the
        graph. If one of them is None, the Supervisor does not use it.
      save_summaries_secs, save_model_secs: the seconds between two summaries and between two
        checkpoints. If one of them is 0, nothing of this kind is written.
      stop_grace_secs: the seconds that threads have to end after a stop request.
      checkpoint_basename: the name of the checkpoints without the step.
      session_manager: a SessionManager to use instead of the default one.
      summary_writer: a writer to use instead of the default one. If it is None, there is no writer.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = _OPEN,
        ready_for_local_init_op: Any = _OPEN,
        is_chief: bool = True,
        init_op: Any = _OPEN,
        init_feed_dict: Any = None,
        local_init_op: Any = _OPEN,
        logdir: Any = None,
        summary_op: Any = _OPEN,
        saver: Any = _OPEN,
        global_step: Any = _OPEN,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = _OPEN,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: RunOptions | None = None,
    ) -> None:
        self._graph = graph_or_default(graph)
        with self._graph.as_default():
            self.ready_op = _part(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self.ready_for_local_init_op = _part(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self.init_op = _part(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            local = _part(local_init_op, GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op)
            self.summary_op = _part(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self.saver = _part(saver, GraphKeys.SAVERS, _saver_of_variables)
            self.global_step = get_global_step() if global_step is _OPEN else global_step
        self.init_feed_dict, self._init_fn = init_feed_dict, init_fn
        self.is_chief, self._stop_grace_secs = is_chief, stop_grace_secs
        self.coord = Coordinator()
        self._logdir = None if logdir is None or not is_chief else os.fspath(logdir)
        self.save_summaries_secs = save_summaries_secs if is_chief else None
        self.save_model_secs = save_model_secs if is_chief else None
        self.save_path = self._logdir and os.path.join(self._logdir, checkpoint_basename)
        self.summary_writer: FileWriter | None = None
        if is_chief:
            default = FileWriter(self._logdir) if self._logdir and summary_writer is _OPEN else None
            self.summary_writer = default if summary_writer is _OPEN else summary_writer
        self._graph_is_written = self._writer_is_closed = False
        self._check_devices()
        self.session_manager = session_manager or SessionManager(
            local, self.ready_op, self.ready_for_local_init_op, self._graph, recovery_wait_secs,
            local_init_run_options,
        )  # fmt: skip
        self._graph.finalize()

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Return a session that is ready. A worker that is not the chief waits until the chief has
        initialized the variables.

        Args:
          start_standard_services: whether to start the threads of `start_standard_services` and of
            the graph's queue runners.
        """
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()
        if not self.is_chief:
            session = self.session_manager.wait_for_session(master, config, max_wait_secs)
        else:
            session = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(session)
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _check_devices(self) -> None:
        """Raise ValueError if a variable has no device, unless this process is the chief."""
        operations = [] if self.is_chief else self._graph.get_operations()
        for operation in operations:
            if operation.type in ("Variable", "VariableV2") and not operation.device:
                raise ValueError(
                    "When using replicas, all Variables must have their device set: "
                    f"{operation.name} has none. Use tf.train.replica_device_setter."
                )

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self.summary_writer is not None and not self._graph_is_written:
            self.summary_writer.add_graph(self._graph)
            saver_def = getattr(self.saver, "saver_def", None)
            meta_graph, _ = export_scoped_meta_graph(graph=self._graph, saver_def=saver_def)
            self.summary_writer.add_meta_graph(meta_graph)
            self._graph_is_written = True

    def start_standard_services(self, sess: Session) -> list[threading.Thread] | None:
        """Start the threads that write summaries, the step rate and checkpoints, and return them.

        If there is no logdir, return None. Raises RuntimeError if this process is not the chief.
        """
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief "
                "supervisors can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        writer, counts = self.summary_writer, self.global_step is not None
        threads: list[threading.Thread] = []
        if writer is not None and counts:
            writer.add_session_log(SessionLog(status=SessionLog.START), self._step(sess))
        if writer is not None and self.save_summaries_secs:
            if self.summary_op is not None:
                threads.append(self.loop(self.save_summaries_secs, self._summarize, (sess,)))
            if counts:
                last = _StepRate(self._step(sess))
                threads.append(self.loop(self.save_summaries_secs, self._count, (sess, last)))
        if self.saver and self.save_model_secs:
            threads.append(self.loop(self.save_model_secs, self._save, (sess,)))
        return threads

    def _step(self, session: Session) -> int:
        return int(session.run(self.global_step))

    def _summarize(self, session: Session) -> None:
        if self.global_step is None:
            self.summary_computed(session, session.run(self.summary_op))
        else:
            summary, step = session.run([self.summary_op, self.global_step])
            self.summary_computed(session, summary, step)

    def _count(self, session: Session, last: _StepRate) -> None:
        step = self._step(session)
        rate = last.rate_until(step)
        tag = f"{self.global_step.op.name}/sec"
        self.summary_computed(session, scalar_message(tag, rate), step)
        logging.info("%s: %g", tag, rate)

    def _save(self, session: Session) -> None:
        self.saver.save(session, self.save_path, global_step=self.global_step)
        if self.summary_writer is not None and self.global_step is not None:
            self.summary_writer.add_session_log(
                SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self.save_path),
                self._step(session),
            )

    def start_queue_runners(
        self, sess: Session, queue_runners: Sequence[Any] | None = None
    ) -> list[threading.Thread]:
        """Start the threads of queue runners, and return the threads. By default, the queue runners
        of the graph are used.
        """
        runners = queue_runners
        if runners is None:
            runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads: list[threading.Thread] = []
        for runner in runners:
            threads += runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Start a thread that calls `target` at an interval until `coord` stops, and return the
        thread.
        """
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    def summary_computed(self, sess: Session, summary: Any, global_step: Any = None) -> None:
        """Write a summary. Its step is `global_step`, by default the session's global step.

        Raises RuntimeError if there is no writer.
        """
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = self._step(sess)
        self.summary_writer.add_summary(summary, global_step)

    def request_stop(self, ex: Any = None) -> None:
        """Request that all threads stop. `stop` raises the first exception that was passed to
        `request_stop`.
        """
        self.coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return bool(self.coord.should_stop())

    def stop_on_exception(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context manager that suppresses an exception and requests a stop with it."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self.coord.wait_for_stop()

    def stop(
        self,
        threads: Sequence[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop and join the threads. If a thread has raised an exception, raise the exception here.

        Raises RuntimeError if threads do not stop in time, unless `ignore_live_threads` is true.
        """
        self.coord.request_stop()
        try:
            self.coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            closes = close_summary_writer and not self._writer_is_closed
            if closes and self.summary_writer is not None:
                self.summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self.summary_writer.close()
                self._graph_is_written, self._writer_is_closed = False, True
        self._check_devices()

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Yield a session for a `with` block. At the end of the block, stop the threads and close
        the session.

        An exception in a thread or in the block, except for OutOfRangeError, is raised at the end.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    PrepareSession, StartQueueRunners = prepare_or_wait_for_session, start_queue_runners
    StartStandardServices, SummaryComputed = start_standard_services, summary_computed
    Stop, RequestStop, ShouldStop, StopOnException = (
        stop,
        request_stop,
        should_stop,
        stop_on_exception,
    )
    Loop, WaitForStop = loop, wait_for_stop


class _StepRate:
    """The time and the value of the last read of the global step."""

    def __init__(self, step: int) -> None:
        self.step, self.seconds = step, time.time()

    def rate_until(self, step: int) -> float:
        """Return the steps per second since the last call, and start a new interval."""
        now = time.time()
        steps, seconds = step - self.step, now - self.seconds
        self.step, self.seconds = step, now
        return steps / seconds if seconds > 0 else float("inf")
