"""Calls between processes through gRPC, with the methods of `formats/messages/service_messages.py`.

A call without a time limit goes over a stream (`call_streams.py`). A call with a time limit is a
separate gRPC call. Two methods are streams of bytes: `Fetch` returns the memory that a ticket
identifies, and `Store` sends memory and returns a ticket for it. A caller sends, in the metadata,
its proof that it has the cluster's key. All messages, and all answers (`calls/answers.py`), are
authenticated (`calls/proofs.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic, sleep
from typing import Any

import numpy as np

from gpugraph.base.errors import (
    OpError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
)
from gpugraph.base.fork_safe_locks import new_lock, new_rlock
from gpugraph.base.version import VERSION
from gpugraph.cluster.access import Credentials, open_channel
from gpugraph.cluster.call_streams import CallStream, sealed
from gpugraph.cluster.calls.answers import (
    PendingCall,
    answered,
    content_of,
    message_of,
    status_codes,
)
from gpugraph.cluster.calls.proofs import (
    GREETING,
    NO_INCARNATION,
    MessageProofs,
    open_call,
    service_of,
)
from gpugraph.cluster.core_streams import (
    CoreStream,
    LastingStream,
    StreamEndedError,
    StreamPool,
    has_core,
)
from gpugraph.cluster.grpc_package import grpc
from gpugraph.cluster.shared_segments import SegmentPool, mapped
from gpugraph.cluster.wire_values import (
    Memory,
    SeenParcels,
    chunks,
    joined,
    read_segment,
    read_values,
    see_parcel,
    write_values,
)
from gpugraph.formats.messages.service_messages import METHODS, ONE_WAY
from gpugraph.runtime.step_failure import same_kind

PROTOCOL = "6"
"""The protocol version; processes with different versions are incompatible."""

MAX_MESSAGE_BYTES = 256 << 20
_FREEING_S = 5.0
_AGAIN_S = 0.1
_CONNECTING_S = 10.0
"""The number of seconds for which the first call to a server, or the first tensor for it, waits for
the server.
"""

_UNPROVEN = frozenset(
    (
        *("UNAVAILABLE", "UNAUTHENTICATED", "FAILED_PRECONDITION", "RESOURCE_EXHAUSTED"),
        *("UNIMPLEMENTED", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "UNKNOWN"),
    )
)
"""The statuses that are accepted without a proof, whether from a server or from gRPC itself. None
of them concerns the content of a step; OUT_OF_RANGE, for example, would end a program's input.
"""

OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.enable_http_proxy", 0),
)


class Peer:
    """A connection to one server. It sends requests and receives answers."""

    def __init__(self, address: str, access: Credentials) -> None:
        self.address = address
        self._access = access
        self._channel = open_channel(address, access, OPTIONS)
        path = f"/{service_of(access.key)}/"
        self._methods = {name: self._channel.unary_unary(path + name) for name in METHODS}
        self._unawaited: set[PendingCall] = set()
        self._incarnation = NO_INCARNATION
        self._stream_path = path + "Exchange"
        self._exchange = self._channel.stream_stream(self._stream_path)
        self._streams = StreamPool(self._open_stream)
        self._sending: LastingStream | None = None
        self._is_near = False
        self._watch: CallStream | None = None
        self._on_loss: dict[StreamedCall, Callable[[OpError], Any]] = {}
        self._lock = new_lock()
        self._watch_lock = new_rlock()
        self._fetch = self._channel.unary_stream(path + "Fetch")
        self._store = self._channel.stream_unary(path + "Store")

    def close(self) -> None:
        """End the connection."""
        self._streams.close()
        with self._lock:
            if self._sending is not None:
                self._sending.close()
        self._channel.close()

    def _open_stream(self) -> LastingStream:
        """Open a stream. The first call also opens another stream, which detects the loss of the
        server.
        """
        with self._watch_lock:
            if self._watch is None or self._watch.is_over:
                self._watch = self._public_stream(self._note_loss)
        if not has_core(self._channel):
            return self._public_stream()
        metadata, proofs = self._opening("Exchange")
        return CoreStream(self._channel, self._stream_path, metadata, proofs)

    def _public_stream(self, on_end: Callable[[], Any] | None = None) -> CallStream:
        metadata, proofs = self._opening("Exchange")
        return CallStream(partial(self._exchange, metadata=metadata), proofs, on_end)

    def _opening(
        self, method: str, wait_s: float = 0.0, limit_s: float = _CONNECTING_S
    ) -> tuple[tuple[tuple[str, str], ...], MessageProofs]:
        """Return the metadata of a call, and the object that authenticates the call's messages.

        If the cluster has a key, the first call to a server is a `GREETING`. No other message is
        sent before the server has proven that it has the key.

        Args:
          wait_s, limit_s: the time limits of the greeting, as in `call`.
        """
        if self._access.key and not self._incarnation and method != GREETING:
            self.call(GREETING, message_of("Nothing"), wait_s, limit_s)
        shown, proofs = open_call(self._access.key, method, self._incarnation)
        metadata = (("gpugraph-protocol", PROTOCOL), ("gpugraph-version", VERSION))
        return (*metadata, ("gpugraph-proof", shown)) if shown else metadata, proofs

    def _note_loss(self) -> None:
        """Drop all streams to a server that is gone, and report the loss to the calls in
        progress.
        """
        self._streams.drop()
        self._sending = None
        for call in list(self._on_loss):
            self._report_loss(call)

    def _report_loss(self, call: StreamedCall) -> None:
        function = self._on_loss.pop(call, None)
        if function is not None:
            watch = self._watch
            failure = watch.failure() if watch is not None and watch.is_over else None
            function(self._as_op_error(call.method, failure))

    def exchange(self, method: str, message: Any) -> memoryview | bytes:
        """Send a message over a stream. Return the answer's bytes. Raises the errors of `call`."""
        return self._begin_in_stream(method, message).content()

    def begin(self, method: str, message: Any, limit_s: float = 0.0) -> PendingCall | StreamedCall:
        """Start a call and return it. With a time limit, the call is a separate gRPC call. Without
        a time limit, the call uses a stream.
        """
        if limit_s:
            return self.start(method, message, limit_s)
        return self._begin_in_stream(method, message)

    def _begin_in_stream(self, method: str, message: Any) -> StreamedCall:
        content = self._checked(method, message)
        stream = self._streams.take()
        stream.send(method, content)
        return StreamedCall(self, method, stream)

    def send(self, method: str, message: Any) -> None:
        """Send a message of a `ONE_WAY` method. Such messages arrive in the order in which they are
        sent."""
        content = self._checked(method, message)
        with self._lock:
            (stream := self._sending_stream()).send_one_way(method, content)
            if stream.is_over:
                raise self._as_op_error(method, None)

    def _sending_stream(self) -> LastingStream:
        stream = self._sending
        if stream is None or stream.is_over:
            # A server that has just been started may not be connected to yet.
            status = self.call("GetStatus", message_of("Nothing"), wait_s=_CONNECTING_S)
            self._is_near = mapped(read_segment(status.segment)) is not None
            stream = self._sending = self._open_stream()
        return stream

    def is_near(self) -> bool:
        """Return whether the server and this process share memory. The answer is cached as long as
        the server and this process are connected.
        """
        with self._lock:
            self._sending_stream()
            return self._is_near

    def call(self, method: str, message: Any, wait_s: float = 0.0, limit_s: float = 0.0) -> Any:
        """Send a message and return the answer.

        Raises the errors that the server reports, and UnavailableError if no server answers.

        Args:
          wait_s: the number of seconds to wait for a server that can't be reached yet.
          limit_s: the maximum duration of the call in seconds, or 0 for no limit.
        """
        if not (wait_s or limit_s):
            return answered(method, self.exchange(method, message))
        content, until = self._checked(method, message), monotonic() + wait_s
        metadata, proofs = self._opening(method, wait_s, limit_s)
        try:  # waiting in this thread takes half as long as a future
            content = self._methods[method](
                proofs.attach(content),
                timeout=wait_s or limit_s or None,
                wait_for_ready=wait_s > 0,
                metadata=metadata,
            )
            answer = answered(method, proofs.detach(content))
        except (UnauthenticatedError, grpc().RpcError) as error:
            as_op_error = self._as_op_error(method, error, wait_s)
            left_s = until - monotonic() - _AGAIN_S
            if method == GREETING and left_s > 0 and isinstance(as_op_error, UnavailableError):
                sleep(_AGAIN_S)  # a server with many connections may have ended this one
                return self.call(method, message, left_s)
            raise as_op_error from None
        if method == GREETING:
            self._incarnation = answer.incarnation
        return answer

    def start(self, method: str, message: Any, limit_s: float) -> PendingCall:
        """Start a call as a separate gRPC call, and return an object that waits for the answer."""
        content = self._checked(method, message)
        metadata, proofs = self._opening(method, limit_s=limit_s or _CONNECTING_S)
        future = self._methods[method].future(
            proofs.attach(content), timeout=limit_s or None, metadata=metadata
        )
        return PendingCall(method, future, proofs, self._as_op_error)

    def _checked(self, method: str, message: Any) -> bytes:
        """Serialize a message and add its checksum. Raises ResourceExhaustedError if the message is
        too large.
        """
        content: bytes = message.SerializeToString()
        if len(content) > MAX_MESSAGE_BYTES:
            raise ResourceExhaustedError.of_no_node(
                f"A message of {len(content)} bytes ({method}) is larger than {MAX_MESSAGE_BYTES},"
                " the limit: feed large values in place of constants"
            )
        return sealed(method, content)

    def tell(self, method: str, message: Any, limit_s: float) -> None:
        """Send a message without waiting for the answer, and ignore failures.

        If the method is `ONE_WAY` and the stream of `send` is open, the message uses that stream.
        Otherwise the message is a separate call of at most `limit_s` seconds.
        """
        if method in ONE_WAY and self._sending is not None:
            content = self._checked(method, message)
            with self._lock:
                stream = self._sending
                if stream is not None and not stream.is_over:
                    stream.send_one_way(method, content)
                    return
        pending = self.start(method, message, limit_s=limit_s)
        self._unawaited.add(pending)  # gRPC cancels an unreferenced call
        pending.when_done(lambda: self._unawaited.discard(pending))

    def fetch(self, ticket: str, size: int) -> Memory:
        """Fetch the memory that the server keeps under a ticket. `size` is its number of bytes."""
        metadata, proofs = self._opening("Fetch")
        call = self._fetch(proofs.attach(ticket.encode()), metadata=metadata)
        try:
            pieces = map(proofs.detach, call)
            content_of(next(pieces, b""))
            return joined(pieces, size)
        except (UnauthenticatedError, grpc().RpcError) as error:
            raise self._as_op_error("Fetch", error) from None
        finally:
            call.cancel()

    def store(self, memory: Memory) -> str:
        """Send memory to the server. Return the ticket under which the server keeps it."""
        metadata, proofs = self._opening("Store")

        def pieces() -> Iterator[bytes]:
            yield proofs.attach(struct.pack("<q", memory.nbytes))
            yield from map(proofs.attach, chunks(memory))

        try:
            answer = self._store(pieces(), metadata=metadata)
            return content_of(proofs.detach(answer)).decode()
        except (UnauthenticatedError, grpc().RpcError) as error:
            raise self._as_op_error("Store", error) from None

    def write_values(self, field: Any, arrays: Any) -> None:
        """Add arrays to a field of a message for this server. Large arrays are sent separately,
        before the message.
        """
        write_values(field, arrays, self.store)

    def read_values(self, field: Any) -> list[Any]:
        """Return the arrays in a field of this server's answer. Large arrays are fetched
        separately.
        """
        return read_values(field, self.fetch)

    def see_values(self, field: Any, segments: SegmentPool, seen: SeenParcels) -> list[Any]:
        """Return the arrays in a field of this server's answer, without copying arrays that are in
        the server's shared memory.

        The arrays that are not copied are recorded in `seen`, which the caller must later pass to
        `free`.
        """
        return read_values(field, self.fetch, partial(see_parcel, segments, seen))

    def read_copies(self, field: Any, segments: SegmentPool) -> list[Any]:
        """Return the arrays in a field of this server's answer. Large arrays are copied from the
        server's shared memory if possible.
        """
        seen: SeenParcels = []
        values = self.see_values(field, segments, seen)
        if seen:
            values = [np.array(value) for value in values]
            self.free(seen)
        return values

    def free(self, seen: SeenParcels) -> None:
        """Notify the server that this process no longer reads the parcels in `seen`."""
        message = message_of("Tickets", ticket=[ticket for ticket, _ in seen])
        self.tell("FreeParcels", message, limit_s=_FREEING_S)

    def _as_op_error(self, method: str, error: Any, wait_s: float = 0.0) -> OpError:
        if error is None:  # the server has ended the stream normally
            status, details = "UNAVAILABLE", "the connection has ended"
        elif isinstance(error, OpError):
            status, details = "UNAUTHENTICATED", error.message
        else:
            status, details = error.code().name, error.details()
        if wait_s and status == "DEADLINE_EXCEEDED":
            status, details = "UNAVAILABLE", f"no server answered within {wait_s:g} s"
        if status == "UNAVAILABLE":
            self._incarnation = NO_INCARNATION
        if self._access.key and status not in _UNPROVEN:
            details = f"The server answers {status} without a proof that it has the key"
            status = "UNAUTHENTICATED"
        code = status_codes()[status]
        text = f"{details} ({method} of the server at {self.address})"
        return same_kind(OpError(None, None, text, code), None, None, text)


