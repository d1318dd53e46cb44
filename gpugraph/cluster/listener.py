"""The listening side of a server: what answers calls (`transport.py`), one by one or in streams.

Who calls proves in the metadata of the call that he may. So a call without proof is refused before
any of its messages is read, and takes none of the places of others; who goes on to make such
calls, or makes none, loses the connection (`calls/doorkeeper.py`).
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
from gpugraph.cluster.access import Access, add_port
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
    MOST_VALUE_BYTES,
    Parcels,
    chunks,
    joined,
    read_values,
    write_values,
)
from gpugraph.formats import messages_pb2
from gpugraph.formats.messages.service_messages import METHODS, ONE_WAY

_LOG = logging.getLogger("gpugraph")

MOST_CALLS = 1000
"""Calls and streams that a server answers at the same time; each has a thread of its own."""

_MOST_REFUSALS = 16
"""Calls that are being refused at the same time, with a word of why. More are refused without."""

_MOST_AT_ONCE = 1 << 16
"""Bytes of a frame that the thread takes which reads from the network."""

_ONE_WAY_HEADS = frozenset(bytes((NUMBERS[name],)) for name in ONE_WAY)


Handlers = Mapping[str, Callable[[Any], Any]]
"""What answers each method: a function of the message."""


class Listener:
    """The listening side of a server. clients: told of all streams."""

    def __init__(self, access: Access, clients: SessionClients) -> None:
        self.parcels = Parcels()
        self._clients = clients
        clients.on_disconnect = self.parcels.expire
        self._access = access
        self._proofs = CallerProofs(access.key)
        self._door: Doorkeeper | None = None
        self._refusals = threading.Semaphore(_MOST_REFUSALS)
        self._executor = DaemonThreads("gpugraph-server")
        self._entrance = _Entrance(self._admitted, self._refusal)
        self._server: Any = grpc().server(
            self._executor,
            interceptors=(self._entrance,),
            options=_options(),
            maximum_concurrent_rpcs=MOST_CALLS,
        )

    def bind(self, address: str) -> int:
        """Takes the address; the number of the port. UnknownError where it can't be had."""
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
        """The number of this server by which callers prove that they mean it and no other."""
        return self._proofs.incarnation

    def start(self, handlers: Handlers) -> None:
        """Answers calls from now on."""
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
        """Answers no more; calls in progress have some time to end."""
        if self._door is not None:
            self._door.stop()
        self._server.stop(grace_s).wait()
        self._executor.shutdown()

    def write_values(self, field: Any, arrays: Any, step: int = 0, is_near: bool = False) -> None:
        """Adds arrays to an answer, which may be of a step, and for who sees this memory.

        They wait as long as the caller's connection is there.
        """
        caller = current_caller()
        owners = step, "" if caller is None else caller.connection
        share = partial(self.parcels.share, owners=owners) if is_near else None
        write_values(field, arrays, partial(self.parcels.put, owners=owners), share)
        if caller is not None and caller.is_gone:
            self.parcels.free(value.ticket for value in field)

    def read_values(self, field: Any) -> list[Any]:
        """The arrays of a message."""
        return read_values(field, self.parcels.take)

    # -- who may call, told by the metadata of a call in the thread that reads from the network

    def _admitted(self, shown: Mapping[str, Any], method: str) -> MessageProofs:
        """What proves the messages of a call whose metadata these are; OpError if it is refused."""
        if shown.get("gpugraph-protocol") != PROTOCOL:
            raise FailedPreconditionError.of_no_node(
                f"The caller speaks protocol {shown.get('gpugraph-protocol')!r:.20} (version "
                f"{shown.get('gpugraph-version')!r:.20}), the server {PROTOCOL!r} (version "
                f"{VERSION!r}): install one version in all processes of the cluster"
            )
        return self._proofs.check(str(shown.get("gpugraph-proof", "")), method)

    def _refusal(self, error: OpError) -> Any:
        """What ends a call with an error, and reads no message; None where too many are ended."""
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
        """gRPC's handler of one call."""

        def admit(content: Any, context: Any) -> Any:
            if self._door is not None:
                self._door.admit(context.peer())
            return behavior(proofs, content, context)

        return make(admit)

    # -- answers

    def _serve_stream(
        self, handlers: Handlers, proofs: MessageProofs, frames: Iterator[bytes], context: Any
    ) -> Iterator[bytes]:
        """Answers the frames of a stream: by the core in this thread, else by what this gives."""
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
                if len(frame) > _MOST_AT_ONCE or frame[:1] not in _ONE_WAY_HEADS:
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
        """The answer to a call that is no part of a stream."""
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
            if not 0 <= size <= MOST_VALUE_BYTES:
                raise invalid_argument(f"No size of a tensor: {size}")
            ticket = self.parcels.put(joined(pieces, size), (0, context.peer()))
            return proofs.attach(success(ticket.encode()))
        except OpError as error:
            return proofs.attach(failed(error))


_Maker = Callable[[MessageProofs], Any]
"""What makes gRPC's handler of one call."""


class _Entrance:
    """What gRPC asks for the handler of each call, when it has the metadata and nothing else.

    admitted: checks what the caller shows. refusal: the handler of a call that may not be. makers:
    of handlers, by the paths of the methods.
    """

    def __init__(
        self,
        admitted: Callable[[Mapping[str, Any], str], MessageProofs],
        refusal: Callable[[OpError], Any],
    ) -> None:
        self._admitted, self._refusal = admitted, refusal
        self.makers: Mapping[str, _Maker] = {}

    def intercept_service(self, _: Any, details: Any) -> Any:
        """The handler of a call; None for a method that there is not."""
        method = details.method.rpartition("/")[2]
        try:
            proofs = self._admitted(dict(details.invocation_metadata), method)
        except OpError as error:
            return self._refusal(error)
        make = self.makers.get(details.method)
        return None if make is None else make(proofs)


def _options() -> tuple[tuple[str, int], ...]:
    """gRPC's for a server, which leaves half of the files that the process may have to others."""
    num_files = os.sysconf("SC_OPEN_MAX")
    most = min(2 * MOST_CALLS, num_files // 2) if num_files > 0 else 2 * MOST_CALLS
    return (
        *OPTIONS,
        ("grpc.max_allowed_incoming_connections", most),
        ("grpc.max_concurrent_streams", MOST_CALLS),
        ("grpc.server_handshake_timeout_ms", 10_000),
    )


def _parsed(method: str, content: bytes) -> Any:
    try:
        return messages_pb2.SERVICE_MESSAGES[METHODS[method][0]].FromString(content)
    except messages_pb2.DecodeError as error:
        raise invalid_argument(f"No message of {method}: {error}") from None


def _abort(context: Any, error: OpError) -> None:
    """Ends a stream with an error."""
    names = {code: name for name, code in status_codes().items()}
    context.abort(grpc().StatusCode[names[error.error_code]], error.message[:1000])
