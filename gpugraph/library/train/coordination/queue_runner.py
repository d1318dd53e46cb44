"""Queue runners. A queue runner has threads, each of which runs an enqueue operation of a queue.

A program builds a queue and adds a runner of this queue to the graph. Then `start_queue_runners`
starts the threads of all runners in a session.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from gpugraph.base.errors import (
    OpError,
    OutOfRangeError,
    error_code_from_exception_type,
    exception_type_from_error_code,
)
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.collection_protos import register_proto_function
from gpugraph.graph.client.default_graph_functions import (
    add_to_collection,
    get_default_graph,
    get_default_session,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.scoped_names import prepend_name_scope, strip_name_scope
from gpugraph.library.train.coordination.coordinator import Coordinator
from gpugraph.platform import logging
from gpugraph.session import BaseSession


class QueueRunner:
    """Fills a queue in the background. For each enqueue operation, a separate thread runs the
    operation repeatedly.

    The constructor raises ValueError if the queue or the operations are missing, or if both a queue
    and a QueueRunnerDef are passed. It raises TypeError if `queue_closed_exception_types` is not a
    tuple of error classes.

    Args:
      queue: the queue.
      enqueue_ops: the enqueue operations of the queue. Each operation gets a thread. The same
        operation may occur several times.
      close_op: the operation that closes the queue when the last thread has ended. The default is
        `queue.close`.
      cancel_op: the operation that closes the queue when a coordinator stops. The default is
        `queue.close`, which then also cancels waiting enqueue operations.
      queue_closed_exception_types: the errors by which an enqueue operation reports that its queue,
        or the queue that it dequeues from, is closed. These errors end a thread, but are not
        raised. The default is OutOfRangeError.
      queue_runner_def: a QueueRunnerDef, which replaces the other arguments. Its names are in
        `import_scope`.

    >>> queue = tf.FIFOQueue(10, tf.int32)
    >>> runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    >>> runner.name
    'fifo_queue'
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._init_from_proto(queue_runner_def, import_scope)
        else:
            self._init_from_args(
                queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types
            )
        self._lock = new_lock()
        self._runs_per_session: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []

    def _init_from_args(
        self, queue: Any, enqueue_ops: Any, close_op: Any, cancel_op: Any, closed_types: Any
    ) -> None:
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        if closed_types is None:
            closed_types = (OutOfRangeError,)
        elif not _are_error_types(closed_types):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
                f"but saw: {closed_types}"
            )
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        if cancel_op is None:
            cancel_op = queue.close(cancel_pending_enqueues=True)
        self._cancel_op = cancel_op
        self._queue_closed_exception_types = tuple(closed_types)

    def _init_from_proto(self, message: Any, import_scope: str | None) -> None:
        if not isinstance(message, messages_pb2.QueueRunnerDef):
            raise TypeError("queue_runner_def must be a QueueRunnerDef proto.")
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op = element(message.close_op_name)
        self._cancel_op = element(message.cancel_op_name)
        codes = message.queue_closed_exception_types
        self._queue_closed_exception_types = tuple(map(exception_type_from_error_code, codes)) or (
            OutOfRangeError,
        )

    @property
    def queue(self) -> Any:
        """The queue. For a runner created from a QueueRunnerDef, it is the tensor of the queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that threads run."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that closes the queue and cancels waiting enqueues."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[OpError], ...]:
        """The errors by which the closed queue ends a thread. They are not raised."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The exceptions that threads without a coordinator have raised since the last
        `create_threads`.
        """
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        name: str = self._queue.name
        return name

    def _run(self, session: Any, enqueue_op: Any, coord: Coordinator | None) -> None:
        is_counted = True
        try:
            enqueue = session.make_callable(enqueue_op)
            while not (coord is not None and coord.should_stop()):
                try:
                    enqueue()
                except self._queue_closed_exception_types:
                    is_counted = False
                    self._end_thread(session, closes=True)
                    return
        except Exception as error:
            if coord is not None:
                coord.request_stop(error)
                return
            logging.error("Exception in QueueRunner: %s", str(error))
            with self._lock:
                self._exceptions_raised.append(error)
            raise
        finally:
            if is_counted:
                self._end_thread(session, closes=False)

    def _end_thread(self, session: Any, closes: bool) -> None:
        """Record that a thread has ended. If it is the last thread and `closes` is true, close the
        queue.

        Args:
          closes: whether the thread was ended by a closed queue instead of an error.
        """
        with self._lock:
            self._runs_per_session[session] -= 1
            is_last = self._runs_per_session[session] == 0
        if closes and is_last:
            _run_quietly(session, self._close_op)

    def _close_on_stop(self, session: Any, cancel_op: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        _run_quietly(session, cancel_op)

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Create a thread for each enqueue operation, and return the threads. If `coord` is passed,
        create one more thread, which waits for a stop.

        After the stop request, this additional thread runs `cancel_op`. All threads are registered
        with `coord`.

        If earlier threads of the same session still run, return an empty list.

        Args:
          daemon: whether the threads are daemon threads.
          start: whether to start the threads.
        """
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        prefix = f"QueueRunnerThread-{self.name}"
        threads = [
            threading.Thread(
                target=self._run, args=(sess, operation, coord), name=f"{prefix}-{operation.name}"
            )
            for operation in self._enqueue_ops
        ]
        if coord is not None:
            closing = (sess, self._cancel_op, coord)
            threads.append(
                threading.Thread(
                    target=self._close_on_stop, args=closing, name=f"{prefix}-close_on_stop"
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the QueueRunnerDef, or None if the queue is not in `export_scope`."""
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        return messages_pb2.QueueRunnerDef(
            queue_name=strip_name_scope(self.name, export_scope),
            enqueue_op_name=[
                strip_name_scope(operation.name, export_scope) for operation in self._enqueue_ops
            ],
            close_op_name=strip_name_scope(self._close_op.name, export_scope),
            cancel_op_name=strip_name_scope(self._cancel_op.name, export_scope),
            queue_closed_exception_types=[
                error_code_from_exception_type(cls) for cls in self._queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Return the runner that a QueueRunnerDef describes. Its operations are in the default
        graph.
        """
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _are_error_types(types: Any) -> bool:
    return (
        isinstance(types, tuple)
        and bool(types)
        and all(isinstance(cls, type) and issubclass(cls, OpError) for cls in types)
    )


def _run_quietly(session: Any, operation: Any) -> None:
    """Run an operation that closes a queue. Ignore the errors that report a closed session or
    queue.
    """
    try:
        session.run(operation)
    except Exception as error:
        if raised_by_handler(error):
            raise
        logging.debug("Ignored exception: %s", str(error))


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a runner to a collection of the default graph, so that `start_queue_runners` starts
    it.
    """
    add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all runners in a collection of the session's graph, and return them.

    Args:
      sess: a session, by default the default session. A monitored session has already started its
        runners, so the returned list is empty.

    >>> tf.train.start_queue_runners(session)
    []

    Raises ValueError if there is no session, and TypeError if `sess` is not a session.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = sess.graph.get_collection(collection)
    if not runners:
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You "
            "can safely remove the call to this deprecated function."
        )
    threads = []
    with sess.graph.as_default():
        for runner in runners:
            threads += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    return threads


register_proto_function(
    GraphKeys.QUEUE_RUNNERS, "QueueRunnerDef", QueueRunner.to_proto, QueueRunner.from_proto
)
