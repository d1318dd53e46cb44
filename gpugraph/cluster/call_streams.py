"""Streams of calls. Messages of steps are sent over long-lived streams, with one frame for each
message.

A separate gRPC call costs more than a frame on an open stream. A frame consists of the number of
the method (one byte), a checksum, and the message. A stream carries one call at a time. A client
with several concurrent calls uses several streams (`core_streams.StreamPool`). The server answers
each frame with one frame, except for frames of `ONE_WAY` methods.

A client that was killed or interrupted, or a master whose process has ended, no longer receives
answers. The step that it started must then end. Otherwise the step might, for example, take an
element from a queue that nobody receives. `Caller` therefore notifies the step when its caller is
gone. A client keeps a stream open as long as it exists, so a server can detect sessions whose
client is gone (`SessionClients`).
"""

from __future__ import annotations

import contextlib
import queue
import threading
import zlib
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from gpugraph.base.errors import CancelledError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.calls.proofs import MessageProofs
from gpugraph.formats.messages.service_messages import METHODS

NUMBERS = {name: number for number, name in enumerate(METHODS)}
"""The number of each method in frames, by the method's name."""

_NAMES = tuple(METHODS)
HEADS = {name: bytes((number,)) for name, number in NUMBERS.items()}
"""The first byte of a frame, the method's number, by the method's name."""

_MOMENT_S = 1.0
"""Seconds between the end of a client's last stream and the call of `on_gone` for its sessions."""


def sealed(method: str, message: bytes) -> bytes:
    """Return a message preceded by its CRC-32 (4 bytes). The checksum also covers the method's
    number.
    """
    return zlib.crc32(message, NUMBERS[method]).to_bytes(4, "little") + message


def unsealed(method: str, content: bytes) -> bytes:
    """Return the message that `sealed` was called with. Raises InvalidArgumentError if the checksum
    is wrong.
    """
    message = content[4:]
    total = zlib.crc32(message, NUMBERS[method])
    if len(content) < 4 or total != int.from_bytes(content[:4], "little"):
        raise invalid_argument(f"A message of {method} is not as it was sent: its sum is another")
    return message


def read_frame(frame: memoryview | bytes) -> tuple[str, bytes]:
    """Return the method and the sealed message of a frame. Raises InvalidArgumentError if the
    method is unknown.
    """
    if not len(frame) or frame[0] >= len(_NAMES):
        raise invalid_argument("A frame is of no method")
    return _NAMES[frame[0]], bytes(frame[1:])


class CallStream:
    """One open stream to a server.

    Args:
      on_end: a function that is called, in some thread, when the stream has ended.
    """

    def __init__(
        self,
        open_stream: Callable[[Iterator[bytes]], Any],
        proofs: MessageProofs,
        on_end: Callable[[], Any] | None = None,
    ) -> None:
        self.is_over = False
        self._on_end = on_end
        self._proofs = proofs
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers = open_stream(iter(self._frames.get, None))
        if not self._answers.add_callback(self._note_end):
            self._note_end()

    def _note_end(self) -> None:
        self.is_over = True
        self._frames.put(None)
        if self._on_end is not None:
            self._on_end()

    def send(self, method: str, content: bytes) -> None:
        """Queue a frame, without waiting. If the stream fails, `receive` raises the error."""
        self._frames.put(self._proofs.attach(HEADS[method], content))

    def send_one_way(self, method: str, content: bytes) -> None:
        """Send a frame that has no answer."""
        self.send(method, content)

    def receive(self) -> memoryview | bytes:
        """Wait for the answer to the oldest unanswered frame. Raises RpcError if the stream has
        ended.
        """
        return self._proofs.detach(next(self._answers))

    def failure(self) -> Any:
        """Return the RpcError that ended the stream. If the stream ended without an error, return
        None.
        """
        return self._answers.exception()

    def cancel(self) -> None:
        """End the stream immediately. Frames and answers in transit are lost."""
        self._answers.cancel()

    def close(self) -> None:
        """End the stream after all queued frames have been sent."""
        self._frames.put(None)


class Caller:
    """The remote side of one gRPC call or stream that this server answers.

    Args:
      context: gRPC's ServicerContext of the call.

    Attributes:
      connection: the caller's address and port, in gRPC's notation (`ipv4:127.0.0.1:123`).
      is_gone: whether the call or stream has ended, so that the caller no longer waits for an
        answer.
    """

    def __init__(self, context: Any) -> None:
        self.connection: str = context.peer()
        self._on_end: set[Callable[[], Any]] = set()
        self.is_gone = False
        self._lock = new_lock()
        if not context.add_callback(self._end):
            self._end()

    def _end(self) -> None:
        with self._lock:
            self.is_gone = True
            functions = list(self._on_end)
        for function in functions:
            function()

    def add(self, function: Callable[[], Any]) -> None:
        """Register a function to be called, in some thread, when the caller's call or stream ends.

        If the call or stream has already ended, call the function now.
        """
        with self._lock:
            self._on_end.add(function)
            is_gone = self.is_gone
        if is_gone:
            function()

    def discard(self, function: Callable[[], Any]) -> None:
        """Unregister a function that `add` has registered. Do nothing if the function is not
        registered.
        """
        with self._lock:
            self._on_end.discard(function)


