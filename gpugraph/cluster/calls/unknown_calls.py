"""Lets gRPC hand over few calls a second of those whose method the server has not registered.

Callers with the key ask for methods by names that others do not know (`proofs.service_of`), so that
those are strangers' calls, but for who has a wrong key and is to hear of that. grpcio asks its core
for the next call as soon as it has got one; with ten thousand that wait it would do little else.
Those that are not asked for stay in the core, which takes a few thousand and drops the others.
This uses what grpcio's server is built on, which is no public interface; where a release has
another inside, such calls are handed over as they come.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from gpugraph.base.fork_safe_locks import new_lock

_PAUSE_S = 0.01


class SlowServer:
    """The core's server as grpcio's uses it, which asks for an unregistered call at times."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._asked: tuple[Any, ...] | None = None
        self._last_s = 0.0
        self._lock = new_lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def request_call(self, *arguments: Any) -> None:
        """Asks for a call, now or when the last one was some time ago."""
        with self._lock:
            wait_s = self._last_s + _PAUSE_S - time.monotonic()
            self._asked = arguments
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
        if self._asked is not None:
            arguments, self._asked = self._asked, None
            self._last_s = time.monotonic()
            self._server.request_call(*arguments)

    def shutdown(self, *arguments: Any) -> None:
        """Ends the server, which waits for the end of what it was asked to ask for."""
        with self._lock:
            self._ask()
            self._server.shutdown(*arguments)


def slow_down(server: Any) -> None:
    """Lets a server of grpcio that has not started get few unregistered calls a second."""
    state: Any = getattr(server, "_state", None)
    if all(hasattr(getattr(state, "server", None), name) for name in ("request_call", "shutdown")):
        state.server = SlowServer(state.server)
