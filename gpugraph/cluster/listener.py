"""The listening side of a server. It answers calls (`transport.py`) one by one or in streams.

The metadata of each call contains the proof that the caller has the cluster's key. So a call
without a valid proof is rejected before any of its messages is read, and does not count toward
`MAX_CALLS`. A connection is closed if several of its calls were rejected, or if it has existed for
a second without a valid call (`calls/doorkeeper.py`).
"""

from __future__ import annotations

import logging
import os
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from gpugraph.base.errors import (
    FailedPreconditionError,
    InternalError,
    OpError,
    UnknownError,
    invalid_argument,
)
from gpugraph.base.version import VERSION
from gpugraph.cluster.access import Credentials, add_port
from gpugraph.cluster.call_streams import (
    NUMBERS,
    Caller,
    SessionClients,
    answering,
    current_caller,
    read_frame,
    unsealed,
)
from gpugraph.cluster.calls.answers import failed, status_codes, success
from gpugraph.cluster.calls.doorkeeper import MAX_LOOKS, MAX_LOOKS_OF_TLS, Doorkeeper
from gpugraph.cluster.calls.proofs import CallerProofs, MessageProofs, service_of
from gpugraph.cluster.calls.unknown_calls import slow_down
from gpugraph.cluster.core_streams import CoreFrames, serves_by_core
from gpugraph.cluster.daemon_threads import DaemonThreads
from gpugraph.cluster.grpc_package import grpc
from gpugraph.cluster.transport import OPTIONS, PROTOCOL
from gpugraph.cluster.wire_values import (
    MAX_VALUE_BYTES,
    Parcels,
    chunks,
    joined,
    read_values,
    write_values,
)
from gpugraph.formats import messages_pb2
from gpugraph.formats.messages.service_messages import METHODS, ONE_WAY

_LOG = logging.getLogger("gpugraph")

MAX_CALLS = 1000
"""The maximum number of concurrent calls and streams of a server; each has a separate thread."""

_MAX_REFUSALS = 16
"""The maximum number of concurrent rejections that send a reason. Further calls are rejected
without a reason.
"""

_MAX_AT_ONCE = 1 << 16
"""The maximum size in bytes of a frame that the network thread handles itself."""

_ONE_WAY_HEADS = frozenset(bytes((NUMBERS[name],)) for name in ONE_WAY)


Handlers = Mapping[str, Callable[[Any], Any]]
"""The handler of each method, which is a function from the request message to the response
message.
"""


