"""Session creators: ChiefSessionCreator, which initializes variables, and WorkerSessionCreator."""

from __future__ import annotations

import abc
from typing import Any

from gpugraph.config import ConfigProto
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.train.monitored_sessions.scaffold import Scaffold
from gpugraph.library.train.monitored_sessions.session_manager import SessionManager
from gpugraph.session import Session


class SessionCreator(abc.ABC):
    """Base class of the objects that create sessions for a monitored session."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """Create a session that is ready to run steps."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class _ScaffoldedCreator(SessionCreator):
    """A session creator with a Scaffold. It creates one SessionManager from the Scaffold's
    operations.
    """

    def __init__(self, scaffold: Scaffold | None, master: str, config: ConfigProto | None) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._session_manager: SessionManager | None = None

    def _get_session_manager(self) -> SessionManager:
        self._scaffold.finalize()
        if self._session_manager is None:
            self._session_manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                local_init_feed_dict=self._scaffold.local_init_feed_dict,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._session_manager


class ChiefSessionCreator(_ScaffoldedCreator):
    """Creates sessions whose variables are restored from a checkpoint, or initialized.

    Args:
      scaffold: a Scaffold with the operations that initialize variables, by default `Scaffold()`.
      master, config: the target and the ConfigProto of the sessions.
      checkpoint_dir: the folder whose latest checkpoint is restored.
      checkpoint_filename_with_path: the checkpoint that is restored. Pass at most one of this
        argument and `checkpoint_dir`.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint = {
            "checkpoint_dir": checkpoint_dir,
            "checkpoint_filename_with_path": checkpoint_filename_with_path,
        }

    def create_session(self) -> Session:
        """Create a session and finalize the graph. The method raises the errors of
        `SessionManager.prepare_session`.
        """
        manager, scaffold = self._get_session_manager(), self._scaffold
        return manager.prepare_session(
            self._master,
            saver=scaffold.saver,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
            **self._checkpoint,
        )


class WorkerSessionCreator(_ScaffoldedCreator):
    """Creates sessions whose variables the chief's session has initialized.

    Args:
      scaffold, master, config: see ChiefSessionCreator.
      max_wait_secs: the maximum number of seconds to wait for the chief.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Session:
        """Create a session. The method raises the errors of `SessionManager.wait_for_session`."""
        manager = self._get_session_manager()
        return manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
