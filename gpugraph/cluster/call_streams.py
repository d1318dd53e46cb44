"""Streams of calls: what a step sends goes over streams that last, one frame for each message.

A call of its own costs gRPC more than a frame of a stream that is there. A frame is the number of
its method (one byte) and the message behind its checksum. A
stream does one call after the other; who makes several at the same time takes several
(`core_streams.StreamPool`). The server answers each frame with one frame, but for those of
`ONE_WAY` methods.

A client that is killed or interrupted, or a master whose process has ended, takes no answer any
more: its step must not go on to wait, say for an element of a queue, which would be lost: `Caller`.
As a client has a stream open as long as it lives, a server sees which sessions have lost theirs:
`SessionClients`.
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
"""Of the methods, as frames have them."""

_NAMES = tuple(METHODS)
HEADS = {name: bytes((number,)) for name, number in NUMBERS.items()}
"""The first byte of each method's frames."""

_MOMENT_S = 1.0
"""How long a connection may be lost before others are told that a client has gone."""


def sealed(method: str, message: bytes) -> bytes:
    """A message behind its checksum, which is that of the method, too."""
    return zlib.crc32(message, NUMBERS[method]).to_bytes(4, "little") + message


def unsealed(method: str, content: bytes) -> bytes:
    """The message of sealed bytes; InvalidArgumentError where these have been changed."""
    message = content[4:]
    total = zlib.crc32(message, NUMBERS[method])
    if len(content) < 4 or total != int.from_bytes(content[:4], "little"):
        raise invalid_argument(f"A message of {method} is not as it was sent: its sum is another")
    return message


def read_frame(frame: memoryview | bytes) -> tuple[str, bytes]:
    """Method and sealed message of a frame; InvalidArgumentError for no method."""
    if not len(frame) or frame[0] >= len(_NAMES):
        raise invalid_argument("A frame is of no method")
    return _NAMES[frame[0]], bytes(frame[1:])


class CallStream:
    """One stream to a server. on_end: called, in some thread, when it is over."""

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
        """Sends a frame; what comes of it is told by `receive` and `is_over`."""
        self._frames.put(self._proofs.attach(HEADS[method], content))

    def send_one_way(self, method: str, content: bytes) -> None:
        """Sends a frame that has no answer."""
        self.send(method, content)

    def receive(self) -> memoryview | bytes:
        """The answer to the first frame that has none yet. RpcError where the stream has ended."""
        return self._proofs.detach(next(self._answers))

    def failure(self) -> Any:
        """The RpcError of a stream that is over; None if it has ended in order."""
        return self._answers.exception()

    def cancel(self) -> None:
        """Ends the stream at once."""
        self._answers.cancel()

    def close(self) -> None:
        """Ends the stream when what was sent has gone."""
        self._frames.put(None)


class Caller:
    """Who waits for the answer to a call, or to the calls of a stream, of this gRPC context.

    connection: its address and port. is_gone: whether it waits no more.
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
        """The function is called, in some thread, when the caller goes; now if it has gone."""
        with self._lock:
            self._on_end.add(function)
            is_gone = self.is_gone
        if is_gone:
            function()

    def discard(self, function: Callable[[], Any]) -> None:
        """The function is called no more."""
        with self._lock:
            self._on_end.discard(function)


class _Current(threading.local):
    caller: Caller | None = None


_CURRENT = _Current()


def current_caller() -> Caller | None:
    """Whom this thread answers; None for one of this process."""
    return _CURRENT.caller


@contextlib.contextmanager
def answering(caller: Caller | None) -> Iterator[None]:
    """What this thread does meanwhile is for this caller."""
    before, _CURRENT.caller = _CURRENT.caller, caller
    try:
        yield
    finally:
        _CURRENT.caller = before


class SessionClients:
    """Whether the clients of a server's sessions are there; for a worker, their masters are.

    A client is there as long as a stream of one of its connections is open.

    on_gone: called with a session whose client has gone a moment ago. on_lost: with one whose
    client has not come back for so many seconds (0: never). Both are called in a thread of this.
    on_disconnect: with each connection that has no stream any more.
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
        """Notes that a stream of a caller is open, until the caller goes."""
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
        """Notes that who calls now is a client of a session that there is."""
        caller = _CURRENT.caller
        if caller is None or caller.connection in self._connections.get(session, ()):
            return
        with self._changed:
            connections = self._connections.setdefault(session, set())
            if caller.connection in self._num_streams:
                connections.add(caller.connection)
            self._note_use(session)

    def _note_use(self, session: str) -> None:
        """Begins to count the time of a session none of whose connections is open."""
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
        """Notes that a session has been closed."""
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
        """Calls nothing any more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()


@contextlib.contextmanager
def while_waited_for(end: Callable[[CancelledError], Any]) -> Iterator[None]:
    """Calls `end` with an error if the caller goes meanwhile; who is of this process stays."""
    caller = _CURRENT.caller
    if caller is None:
        yield
        return

    def on_end() -> None:
        end(CancelledError.of_no_node("Who asked for the step does not wait for it any more"))

    caller.add(on_end)
    try:
        yield
    finally:
        caller.discard(on_end)