class Listener:
    """The gRPC server of a task.

    Args:
      clients: the object to notify of all streams that callers open.
    """

    def __init__(self, access: Credentials, clients: SessionClients) -> None:
        self.parcels = Parcels()
        self._clients = clients
        clients.on_disconnect = self.parcels.expire
        self._access = access
        self._proofs = CallerProofs(access.key)
        self._door: Doorkeeper | None = None
        self._refusals = threading.Semaphore(_MAX_REFUSALS)
        self._executor = DaemonThreads("gpugraph-server")
        self._entrance = _Entrance(self._admitted, self._refusal)
        self._server: Any = grpc().server(
            self._executor,
            interceptors=(self._entrance,),
            options=_options(),
            maximum_concurrent_rpcs=MAX_CALLS,
        )

    def bind(self, address: str) -> int:
        """Bind the address and return the port's number. Raises UnknownError if the address is not
        available.
        """
        try:
            port = add_port(self._server, address, self._access)
        except RuntimeError as error:
            raise UnknownError(None, None, f"Could not start gRPC server: {error}") from None
        if not port:
            raise UnknownError(None, None, f"Could not start gRPC server at {address}")
        if not self._access.is_open:
            looks = MAX_LOOKS if self._access.tls is None else MAX_LOOKS_OF_TLS
            self._door = Doorkeeper(port, looks)
        return port

    @property
    def incarnation(self) -> int:
        """The random number of this server. Its callers' proofs contain the number, so other
        servers reject these proofs.
        """
        return self._proofs.incarnation

    def start(self, handlers: Handlers) -> None:
        """Start to answer calls with these handlers."""
        package = grpc()
        unary, stream = (
            package.unary_unary_rpc_method_handler,
            package.stream_stream_rpc_method_handler,
        )
        makers: dict[str, _Maker] = {
            name: partial(self._handler, unary, partial(self._answer_call, name, handlers[name]))
            for name in METHODS
        }
        for name, make, behavior in (
            ("Exchange", stream, partial(self._serve_stream, handlers)),
            ("Fetch", package.unary_stream_rpc_method_handler, self._give),
            ("Store", package.stream_unary_rpc_method_handler, self._take),
        ):
            makers[name] = partial(self._handler, make, behavior)
        service = service_of(self._access.key)
        self._entrance.makers = {f"/{service}/{name}": make for name, make in makers.items()}
        self._server.add_registered_method_handlers(service, makers)
        if self._door is not None:
            slow_down(self._server)
            self._door.start()
        self._server.start()

    def stop(self, grace_s: float) -> None:
        """Reject all further calls, and cancel those calls that are still in progress after
        `grace_s` seconds.
        """
        if self._door is not None:
            self._door.stop()
        self._server.stop(grace_s).wait()
        self._executor.shutdown()

    def write_values(self, field: Any, arrays: Any, step: int = 0, is_near: bool = False) -> None:
        """Add arrays to an answer.

        Args:
          is_near: whether to put large arrays into memory that is shared with the caller.
          step: the step to which the arrays belong, or 0. Large arrays are kept until the caller
            has fetched them or is disconnected.
        """
        caller = current_caller()
        owners = step, "" if caller is None else caller.connection
        share = partial(self.parcels.share, owners=owners) if is_near else None
        write_values(field, arrays, partial(self.parcels.put, owners=owners), share)
        if caller is not None and caller.is_gone:
            self.parcels.free(value.ticket for value in field)

    def read_values(self, field: Any) -> list[Any]:
        """Return the arrays in a field of a request that holds Value messages."""
        return read_values(field, self.parcels.take)

    # -- access, checked by the metadata of a call in the network thread

    def _admitted(self, shown: Mapping[str, Any], method: str) -> MessageProofs:
        """Check a call's metadata. Return the object that authenticates the call's messages. Raises
        OpError if the call is rejected.
        """
        if shown.get("gpugraph-protocol") != PROTOCOL:
            raise FailedPreconditionError.of_no_node(
                f"The caller speaks protocol {shown.get('gpugraph-protocol')!r:.20} (version "
                f"{shown.get('gpugraph-version')!r:.20}), the server {PROTOCOL!r} (version "
                f"{VERSION!r}): install one version in all processes of the cluster"
            )
        return self._proofs.check(str(shown.get("gpugraph-proof", "")), method)

    def _refusal(self, error: OpError) -> Any:
        """Return a handler that ends a call with an error without reading its messages. If too many
        rejected calls are in progress, return None.
        """
        if not self._refusals.acquire(blocking=False):
            return None

        def refuse(_: Iterator[bytes], context: Any) -> Iterator[bytes]:
            try:
                if self._door is not None:
                    self._door.refuse(context.peer())
                _abort(context, error)
            finally:
                self._refusals.release()
            yield b""

        return grpc().stream_stream_rpc_method_handler(refuse)

    def _handler(self, make: Callable[[Any], Any], behavior: Any, proofs: MessageProofs) -> Any:
        """Return gRPC's handler for one accepted call.

        Args:
          make: gRPC's function that creates a handler.
          behavior: the function that answers the call.
        """

        def admit(content: Any, context: Any) -> Any:
            if self._door is not None:
                self._door.admit(context.peer())
            return behavior(proofs, content, context)

        return make(admit)

    # -- answers

    def _serve_stream(
        self, handlers: Handlers, proofs: MessageProofs, frames: Iterator[bytes], context: Any
    ) -> Iterator[bytes]:
        """Answer the frames of a stream. If the core can answer the stream, send the answers in
        this thread. Otherwise yield the answers.
        """
        try:
            caller = Caller(context)
            self._clients.begin_stream(caller)

            def answer(frame: bytes) -> bytes | None:
                method, content = read_frame(proofs.detach(frame))
                answered = self._answer(method, handlers[method], content)
                return None if method in ONE_WAY else proofs.attach(answered)

            def answer_caller(frame: bytes) -> bytes | None:
                with answering(caller):
                    return answer(frame)

            def answer_now(frame: bytes) -> bool:
                if len(frame) > _MAX_AT_ONCE or frame[:1] not in _ONE_WAY_HEADS:
                    return False
                answer(frame)
                return True

            if not serves_by_core(context):
                yield from filter(None, map(answer_caller, frames))
                return
            core_frames = CoreFrames(context, answer_now)
            with answering(caller):
                for frame in core_frames:
                    core_frames.answer(answer(frame))
        except OpError as error:
            _abort(context, error)

    def _answer_call(
        self,
        method: str,
        handler: Callable[[Any], Any],
        proofs: MessageProofs,
        content: bytes,
        context: Any,
    ) -> bytes:
        """Return the answer to a call that is not in a stream."""
        try:
            message = bytes(proofs.detach(content))
        except OpError as error:
            return proofs.attach(failed(error))
        with answering(Caller(context)):
            return proofs.attach(self._answer(method, handler, message))

    def _answer(self, method: str, handler: Callable[[Any], Any], content: bytes) -> bytes:
        try:
            message = _parsed(method, unsealed(method, content))
            return success(handler(message).SerializeToString())
        except OpError as error:
            return failed(error)
        except Exception as error:
            _LOG.exception("A call of %s failed", method)
            return failed(InternalError.of_no_node(f"{type(error).__name__}: {error}"))

    def _give(self, proofs: MessageProofs, content: bytes, context: Any) -> Iterator[bytes]:
        del context
        try:
            ticket = bytes(proofs.detach(content)[:64]).decode("latin-1")
            memory = self.parcels.take(ticket)
        except OpError as error:
            yield proofs.attach(failed(error))
            return
        yield proofs.attach(success(b""))
        yield from map(proofs.attach, chunks(memory))

    def _take(self, proofs: MessageProofs, contents: Iterator[bytes], context: Any) -> bytes:
        try:
            pieces = map(proofs.detach, contents)
            head = next(pieces, b"")
            size = struct.unpack("<q", head)[0] if len(head) == 8 else -1
            if not 0 <= size <= MAX_VALUE_BYTES:
                raise invalid_argument(f"Not a size of a tensor: {size}")
            ticket = self.parcels.put(joined(pieces, size), (0, context.peer()))
            return proofs.attach(success(ticket.encode()))
        except OpError as error:
            return proofs.attach(failed(error))