class _Current(threading.local):
    caller: Caller | None = None


_CURRENT = _Current()


def current_caller() -> Caller | None:
    """Return the remote caller whose request this thread is handling, or None."""
    return _CURRENT.caller


@contextlib.contextmanager
def answering(caller: Caller | None) -> Iterator[None]:
    """Inside a `with` block, make `current_caller` return `caller` in this thread."""
    before, _CURRENT.caller = _CURRENT.caller, caller
    try:
        yield
    finally:
        _CURRENT.caller = before


class SessionClients:
    """A record of which sessions have a connected client. On a worker, the clients of sessions are
    masters.

    A client is connected as long as at least one of its streams is open.

    Args:
      on_gone: called with a session's handle a second after its client has disconnected.
      on_lost: called with the handle if the client has not reconnected within `keep_s` seconds. If
        `keep_s` is 0, `on_lost` is never called.

    Attributes:
      on_disconnect: a function, or None. The function is called with the name of a connection when
        the last stream of this connection has ended.

    A thread of this object calls `on_gone` and `on_lost`.
    """

    on_disconnect: Callable[[str], Any] | None = None

    def __init__(
        self, on_gone: Callable[[str], Any], on_lost: Callable[[str], Any], keep_s: float
    ) -> None:
        self._steps = [(_MOMENT_S, on_gone)] + ([(keep_s, on_lost)] if keep_s else [])
        self._num_streams: dict[str, int] = {}  # by connection
        self._connections: dict[str, set[str]] = {}  # by session
        self._due: dict[str, list[tuple[float, Callable[[str], Any]]]] = {}  # by session
        self._changed = threading.Condition(threading.Lock())
        self._is_watched = self._is_stopped = False

    def begin_stream(self, caller: Caller) -> None:
        """Record that a stream of a caller is open. When the stream ends, the end is recorded as
        well.
        """
        with self._changed:
            count = self._num_streams.get(caller.connection, 0)
            self._num_streams[caller.connection] = count + 1
        caller.add(lambda: self._end_stream(caller.connection))

    def _end_stream(self, connection: str) -> None:
        with self._changed:
            self._num_streams[connection] -= 1
            if self._num_streams[connection]:
                return
            del self._num_streams[connection]
            for session, connections in self._connections.items():
                if connection in connections:
                    connections.discard(connection)
                    self._note_use(session)
        if self.on_disconnect is not None:
            self.on_disconnect(connection)

    def use(self, session: str) -> None:
        """Record that the current caller of this thread is a client of an existing session."""
        caller = _CURRENT.caller
        if caller is None or caller.connection in self._connections.get(session, ()):
            return
        with self._changed:
            connections = self._connections.setdefault(session, set())
            if caller.connection in self._num_streams:
                connections.add(caller.connection)
            self._note_use(session)

    def _note_use(self, session: str) -> None:
        """Stop the countdown of a session. If the session's client has no open stream, start the
        countdown again.

        The caller must hold the lock of `_changed`.
        """
        self._due.pop(session, None)
        if self._connections[session] or self._is_stopped:
            return
        now = monotonic()
        self._due[session] = [(now + after_s, function) for after_s, function in self._steps]
        self._changed.notify()
        if not self._is_watched:
            self._is_watched = True
            threading.Thread(target=self._look, name="gpugraph-clients", daemon=True).start()

    def forget(self, session: str) -> None:
        """Stop tracking a session that has been closed."""
        with self._changed:
            self._connections.pop(session, None)
            self._due.pop(session, None)

    def _look(self) -> None:
        while True:
            with self._changed:
                if not self._due or self._is_stopped:
                    self._is_watched = False
                    return
                now = monotonic()
                ready = [
                    (name, steps[0][1]) for name, steps in self._due.items() if steps[0][0] <= now
                ]
                if not ready:
                    self._changed.wait(min(steps[0][0] for steps in self._due.values()) - now)
                for name, _ in ready:
                    del self._due[name][0]
                    if not self._due[name]:
                        del self._due[name]
            for name, function in ready:
                function(name)

    def stop(self) -> None:
        """End the thread that calls `on_gone` and `on_lost`. The functions are not called again."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()


@contextlib.contextmanager
def while_waited_for(end: Callable[[CancelledError], Any]) -> Iterator[None]:
    """While a `with` block runs, call `end` with a CancelledError if the remote caller of this
    thread disconnects.
    """
    caller = _CURRENT.caller
    if caller is None:
        yield
        return

    def on_end() -> None:
        end(CancelledError.of_no_node("The caller of the step no longer waits for it"))

    caller.add(on_end)
    try:
        yield
    finally:
        caller.discard(on_end)
