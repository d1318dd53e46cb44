"""Streams on gRPC's C core, which calling and answering threads use directly.

grpcio's own streams pass each message from thread to thread, which takes longer than all other work
of a small step. The streams of this module need no such threads. They use the module
`grpc._cython.cygrpc`, on which grpcio is built. A caller sends and waits in its own thread, and a
server's network thread passes each frame directly to the answering thread. `cygrpc` is not a public
interface. If a release of grpcio lacks the functions that are used here (`has_core`), grpcio's own
streams are used (`call_streams.CallStream`), which behave in the same way.
"""

from __future__ import annotations

import contextlib
import logging
import queue
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from gpugraph.cluster.call_streams import HEADS, CallStream
from gpugraph.cluster.calls.proofs import MessageProofs
from gpugraph.cluster.grpc_package import grpc

_LOG = logging.getLogger("gpugraph")
_USED = (
    "SendInitialMetadataOperation",
    "SendMessageOperation",
    "ReceiveInitialMetadataOperation",
    "ReceiveMessageOperation",
    "ReceiveStatusOnClientOperation",
)
_MAX_IDLE = 8
_BEGUN, _SENT, _ANSWERED, _ENDED = "begun", "sent", "answered", "ended"
_CANCELLED = 1
_DONE = (None, ())
"""The value that grpcio's server expects event callbacks to return."""


@cache
def core() -> Any:
    """Return the module `cygrpc`, or None if it lacks a function that this module uses."""
    module = getattr(getattr(grpc(), "_cython", None), "cygrpc", None)
    if module is None or not all(hasattr(module, name) for name in _USED):
        return None
    return module if hasattr(module.Channel, "segregated_call") else None


def has_core(channel: Any) -> bool:
    """Return whether a grpcio channel supports a `CoreStream`."""
    return core() is not None and isinstance(getattr(channel, "_channel", None), core().Channel)


class StreamEndedError(Exception):
    """The error of a stream that has ended. Like grpcio's RpcError, this error has a code and
    details.
    """

    def __init__(self, code: int, details: str) -> None:
        super().__init__(details)
        self._code, self._details = code, details

    def code(self) -> Any:
        """Return the gRPC StatusCode."""
        return next(status for status in grpc().StatusCode if status.value[0] == self._code)

    def details(self) -> str:
        """Return the server's message."""
        return self._details


class CoreStream:
    """One stream to a server, with the methods of `CallStream`. Only one thread at a time may use a
    stream.
    """

    def __init__(
        self, channel: Any, method: str, metadata: Sequence[tuple[str, str]], proofs: MessageProofs
    ) -> None:
        module = core()
        self.is_over = False
        self._proofs, self._end = proofs, StreamEndedError(14, "the stream has ended")
        self._send_op = module.SendMessageOperation
        self._receive_op = module.ReceiveMessageOperation
        self._call = channel._channel.segregated_call(
            0,
            method.encode(),
            None,
            None,
            tuple(metadata),
            None,
            (
                ((module.SendInitialMetadataOperation(tuple(metadata), 0),), _BEGUN),
                ((module.ReceiveStatusOnClientOperation(0),), _ENDED),
                ((module.ReceiveInitialMetadataOperation(0),), _BEGUN),
            ),
            None,
        )

    def send(self, method: str, content: bytes) -> None:
        """Send a frame and request its answer. One event of the core reports the end of both
        operations.
        """
        if not self.is_over:
            frame = self._proofs.attach(HEADS[method], content)
            self._call.operate((self._send_op(frame, 0), self._receive_op(0)), _ANSWERED)

    def send_one_way(self, method: str, content: bytes) -> None:
        """Send a frame that has no answer. Return when the network has accepted the frame."""
        if not self.is_over:
            frame = self._proofs.attach(HEADS[method], content)
            self._call.operate((self._send_op(frame, 0),), _SENT)
            self._wait_for(_SENT)

    def receive(self) -> memoryview | bytes:
        """Wait for the answer to the oldest unanswered frame. Raises StreamEndedError if the stream
        has ended.
        """
        while not self.is_over:
            answer = self._wait_for(_ANSWERED)
            if answer is not None:
                message = answer.batch_operations[-1].message()
                if message is not None:
                    return self._proofs.detach(message)
                self._wait_for(_ENDED)
        raise self._end

    def _wait_for(self, tag: str) -> Any:
        """Wait for the core's event with this tag. Return None if the stream ends first."""
        while not self.is_over:
            event = self._call.next_event()
            if event.tag == _ENDED:
                self.is_over = True
                status = event.batch_operations[0]
                self._end = StreamEndedError(int(status.code()), _text(status.details()))
            elif event.tag == tag:
                return event
        return None

    def cancel(self) -> None:
        """End the stream immediately."""
        if not self.is_over:
            self._call.cancel(_CANCELLED, "Locally cancelled by application!")
            with contextlib.suppress(KeyError):  # Ctrl-C may have lost an event
                self._wait_for("")
            self.is_over = True

    close = cancel


