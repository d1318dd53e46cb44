"""SessionRunHook, and the objects that its methods before and after a run take and return."""

from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """A hook's additions to a run: fetches in any structure, feeds and RunOptions.

    >>> tf.train.SessionRunArgs("loss:0").fetches
    'loss:0'
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a run for one hook.

    Args:
      results: the values of the hook's fetches, in the structure of the fetches. If the hook has no
        fetches, it is None.
      options: the RunOptions of the run.
      run_metadata: the run's RunMetadata.
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One run of a monitored session, which is passed to the hooks. A hook may make it the last
    run.
    """

    __slots__ = ("_original_args", "_session", "_stop_requested")

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session = original_args, session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The fetches and feeds of the caller."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The tf.Session. If a hook starts a run with it, no hooks take part in this run."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has requested that this run is the last one."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Make this run the last run. From now on, `should_stop` of the session returns True."""
        self._stop_requested = True


class SessionRunHook:
    """Base class of hooks. The methods of this class do nothing."""

    def begin(self) -> None:
        """Do nothing. The method is called once, before there is a session. Afterwards, the graph
        may not be changed.
        """

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Do nothing. The method is called with each new session, also after a recovery. At this
        time, the graph is finalized.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return None. The method is called before each run. In a subclass, it may return additions
        to the run.
        """

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Do nothing. The method is called after each run that raised no error."""

    def end(self, session: Any) -> None:
        """Do nothing. The method is called at the end, before the session is closed, unless an
        error ends the training.

        OutOfRangeError and StopIteration mark the end of the input and are not considered errors
        here.
        """
