"""The listening side of a server: what answers calls (`transport.py`), one by one or in streams."""

from __future__ import annotations

import logging
import struct
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
from gpugraph.cluster.access import Access, Proofs, add_port
from gpugraph.cluster.call_streams import (
    NUMBERS,
    Caller,
    FrameProofs,
    SessionClients,
    answering,
    current_caller,
    unsealed,
)
from gpugraph.cluster.core_streams import CoreFrames, serves_by_core
from gpugraph.cluster.daemon_threads import DaemonThreads
from gpugraph.cluster.grpc_package import grpc
from gpugraph.cluster.transport import (
    OPTIONS,
    PROTOCOL,
    SERVICE,
    message_of,
    status_codes,
    write_failure,
)
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
        self._proofs = Proofs(access)
        self._executor = DaemonThreads("gpugraph-server")
        self._server: Any = grpc().server(
            self._executor, options=OPTIONS, maximum_concurrent_rpcs=MOST_CALLS
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
        methods["Exchange"] = package.stream_stream_rpc_method_handler(
            partial(self._serve_stream, handlers)
        )
        methods["Fetch"] = package.unary_stream_rpc_method_handler(self._give)
        methods["Store"] = package.stream_unary_rpc_method_handler(self._take)
        self._server.add_generic_rpc_handlers(
            (package.method_handlers_generic_handler(SERVICE, methods),)
        )
        self._server.start()

    def stop(self, grace_s: float) -> None:
        """Answers no more; calls in progress have some time to end."""
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

    def _check(self, context: Any, method: str, content: bytes) -> str:
        """The proof that the caller shows; raises where it is none."""
        shown = dict(context.invocation_metadata())
        if shown.get("gpugraph-protocol") != PROTOCOL:
            raise FailedPreconditionError.of_no_node(
                f"The caller speaks protocol {shown.get('gpugraph-protocol')!r:.20} (version "
                f"{shown.get('gpugraph-version')!r:.20}), the server {PROTOCOL!r} (version "
                f"{VERSION!r}): install one version in all processes of the cluster"
            )
        key_proof = str(shown.get("gpugraph-proof", ""))
        self._proofs.check(key_proof, method, content)
        return key_proof

    def _serve_stream(
        self, handlers: Handlers, frames: Iterator[bytes], context: Any
    ) -> Iterator[bytes]:
        """Answers the frames of a stream: by the core in this thread, else by what this gives."""
        try:
            proofs = FrameProofs(self._access.key, self._check(context, "Exchange", b""))
            caller = Caller(context)
            self._clients.begin_stream(caller)

            def answer(frame: bytes) -> bytes | None:
                method, content = proofs.opened(frame)
                answered = self._answer(method, handlers[method], content)
                return None if method in ONE_WAY else answered

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

    def _answer(
        self, method: str, handler: Callable[[Any], Any], content: bytes, context: Any = None
    ) -> bytes:
        """context: of a call that is no part of a stream."""
        try:
            if context is not None:
                self._check(context, method, content)
                with answering(Caller(context)):
                    return self._answer(method, handler, content)
            message = _parsed(method, unsealed(method, content))
            answer: bytes = handler(message).SerializeToString()
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
            return self.parcels.put(joined(pieces, size), (0, context.peer())).encode()
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
