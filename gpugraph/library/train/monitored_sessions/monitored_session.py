"""MonitoredSession and SingularMonitoredSession: sessions with hooks, threads and recovery."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from gpugraph.base.errors import OutOfRangeError
from gpugraph.config import ConfigProto, RunMetadata, RunOptions
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.train.coordination.coordinator import Coordinator
from gpugraph.library.train.coordination.queue_runner import start_queue_runners
from gpugraph.library.train.hooks.checkpoint_saver_hook import connect_checkpoints
from gpugraph.library.train.hooks.session_run_hook import SessionRunHook
from gpugraph.library.train.monitored_sessions.hooked_session import (
    CoordinatedSession,
    HookedSession,
    RecoverableSession,
    StepContext as _StepContext,
)
from gpugraph.library.train.monitored_sessions.scaffold import Scaffold
from gpugraph.library.train.monitored_sessions.session_creators import (
    ChiefSessionCreator,
    SessionCreator,
)

_STEP_ARGUMENTS = (["step_context"], ["self", "step_context"])


class BaseMonitoredSession:
    """Base class of the two monitored sessions. It is a context manager that closes the session."""

    StepContext = _StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Iterable[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        if session_creator is not None and not hasattr(session_creator, "create_session"):
            raise TypeError(f"session_creator has no create_session: {session_creator!r}")
        self._build_graph = get_default_graph()
        self._graph_was_finalized = self._build_graph.finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            if not hasattr(hook, "begin"):
                raise TypeError(f"hooks must be tf.train.SessionRunHooks, but one is {hook!r}")
        connect_checkpoints(self._hooks)
        self._grace = stop_grace_period_secs
        self._tf_session: Any = None
        self._coord: Any = None
        self._sess: CoordinatedSession | RecoverableSession | None = None
        try:
            for hook in self._hooks:
                hook.begin()
            self._creator = session_creator or ChiefSessionCreator()
            self._sess = (
                RecoverableSession(self._create_session, lambda: self._tf_session)
                if should_recover
                else self._create_session()
            )
        except BaseException:
            self._forget()
            raise

    def _create_session(self) -> CoordinatedSession:
        """Create a session, start its threads and notify the hooks. If this fails, close the
        session.
        """
        session = self._tf_session = self._creator.create_session()
        coord = self._coord = Coordinator(clean_stop_exception_types=())
        coordinated = CoordinatedSession(HookedSession(session, self._hooks), coord, self._grace)
        try:
            if self._build_graph.get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=session, coord=coord)
            for hook in self._hooks:
                hook.after_create_session(session, coord)
        except BaseException:
            try:
                coordinated.close()
            finally:
                self._tf_session = self._coord = None
            raise
        return coordinated

    @property
    def graph(self) -> Graph | None:
        """The graph of the session, or None if the session is closed."""
        return None if self._tf_session is None else self._tf_session.graph

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run `fetches` as `Session.run` does, with all hooks.

        Raises RuntimeError if the session is closed or a hook has requested a stop.
        """
        return self._open().run(fetches, feed_dict, options, run_metadata)

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """Return the result of `step_fn(step_context)`, a function that may start any runs.

        `step_context.session` is a session without hooks, and `step_context.run_with_hooks(...)` is
        the same as `run`. `step_context.request_stop()` raises StopIteration, which ends the `with`
        block without an error.

        Raises:
          ValueError: the function has a parameter other than `step_context`.
        """
        arguments = list(inspect.signature(step_fn).parameters)
        if arguments not in _STEP_ARGUMENTS:
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                f"`step_context` arguments if it's an instance method. Got {arguments} instead."
            )
        return self._open().run_step_fn(step_fn, self._tf_session)

    def _tf_sess(self) -> Any:
        return self._tf_session

    def _is_closed(self) -> bool:
        return self._tf_session is None

    @property
    def _coordinated_creator(self) -> BaseMonitoredSession._CoordinatedSessionCreator:
        """An object whose attributes `tf_sess` and `coord` are the tf.Session and its coordinator,
        as in TensorFlow.
        """
        return self._CoordinatedSessionCreator(self._tf_session, self._coord)

    class _CoordinatedSessionCreator(NamedTuple):
        tf_sess: Any
        coord: Any

    def _open(self) -> CoordinatedSession | RecoverableSession:
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        return self._sess

    def should_stop(self) -> bool:
        """Return whether the training is over, because a hook or a thread stopped it or the session
        is closed.
        """
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Call the hooks' `end`, stop the threads, and close the session.

        Raises RuntimeError if the session is already closed. Raises the exception of a thread that
        failed.
        """
        self._close(None)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        """Close the session. If the error is OutOfRangeError or StopIteration, which mark an
        ordinary end of the block, return True.
        """
        if kind in (OutOfRangeError, StopIteration):
            kind = None
        self._close(kind)
        return kind is None

    def _close(self, error: Any) -> None:
        try:
            if error is None and self._sess is not None:
                for hook in self._hooks:
                    hook.end(self._tf_session)
        finally:
            session = self._sess
            try:
                if session is None:
                    raise RuntimeError("Session is already closed.")
                session.close()
            finally:
                self._forget()

    def _forget(self) -> None:
        self._sess = self._tf_session = self._coord = None
        if not self._graph_was_finalized:
            self._build_graph._unsafe_unfinalize()


class MonitoredSession(BaseMonitoredSession):
    """A session with hooks. `session_creator` creates and initializes it, and creates a new session
    if a server was lost.

    The graph is finalized until the session is closed.

    Args:
      session_creator: a SessionCreator, by default a ChiefSessionCreator.
      hooks: a list of SessionRunHooks.
      stop_grace_period_secs: the seconds that threads have to stop when the session is closed.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(BaseMonitoredSession):
    """A chief's session with hooks, which is not recreated if a server was lost.

    The tf.Session therefore stays the same, and `raw_session` returns it.

    Args:
      hooks: a list of SessionRunHooks.
      scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path: see
        ChiefSessionCreator.
      stop_grace_period_secs: the seconds that threads have to stop when the session is closed.
    """

    def __init__(
        self,
        hooks: Iterable[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Return the tf.Session. It can be used for a Saver or for runs without hooks. If the
        session is closed, return None.
        """
        return self._tf_session
