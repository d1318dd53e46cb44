"""Calls between processes: gRPC with the methods of `formats/messages/service_messages.py`.

An answer is one byte and a message: 0 and what the method answers, or 1 and a Failure, which the
caller raises as TensorFlow's error. Two methods are streams of bytes: `Fetch` gives the memory of
a ticket, `Store` takes one. What a caller has to show goes along as metadata (`access.py`).
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from gpugraph.base.errors import (
    CancelledError,
    FailedPreconditionError,
    InternalError,
    OpError,
    ResourceExhaustedError,
    UnknownError,
    invalid_argument,
)
from gpugraph.base.version import VERSION
from gpugraph.cluster.access import Access, Proofs, add_port, open_channel, proof
from gpugraph.cluster.daemon_threads import DaemonThreads
from gpugraph.cluster.grpc_package import grpc
from gpugraph.cluster.wire_values import (
    MOST_VALUE_BYTES,
    Memory,
    Parcels,
    chunks,
    joined,
    read_values,
    write_values,
)
from gpugraph.formats import messages_pb2
from gpugraph.formats.messages.service_messages import METHODS
from gpugraph.runtime.step_failure import same_kind

_LOG = logging.getLogger("gpugraph")

PROTOCOL = "1"
"""Processes that say another number do not understand each other."""

MOST_MESSAGE_BYTES = 256 << 20
MOST_CALLS = 1000
"""Calls that a server answers at the same time; each waits in a thread of its own."""

_SERVICE = "gpugraph.cluster.Cluster"
_OPTIONS = (
    ("grpc.max_receive_message_length", MOST_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MOST_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.enable_http_proxy", 0),
)


def message_of(name: str, **fields: Any) -> Any:
    """A new message of the service."""
    return messages_pb2.SERVICE_MESSAGES[name](**fields)


def node_of(error: OpError) -> str:
    """The name of the node that failed, or the empty text."""
    return getattr(error, "node_name", None) or getattr(error._node_def, "name", None) or ""


def write_failure(failure: Any, error: OpError) -> None:
    """Fills a Failure from an error."""
    failure.code = error.error_code
    failure.message = error.message
    failure.node = node_of(error)


def error_of(failure: Any) -> OpError:
    """The error that a Failure tells of."""
    plain = OpError(None, None, failure.message, failure.code)
    error = same_kind(plain, None, None, failure.message)
    if failure.node:
        error.node_name = failure.node  # type: ignore[attr-defined]
    return error


def status_codes() -> dict[str, int]:
    """gRPC's names of statuses with their codes, which are those of TensorFlow's errors."""
    return {status.name: status.value[0] for status in grpc().StatusCode}


class Peer:
    """A server as its callers see it."""

    def __init__(self, address: str, access: Access) -> None:
        self.address = address
        self._access = access
        self._channel = open_channel(address, access, _OPTIONS)
        self._methods = {name: self._channel.unary_unary(f"/{_SERVICE}/{name}") for name in METHODS}
        self._unawaited: set[PendingCall] = set()
        self._fetch = self._channel.unary_stream(f"/{_SERVICE}/Fetch")
        self._store = self._channel.stream_unary(f"/{_SERVICE}/Store")

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def call(self, method: str, message: Any, wait_s: float = 0.0, limit_s: float = 0.0) -> Any:
        """The answer to a message.

        wait_s: how long to wait for a server that is not there yet. limit_s: how long the call
        may take; 0: for ever. Raises what the server raises; UnavailableError where none answers.
        """
        content = self._checked(method, message)
        try:  # in this thread alone, which takes half as long as a future
            answer = self._methods[method](
                content,
                timeout=wait_s or limit_s or None,
                wait_for_ready=wait_s > 0,
                metadata=self._metadata(method, content),
            )
        except grpc().RpcError as error:
            raise self._as_op_error(method, error, wait_s) from None
        return _answered(method, answer)

    def start(
        self, method: str, message: Any, limit_s: float = 0.0, reconnects: bool = False
    ) -> PendingCall:
        """As `call`, which what this gives waits for.

        reconnects: whether to wait while there is no connection; somebody else has to notice where
        there is no server.
        """
        content = self._checked(method, message)
        future = self._methods[method].future(
            content,
            timeout=limit_s or None,
            wait_for_ready=reconnects,
            metadata=self._metadata(method, content),
        )
        return PendingCall(self, method, future)

    def _checked(self, method: str, message: Any) -> bytes:
        """A message as bytes; ResourceExhaustedError for too many."""
        content: bytes = message.SerializeToString()
        if len(content) > MOST_MESSAGE_BYTES:
            raise ResourceExhaustedError.of_no_node(
                f"A message of {len(content)} bytes ({method}) is larger than {MOST_MESSAGE_BYTES},"
                " the limit: feed large values in place of constants"
            )
        return content

    def tell(self, method: str, message: Any, limit_s: float) -> None:
        """Sends a message whose answer nobody waits for; what fails is left alone."""
        pending = self.start(method, message, limit_s=limit_s)
        self._unawaited.add(pending)  # gRPC cancels a call that nobody holds
        pending.when_done(lambda: self._unawaited.discard(pending))

    def _metadata(self, method: str, content: bytes) -> tuple[tuple[str, str], ...]:
        shown = (("gpugraph-protocol", PROTOCOL), ("gpugraph-version", VERSION))
        key_proof = proof(self._access, method, content)
        return (*shown, ("gpugraph-proof", key_proof)) if key_proof else shown

    def fetch(self, ticket: str, size: int) -> Memory:
        """The memory that the server keeps under a ticket."""
        name = ticket.encode()
        try:
            return joined(self._fetch(name, metadata=self._metadata("Fetch", name)), size)
        except grpc().RpcError as error:
            raise self._as_op_error("Fetch", error, 0.0) from None

    def store(self, memory: Memory) -> str:
        """Sends memory to the server, which keeps it under the ticket that it answers."""
        head = struct.pack("<q", memory.nbytes)

        def pieces() -> Iterator[bytes]:
            yield head
            yield from chunks(memory)

        try:
            metadata = self._metadata("Store", head)
            return str(self._store(pieces(), metadata=metadata).decode())
        except grpc().RpcError as error:
            raise self._as_op_error("Store", error, 0.0) from None

    def write_values(self, field: Any, arrays: Any) -> None:
        """Adds arrays to a message for this server."""
        write_values(field, arrays, self.store)

    def read_values(self, field: Any) -> list[Any]:
        """The arrays of an answer of this server."""
        return read_values(field, self.fetch)

    def _as_op_error(self, method: str, error: Any, wait_s: float) -> OpError:
        status, details = error.code().name, error.details()
        if wait_s and status == "DEADLINE_EXCEEDED":
            status, details = "UNAVAILABLE", f"no server answered within {wait_s:g} s"
        code = status_codes()[status]
        text = f"{details} ({method} of the server at {self.address})"
        return same_kind(OpError(None, None, text, code), None, None, text)


class PendingCall:
    """A call that is on its way. Calling it waits for the answer."""

    def __init__(self, peer: Peer, method: str, future: Any) -> None:
        self._peer, self._method, self._future = peer, method, future

    def __call__(self) -> Any:
        """The answer; raises as `Peer.call`."""
        try:
            content = self._future.result()
        except grpc().FutureCancelledError:
            raise CancelledError.of_no_node(f"{self._method} was cancelled") from None
        except grpc().RpcError as error:
            raise self._peer._as_op_error(self._method, error, 0.0) from None
        return _answered(self._method, content)

    def when_done(self, function: Callable[[], Any]) -> None:
        """Calls the function, in some thread, when the call is over."""
        self._future.add_done_callback(lambda _: function())

    def cancel(self) -> None:
        """Gives the call up."""
        self._future.cancel()


def _answered(method: str, content: bytes) -> Any:
    """The message of an answer; raises the error that it tells of."""
    if content[:1] == b"\1":
        raise error_of(messages_pb2.SERVICE_MESSAGES["Failure"].FromString(content[1:]))
    return messages_pb2.SERVICE_MESSAGES[METHODS[method][1]].FromString(content[1:])


Handlers = Mapping[str, Callable[[Any], Any]]
"""What answers each method: a function of the message."""


class Listener:
    """The listening side of a server."""

    def __init__(self, access: Access) -> None:
        self.parcels = Parcels()
        self._access = access
        self._proofs = Proofs(access)
        self._executor = DaemonThreads("gpugraph-server")
        self._server: Any = grpc().server(
            self._executor, options=_OPTIONS, maximum_concurrent_rpcs=MOST_CALLS
        )

    def bind(self, address: str) -> int:
        """Takes the address; the number of the port. UnknownError where it can't be had."""
        try:
            port = add_port(self._server, address, self._access)
        except RuntimeError as error:
            raise UnknownError(None, None, f"Could not start gRPC server: {error}") from None
        if not port:
            raise UnknownError(None, None, f"Could not start gRPC server at {address}")
        return port

    def start(self, handlers: Handlers) -> None:
        """Answers calls from now on."""
        package = grpc()
        methods = {
            name: package.unary_unary_rpc_method_handler(
                partial(self._answer, name, handlers[name])
            )
            for name in METHODS
        }
        methods["Fetch"] = package.unary_stream_rpc_method_handler(self._give)
        methods["Store"] = package.stream_unary_rpc_method_handler(self._take)
        self._server.add_generic_rpc_handlers(
            (package.method_handlers_generic_handler(_SERVICE, methods),)
        )
        self._server.start()

    def stop(self, grace_s: float) -> None:
        """Answers no more; calls in progress have some time to end."""
        self._server.stop(grace_s).wait()
        self._executor.shutdown()

    def write_values(self, field: Any, arrays: Any) -> None:
        """Adds arrays to an answer."""
        write_values(field, arrays, self.parcels.put)

    def read_values(self, field: Any) -> list[Any]:
        """The arrays of a message."""
        return read_values(field, self.parcels.take)

    def _check(self, context: Any, method: str, content: bytes) -> None:
        shown = dict(context.invocation_metadata())
        if shown.get("gpugraph-protocol") != PROTOCOL:
            raise FailedPreconditionError.of_no_node(
                f"The caller speaks protocol {shown.get('gpugraph-protocol')!r:.20} (version "
                f"{shown.get('gpugraph-version')!r:.20}), the server {PROTOCOL!r} (version "
                f"{VERSION!r}): install one version in all processes of the cluster"
            )
        self._proofs.check(str(shown.get("gpugraph-proof", "")), method, content)

    def _answer(
        self, method: str, handler: Callable[[Any], Any], content: bytes, context: Any
    ) -> bytes:
        try:
            self._check(context, method, content)
            answer: bytes = handler(_parsed(method, content)).SerializeToString()
            return b"\0" + answer
        except OpError as error:
            return _failed(error)
        except Exception as error:
            _LOG.exception("A call of %s failed", method)
            return _failed(InternalError.of_no_node(f"{type(error).__name__}: {error}"))

    def _give(self, ticket: bytes, context: Any) -> Iterator[bytes]:
        try:
            self._check(context, "Fetch", ticket)
            memory = self.parcels.take(ticket[:64].decode("latin-1"))
        except OpError as error:
            _abort(context, error)
        yield from chunks(memory)

    def _take(self, pieces: Iterator[bytes], context: Any) -> bytes:
        try:
            head = next(pieces, b"")
            self._check(context, "Store", head)
            size = struct.unpack("<q", head)[0] if len(head) == 8 else -1
            if not 0 <= size <= MOST_VALUE_BYTES:
                raise invalid_argument(f"No size of a tensor: {size}")
            return self.parcels.put(joined(pieces, size)).encode()
        except OpError as error:
            _abort(context, error)
            raise


def _parsed(method: str, content: bytes) -> Any:
    try:
        return messages_pb2.SERVICE_MESSAGES[METHODS[method][0]].FromString(content)
    except messages_pb2.DecodeError as error:
        raise invalid_argument(f"No message of {method}: {error}") from None


def _failed(error: OpError) -> bytes:
    failure = message_of("Failure")
    write_failure(failure, error)
    content: bytes = failure.SerializeToString()
    return b"\1" + content


def _abort(context: Any, error: OpError) -> None:
    """Ends a stream with an error."""
    names = {code: name for name, code in status_codes().items()}
    context.abort(grpc().StatusCode[names[error.error_code]], error.message[:1000])
