"""SessionManager, which creates sessions. It initializes or restores their variables, or waits
until another process has done so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.errors import DeadlineExceededError, FailedPreconditionError
from gpugraph.config import ConfigProto, RunOptions
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import graph_or_default
from gpugraph.library.train.savers.checkpoint_files import get_checkpoint_state
from gpugraph.platform import logging
from gpugraph.session import Session

_FOR_EVER = float("inf")


class SessionManager:
    """Creates sessions and makes their variables ready.

    Args:
      local_init_op: an operation that each new session runs when the global variables have values.
      ready_op: a tensor with the names of the variables that have no value. If the tensor is empty,
        the model is ready. If `ready_op` is None, the manager does not check whether the model is
        ready.
      ready_for_local_init_op: a tensor like `ready_op`. It is checked before `local_init_op` is
        run.
      graph: the graph of the sessions, by default the default graph.
      recovery_wait_secs: the seconds between two checks during a wait.
      local_init_run_options, local_init_feed_dict: the options and feeds for `local_init_op`.

    Raises:
      ValueError: `ready_for_local_init_op` is passed without `local_init_op`.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: RunOptions | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op, "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph_or_default(graph)
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """Create a session whose variables are restored from a checkpoint. If there is no
        checkpoint, they are initialized.

        Args:
          master: the target of the session.
          init_op: an operation that initializes variables if there is no checkpoint.
          saver: the Saver that restores a checkpoint. If it is None, no checkpoint is used.
          checkpoint_dir: the folder whose latest checkpoint is restored.
          checkpoint_filename_with_path: the checkpoint to restore. Pass at most one of this
            argument and `checkpoint_dir`.
          wait_for_checkpoint: whether to wait for a checkpoint, for at most `max_wait_secs`.
          config: the ConfigProto of the session.
          init_feed_dict: the feeds of `init_op`.
          init_fn: a function that is called with the session after `init_op`.

        Raises:
          RuntimeError: there is no way to initialize variables, or some variables have no value
            afterwards. The message contains the names of these variables.
          ValueError: both `checkpoint_dir` and `checkpoint_filename_with_path` are passed.
        """
        session, restored = self._restored_session(
            master, saver, checkpoint_dir, checkpoint_filename_with_path,
            wait_for_checkpoint, max_wait_secs, config,
        )  # fmt: skip
        try:
            if not restored:
                self._initialize(session, init_op, init_feed_dict, init_fn)
            self._check_ready(session, init_op, init_fn)
        except BaseException:
            session.close()
            raise
        return session

    def _initialize(self, session: Session, init_op: Any, feeds: Any, init_fn: Any) -> None:
        if init_op is None and not init_fn and self._local_init_op is None:
            raise RuntimeError(
                "Model is not initialized and no init_op or init_fn or local_init_op was given"
            )
        if init_op is not None:
            session.run(init_op, feed_dict=feeds)
        if init_fn:
            init_fn(session)

    def _check_ready(self, session: Session, init_op: Any, init_fn: Any) -> None:
        name = getattr(init_op, "name", None)
        if (missing := self._run_local_init(session)) is not None:
            raise RuntimeError(
                "Init operations did not make model ready for local_init.  Init op: "
                f"{name}, init fn: {init_fn}, error: {missing}"
            )
        if (missing := _missing(self._ready_op, session)) is not None:
            raise RuntimeError(
                f"Init operations did not make model ready.  Init op: {name}, init fn: {init_fn}, "
                f"local_init_op: {getattr(self._local_init_op, 'name', None)}, error: {missing}"
            )

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
    ) -> tuple[Session, bool]:
        """Create a session. Return (the session, whether all its variables were restored from a
        checkpoint).

        For the arguments, see `prepare_session`. `local_init_op` is the only operation that is run.
        """
        session, restored = self._restored_session(
            master, saver, checkpoint_dir, checkpoint_filename_with_path,
            wait_for_checkpoint, max_wait_secs, config,
        )  # fmt: skip
        try:
            missing = self._run_local_init(session)
            if restored and missing is None:
                missing = _missing(self._ready_op, session)
        except BaseException:
            session.close()
            raise
        source = checkpoint_dir or checkpoint_filename_with_path
        if not restored:
            return session, False
        if missing is not None:
            logging.info("Restoring model from %s did not make model ready: %s", source, missing)
            return session, False
        logging.info("Restored model from %s", source)
        return session, True

    def wait_for_session(
        self,
        master: str,
        config: ConfigProto | None = None,
        max_wait_secs: float | None = _FOR_EVER,
    ) -> Session:
        """Create a session whose variables the chief's session has made ready.

        Raises DeadlineExceededError if the variables are not ready after `max_wait_secs` seconds.
        """
        longest = _FOR_EVER if max_wait_secs is None else max_wait_secs
        end = time.time() + longest
        while True:
            session = Session(master, graph=self._graph, config=config)
            is_ready = False
            try:
                missing = self._run_local_init(session)
                if missing is None:
                    missing = _missing(self._ready_op, session)
                is_ready = missing is None
            finally:
                if not is_ready:
                    session.close()
            if is_ready:
                return session
            if end - time.time() - self._recovery_wait_secs < 0:
                raise DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {longest:.0f} secs. {missing}"
                )
            logging.warning("Waiting for model to be ready: %s", missing)
            time.sleep(self._recovery_wait_secs)

    def _restored_session(
        self,
        master: str,
        saver: Any,
        folder: Any,
        path: Any,
        waits: bool,
        max_wait_secs: float,
        config: ConfigProto | None,
    ) -> tuple[Session, bool]:
        """Create a session. Return (the session, whether a checkpoint was restored into it)."""
        if folder and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = Session(master, graph=self._graph, config=config)
        try:
            return session, self._restore(session, saver, folder, path, waits, max_wait_secs)
        except BaseException:
            session.close()
            raise

    def _restore(
        self, session: Session, saver: Any, folder: Any, path: Any, waits: bool, longest: float
    ) -> bool:
        if not saver or not (folder or path):
            return False
        if path:
            saver.restore(session, path)
            return True
        waited = 0.0
        while True:
            state = get_checkpoint_state(folder)
            if state and state.model_checkpoint_path:
                break
            if not waits or waited >= longest:
                return False
            logging.warning("Waiting for checkpoint to be available: %s", folder)
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return True

    def _run_local_init(self, session: Session) -> str | None:
        """Run `local_init_op` if the model is ready for it. Otherwise return the reason why the
        model is not ready.
        """
        if self._local_init_op is None:
            return None
        missing = _missing(self._ready_for_local_init_op, session)
        if missing is None:
            logging.info("Running local_init_op.")
            session.run(
                self._local_init_op,
                feed_dict=self._local_init_feed_dict,
                options=self._local_init_run_options,
            )
            logging.info("Done running local_init_op.")
        return missing


def _missing(ready_op: Any, session: Session) -> str | None:
    """Run `ready_op`. Return the reason why the model is not ready, or None if it is ready."""
    if ready_op is None:
        return None
    try:
        names = session.run(ready_op)
    except FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            raise
        return str(error)
    if names is None or np.asarray(names).dtype == np.int32 or not np.size(names):
        return None
    shown = ", ".join(name.decode("utf-8", "replace") for name in np.asarray(names).reshape(-1))
    return f"Variables not initialized: {shown}"