_Maker = Callable[[MessageProofs], Any]
"""A function that returns gRPC's handler for a call. Its argument is the object that authenticates
the call's messages.
"""


class _Entrance:
    """The interceptor that chooses a handler for each call according to the call's metadata.

    Args:
      admitted: the function that checks the caller's proof.
      refusal: the function that returns the handler of a rejected call.

    Attributes:
      makers: functions that create the handlers, by the paths of the methods.
    """

    def __init__(
        self,
        admitted: Callable[[Mapping[str, Any], str], MessageProofs],
        refusal: Callable[[OpError], Any],
    ) -> None:
        self._admitted, self._refusal = admitted, refusal
        self.makers: Mapping[str, _Maker] = {}

    def intercept_service(self, _: Any, details: Any) -> Any:
        """Return the handler of a call. Return None for an unknown method."""
        method = details.method.rpartition("/")[2]
        try:
            proofs = self._admitted(dict(details.invocation_metadata), method)
        except OpError as error:
            return self._refusal(error)
        make = self.makers.get(details.method)
        return None if make is None else make(proofs)


def _options() -> tuple[tuple[str, int], ...]:
    """Return gRPC's options for a server. They limit connections to half of the process's file
    descriptors.
    """
    num_files = os.sysconf("SC_OPEN_MAX")
    limit = min(2 * MAX_CALLS, num_files // 2) if num_files > 0 else 2 * MAX_CALLS
    return (
        *OPTIONS,
        ("grpc.max_allowed_incoming_connections", limit),
        ("grpc.max_concurrent_streams", MAX_CALLS),
        ("grpc.server_handshake_timeout_ms", 10_000),
    )


def _parsed(method: str, content: bytes) -> Any:
    try:
        return messages_pb2.SERVICE_MESSAGES[METHODS[method][0]].FromString(content)
    except messages_pb2.DecodeError as error:
        raise invalid_argument(f"No message of {method}: {error}") from None


def _abort(context: Any, error: OpError) -> None:
    """End a gRPC call or stream with the status and the message of an error."""
    names = {code: name for name, code in status_codes().items()}
    context.abort(grpc().StatusCode[names[error.error_code]], error.message[:1000])
