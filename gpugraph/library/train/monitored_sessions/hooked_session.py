"""The layers of a monitored session, which add hooks, threads and recovery.

The innermost layer, a `HookedSession`, adds the hooks' fetches, feeds and options to a run. The
next layer, a `CoordinatedSession`, raises the exceptions of the session's threads, and joins the
threads at its end. The outermost layer, a `RecoverableSession`, creates a new session if a server
was lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base.errors import AbortedError, UnavailableError
from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.config import RunMetadata, RunOptions
from gpugraph.library.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpugraph.platform import logging

LOST_SERVER = (AbortedError, UnavailableError)
"""The errors that a run raises if a server was lost or restarted. Training then continues in a new
session.
"""


def _close(session: Any) -> None:
    """Close a session, which may be None. If a server was lost, the error is logged and not
    raised.
    """
    try:
        if session is not None:
            session.close()
    except LOST_SERVER as error:
        logging.error("A server was lost before its session was closed: %s", error)


class StepContext:
    """The argument that `run_step_fn` passes to a step function."""

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session, self._run_with_hooks_fn = session, run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The tf.Session. If the step function starts a run with it, no hooks take part in this
        run.
        """
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run `fetches` as `MonitoredSession.run` does."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """End the training. It raises StopIteration, which ends the `with` block without an
        error.
        """
        raise StopIteration("step_fn has requested the iterations to stop.")


class HookedSession:
    """A session with hooks, which take part in its runs."""

    def __init__(self, session: Any, hooks: Sequence[SessionRunHook]) -> None:
        self.session, self._hooks = session, hooks
        self._stops = False

    def should_stop(self) -> bool:
        """Return whether a hook has requested a stop, or the session is closed."""
        return self._stops or self.session is None

    def close(self) -> None:
        """Close the session."""
        session, self.session = self.session, None
        _close(session)

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run `fetches` as `Session.run` does, with the additional fetches, feeds and options that
        the hooks request.

        Raises RuntimeError after a stop request, and if a tensor is fed twice.
        """
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self.session)
        requests = [hook.before_run(context) for hook in self._hooks]
        wanted = [fetches]
        hook_feeds: dict[Any, Any] = {}
        for request in requests:
            if request is None:
                continue
            if request.fetches is not None:
                wanted.append(request.fetches)
            if request.feed_dict:
                _refuse_shared(hook_feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                hook_feeds.update(request.feed_dict)
            if request.options:
                options = _merged(options or RunOptions(), request.options)
        if options is not None and run_metadata is None:
            run_metadata = RunMetadata()
        feeds = _feeds(feed_dict, hook_feeds)
        results = iter(self.session.run(wanted, feeds, options, run_metadata))
        answer = next(results)
        for hook, request in zip(self._hooks, requests, strict=True):
            result = None if request is None or request.fetches is None else next(results)
            hook.after_run(context, _values(result, options, run_metadata))
        self._stops = self._stops or context.stop_requested
        return answer


def _values(
    result: Any, options: RunOptions | None, run_metadata: RunMetadata | None
) -> SessionRunValues:
    return SessionRunValues(
        result,
        RunOptions() if options is None else options,
        RunMetadata() if run_metadata is None else run_metadata,
    )


def _feeds(feed_dict: Any, hook_feeds: dict[Any, Any]) -> Any:
    if not hook_feeds:
        return feed_dict
    if feed_dict:
        message = "Same tensor is fed by a SessionRunHook and user."
        _refuse_shared(feed_dict, hook_feeds, message)
        hook_feeds.update(feed_dict)
    return hook_feeds


def _refuse_shared(feeds: Mapping[Any, Any], others: Mapping[Any, Any], message: str) -> None:
    shared = [key for key in feeds if key in others]
    if shared:
        raise RuntimeError(f"{message} Conflict(s): {shared}")


def _merged(options: RunOptions, others: RunOptions) -> RunOptions:
    """Merge `others` into `options`, and return `options`.

    The result contains the larger value of each number, and the tensor watches of both messages. A
    flag is set if either message sets it.
    """
    for name in ("trace_level", "timeout_in_ms", "inter_op_thread_pool"):
        setattr(options, name, max(getattr(options, name), getattr(others, name)))
    for name in ("output_partition_graphs", "report_tensor_allocations_upon_oom"):
        setattr(options, name, getattr(options, name) or getattr(others, name))
    watches = options.debug_options.debug_tensor_watch_opts
    watches.extend(others.debug_options.debug_tensor_watch_opts)
    return options


class CoordinatedSession:
    """A hooked session and the threads of its coordinator."""

    def __init__(
        self, session: HookedSession, coord: Any, stop_grace_period_secs: float = 120
    ) -> None:
        self._hooked, self.coord = session, coord
        self._grace = stop_grace_period_secs
        self.run_with_hooks = self.run

    def should_stop(self) -> bool:
        """Return whether a thread or a hook has requested a stop. If a thread has raised an
        exception, raise it here.
        """
        self.coord.raise_requested_exception()
        return bool(self.coord.should_stop()) or self._hooked.should_stop()

    def close(self) -> None:
        """Stop and join the threads, and close the session. If a thread has raised an exception,
        raise it here.

        A thread that waits in a run ends when the session is closed.
        """
        self.coord.request_stop()
        try:
            self.coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            with contextlib.suppress(Exception):
                self._hooked.close()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run `fetches` as `HookedSession.run` does.

        If the run fails because the server of a thread was lost, the thread's error is raised, so
        that a new session is created.
        """
        try:
            return self._hooked.run(*args, **kwargs)
        except LOST_SERVER:
            raise
        except Exception as error:
            try:
                self.coord.raise_requested_exception()
            except LOST_SERVER:
                raise
            except Exception:
                raise error from None
            raise

    def run_step_fn(self, step_fn: Callable[[Any], Any], raw_session: Any) -> Any:
        """Return the result of the step function."""
        return step_fn(StepContext(raw_session, self.run))


class RecoverableSession:
    """A coordinated session that is recreated if a server was lost.

    Args:
      create: a function that creates the session, with its hooks and threads.
      current: a function that returns the latest tf.Session.
    """

    def __init__(
        self, create: Callable[[], CoordinatedSession], current: Callable[[], Any]
    ) -> None:
        self._create, self._current = create, current
        self._session: CoordinatedSession | None = self._created()

    def should_stop(self) -> bool:
        """Return whether a stop was requested. An error of a thread is treated as a request."""
        if self._session is None:
            return True
        try:
            return self._session.should_stop()
        except LOST_SERVER as error:
            self._recover(error)
            self._session = self._created()
            return False
        except Exception as error:
            if raised_by_handler(error):
                raise
            return True

    def close(self) -> None:
        """Close the session. If one of its threads has raised an exception, raise it here."""
        session, self._session = self._session, None
        _close(session)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run `fetches` as `HookedSession.run` does. If a server was lost, run `fetches` again in a
        new session.
        """
        return self._until_done(lambda session: session.run(*args, **kwargs))

    def run_step_fn(self, step_fn: Callable[[Any], Any], raw_session: Any) -> Any:
        """Return the result of the step function. If a server was lost, the function is called
        again.
        """
        del raw_session
        return self._until_done(lambda session: session.run_step_fn(step_fn, self._current()))

    def _until_done(self, call: Callable[[CoordinatedSession], Any]) -> Any:
        while True:
            if self._session is None:
                self._session = self._created()
            try:
                return call(self._session)
            except LOST_SERVER as error:
                self._recover(error)

    def _recover(self, error: Exception) -> None:
        logging.info("A server was lost; continuing from the last checkpoint: %s", error)
        self.close()

    def _created(self) -> CoordinatedSession:
        while True:
            try:
                return self._create()
            except LOST_SERVER as error:
                logging.info("A server was lost while a session was created; retrying: %s", error)