def _text(details: Any) -> str:
    return details.decode("utf-8", "replace") if isinstance(details, bytes) else str(details)


LastingStream = CallStream | CoreStream
"""A stream to a server, on which calls are made one after another."""


class StreamPool:
    """The open streams to one server that are not used by a call at the moment."""

    def __init__(self, open_stream: Callable[[], LastingStream]) -> None:
        self._open_stream = open_stream
        self._idle: list[LastingStream] = []

    def take(self) -> LastingStream:
        """Return an idle stream or, if there is none, a new stream. No other call uses the stream
        until `give` returns it to the pool.
        """
        while True:
            try:
                stream = self._idle.pop()
            except IndexError:
                return self._open_stream()
            if not stream.is_over:
                return stream

    def give(self, stream: LastingStream) -> None:
        """Put back a stream whose calls have all been answered. If enough streams are idle, close
        the stream instead.
        """
        if len(self._idle) < _MAX_IDLE:
            self._idle.append(stream)
        else:
            stream.close()

    def drop(self) -> None:
        """Drop the idle streams without closing them, because their server is gone."""
        self._idle = []

    def close(self) -> None:
        """End all idle streams."""
        while self._idle:
            self._idle.pop().close()


def serves_by_core(context: Any) -> bool:
    """Return whether the core can answer the stream of this ServicerContext."""
    call = getattr(getattr(context, "_rpc_event", None), "call", None)
    return core() is not None and hasattr(call, "start_server_batch")


class CoreFrames:
    """The frames of one stream on the server. Each frame is read after the preceding one was
    answered.

    Args:
      context: grpcio's ServicerContext of the stream.
      do_now: a function that handles a frame in the network thread and returns True. It may return
        False instead, to leave the frame to the iterating thread.
    """

    def __init__(self, context: Any, do_now: Callable[[bytes], bool]) -> None:
        module = core()
        self._do_now = do_now
        self._call = context._rpc_event.call
        self._receive_op, self._send_op = (
            module.ReceiveMessageOperation,
            module.SendMessageOperation,
        )
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        if not context.add_callback(self._end):
            self._end()
            return
        context.send_initial_metadata(())
        self._ask()

    def _end(self) -> None:
        self._frames.put(None)

    def _ask(self) -> None:
        self._call.start_server_batch((self._receive_op(0),), self._came)

    def _came(self, event: Any) -> Any:
        """Handle a received frame in the network thread. No exception leaves this method, because
        an exception would end the network thread.
        """
        try:
            frame = event.batch_operations[-1].message()
            if frame is None:
                self._end()
            elif self._do_now(frame):
                self._ask()
            else:
                self._frames.put(frame)
        except Exception:
            _LOG.exception("A stream has ended")
            self._end()
        return _DONE

    def __iter__(self) -> Iterator[bytes]:
        """Yield the frames that `do_now` did not handle, until the stream ends."""
        while (frame := self._frames.get()) is not None:
            yield frame

    def answer(self, frame: bytes | None) -> None:
        """Send `frame` as the answer to the last received frame, unless `frame` is None. Then
        request the next frame.
        """
        if frame is None:
            self._ask()
        else:
            operations = self._send_op(frame, 0), self._receive_op(0)
            self._call.start_server_batch(operations, self._came)