class StreamedCall:
    """A call in progress over a stream. After the answer, other calls may use the stream."""

    def __init__(self, peer: Peer, method: str, stream: LastingStream) -> None:
        self._peer, self.method, self._stream = peer, method, stream
        self._is_answered = False

    def __call__(self) -> Any:
        """Wait for the answer and return it. Raises the errors of `Peer.call`."""
        return answered(self.method, self.content())

    def content(self) -> memoryview | bytes:
        """Wait for the answer and return it as bytes."""
        try:
            content = self._stream.receive()
        except StopIteration:
            raise self._peer._as_op_error(self.method, None) from None
        except (StreamEndedError, grpc().RpcError) as error:
            raise self._peer._as_op_error(self.method, error) from None
        except UnauthenticatedError as error:
            self.cancel()
            raise self._peer._as_op_error(self.method, error) from None
        except BaseException:
            self.cancel()
            raise
        finally:
            self._peer._on_loss.pop(self, None)
        self._is_answered = True
        self._peer._streams.give(self._stream)
        return content

    def when_lost(self, function: Callable[[OpError], Any]) -> None:
        """Register a function to be called, in some thread, if the server is lost before the
        answer. The function receives the error.
        """
        self._peer._on_loss[self] = function
        watch = self._peer._watch
        if watch is None or watch.is_over:
            self._peer._report_loss(self)

    def cancel(self) -> None:
        """Cancel the call and its stream. Do nothing if the answer has arrived."""
        self._peer._on_loss.pop(self, None)
        if not self._is_answered:
            self._stream.cancel()
