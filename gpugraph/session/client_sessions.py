"""Session and InteractiveSession, the sessions of a user's program."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

from gpugraph.config import ConfigProto, SessionOptions
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_stacks import graph_stack, session_stack
from gpugraph.session.base_session import LIVE, BaseSession
from gpugraph.session.session_factory import SessionFactory


class Session(BaseSession):
    """A session, which runs a graph. In a `with` block, the session and its graph are the defaults
    of the thread.

    The end of the `with` block closes the session. `target` is `""` for this process, or
    `"grpc://host:port"` for a server. `graph` is by default the default graph. `config` has
    settings for devices, memory, placement and logging.

    >>> x = tf.placeholder(tf.float32, [])
    >>> with tf.Session() as session:
    ...     print(session.run(x * 2, {x: 3}))
    6.0
    """

    _entered: ExitStack | None = None

    def __enter__(self) -> Session:
        if self._entered is not None:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` to enter "
                "the same session again."
            )
        with ExitStack() as stack:
            stack.enter_context(self.graph.as_default())
            stack.enter_context(self.as_default())
            self._entered = stack.pop_all()
        return self

    def __exit__(self, *_: Any) -> None:
        entered, self._entered = self._entered, None
        try:
            if entered is not None:
                entered.close()
        finally:
            self.close()

    @staticmethod
    def reset(
        target: str | None, containers: Sequence[str] | None = None, config: Any = None
    ) -> None:
        """Clear resource containers on `target` and close its live sessions.

        If the target is a server, all sessions on it, including the sessions of other processes,
        raise AbortedError from then on. Raises NotFoundError if no session factory accepts the
        target.

        Args:
          containers: the names of the containers, or None for all of them.
        """
        options = SessionOptions(target or "", config or ConfigProto())
        if SessionFactory.reset(options, containers or ()):
            return
        for session in list(LIVE):
            if session.sess_str == (target or ""):
                session._backend.reset(list(containers or ()))
                session.close()


class InteractiveSession(BaseSession):
    """A session that is the default session from its creation until it is closed.

    If a graph is passed, it is the default graph during this time.

    >>> interactive = tf.InteractiveSession()
    >>> tf.constant(3).eval()
    np.int32(3)
    >>> interactive.close()
    """

    _active: ClassVar[weakref.WeakSet[InteractiveSession]] = weakref.WeakSet()

    def __init__(
        self,
        target: str | bytes | None = "",
        graph: Graph | None = None,
        config: ConfigProto | None = None,
    ) -> None:
        super().__init__(target, graph, config)
        if InteractiveSession._active:
            warnings.warn(
                "An interactive session is already active. This can cause out-of-memory errors in "
                "some cases. You must explicitly call `InteractiveSession.close()` to release "
                "resources held by the other session(s).",
                stacklevel=2,
            )
        InteractiveSession._active.add(self)
        self._explicit_graph = graph
        if graph is not None:
            graph_stack.stack.append(graph)
        session_stack.stack.append(self)

    def close(self) -> None:
        """Close the session and remove it as the default."""
        if self._closed:
            return
        super().close()
        InteractiveSession._active.discard(self)
        if self in session_stack.stack:
            session_stack.stack.remove(self)
        if self._explicit_graph is not None and self._explicit_graph in graph_stack.stack:
            graph_stack.stack.remove(self._explicit_graph)
