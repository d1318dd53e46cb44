"""A limit on the rate at which gRPC delivers calls of methods that the server has not registered.

Callers with the key use method names that nobody can derive without it (`proofs.service_of`). So
calls of unregistered methods come from strangers or from callers with a wrong key. Each of these
calls must be answered with an error. The Python package grpcio requests the next call from gRPC's C
core as soon as it has received one. With ten thousand pending calls, the process would do little
else. Calls that are not requested wait in the core, which holds a few thousand calls and drops all
further calls. The limit uses internals of grpcio's server, which are not a public interface. If a
release of grpcio has different internals, such calls are delivered without a limit.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from gpugraph.base.fork_safe_locks import new_lock

_PAUSE_S = 0.01


class SlowServer:
    """A wrapper around the C core's server object. It limits how often a grpcio server requests
    calls from the core.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._pending: tuple[Any, ...] | None = None
        self._last_s = 0.0
        self._lock = new_lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def request_call(self, *arguments: Any) -> None:
        """Request the next unregistered call from the core, at least `_PAUSE_S` seconds after the
        last request.
        """
        with self._lock:
            wait_s = self._last_s + _PAUSE_S - time.monotonic()
            self._pending = arguments
            if wait_s <= 0:
                self._ask()
                return
        timer = threading.Timer(wait_s, self._ask_later)
        timer.daemon = True
        timer.start()

    def _ask_later(self) -> None:
        with self._lock:
            self._ask()

    def _ask(self) -> None:
        if self._pending is not None:
            arguments, self._pending = self._pending, None
            self._last_s = time.monotonic()
            self._server.request_call(*arguments)

    def shutdown(self, *arguments: Any) -> None:
        """If a request is delayed, issue it now, because grpcio waits until all requests have
        ended. Then shut down the core's server.
        """
        with self._lock:
            self._ask()
            self._server.shutdown(*arguments)


def slow_down(server: Any) -> None:
    """Limit the rate of unregistered calls of a grpcio server that has not started yet."""
    state: Any = getattr(server, "_state", None)
    if all(hasattr(getattr(state, "server", None), name) for name in ("request_call", "shutdown")):
        state.server = SlowServer(state.server)
