"""The encoding of a server's answers: responses, and errors that the caller raises again.

An answer is one byte and a serialized message: 0 and the method's response, or 1 and a Failure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import CancelledError, OpError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.calls.proofs import MessageProofs
from gpugraph.cluster.grpc_package import grpc
from gpugraph.formats import messages_pb2
from gpugraph.formats.messages.service_messages import METHODS
from gpugraph.runtime.step_failure import same_kind


def message_of(name: str, **fields: Any) -> Any:
    """Return a new protobuf message of a type that the cluster's service defines.

    Args:
      name: the name of the type.
    """
    return messages_pb2.SERVICE_MESSAGES[name](**fields)


def node_of(error: OpError) -> str:
    """Return the name of the node where the error occurred. If there is none, return ""."""
    return getattr(error, "node_name", None) or getattr(error._node_def, "name", None) or ""


def write_failure(failure: Any, error: OpError) -> None:
    """Set the code, message and node of a Failure message from an error."""
    failure.code = error.error_code
    failure.message = error.message
    failure.node = node_of(error)


def error_of(failure: Any) -> OpError:
    """Return the error that a Failure describes."""
    plain = OpError(None, None, failure.message, failure.code)
    error = same_kind(plain, None, None, failure.message)
    if failure.node:
        error.node_name = failure.node  # type: ignore[attr-defined]
    return error


def status_codes() -> dict[str, int]:
    """Return the numbers of gRPC's status codes, by name. TensorFlow's error codes have the same
    numbers.
    """
    return {status.name: status.value[0] for status in grpc().StatusCode}


def success(content: bytes) -> bytes:
    """Return the answer for a successful call.

    Args:
      content: the serialized response.
    """
    return b"\0" + content


def failed(error: OpError) -> bytes:
    """Return the answer that describes an error."""
    failure = message_of("Failure")
    write_failure(failure, error)
    content: bytes = failure.SerializeToString()
    return b"\1" + content


def content_of(answer: memoryview | bytes) -> bytes:
    """Return the serialized response in an answer. Raises the error if the answer describes one."""
    content = bytes(answer[1:])
    if answer[:1] == b"\1":
        raise error_of(messages_pb2.SERVICE_MESSAGES["Failure"].FromString(content))
    return content


def answered(method: str, answer: memoryview | bytes) -> Any:
    """Parse an answer to a call of `method` and return the response message.

    Raises the error that the answer describes, if it describes one.
    """
    return messages_pb2.SERVICE_MESSAGES[METHODS[method][1]].FromString(content_of(answer))


class PendingCall:
    """A gRPC call in progress. Calling the object waits for the response and returns the response.

    Args:
      future: gRPC's future of the answer.
      proofs: the object that checks the answer's authentication code.
      as_op_error: a function that converts an error of gRPC to an OpError, given the method's name.
    """

    def __init__(
        self,
        method: str,
        future: Any,
        proofs: MessageProofs,
        as_op_error: Callable[[str, Any], OpError],
    ) -> None:
        self._method, self._future = method, future
        self._proofs, self._as_op_error = proofs, as_op_error
        self._answer: memoryview | bytes | None = None
        self._lock = new_lock()

    def __call__(self) -> Any:
        """Wait for the response and return it. Raises CancelledError if the call was cancelled, and
        the errors of `Peer.call`.
        """
        try:
            with self._lock:
                if self._answer is None:
                    self._answer = self._proofs.detach(self._future.result())
        except grpc().FutureCancelledError:
            raise CancelledError.of_no_node(f"{self._method} was cancelled") from None
        except (OpError, grpc().RpcError) as error:
            raise self._as_op_error(self._method, error) from None
        return answered(self._method, self._answer)

    def when_done(self, function: Callable[[], Any]) -> None:
        """Register a function to be called, in some thread, when the call has ended."""
        self._future.add_done_callback(lambda _: function())

    def when_lost(self, function: Callable[[OpError], Any]) -> None:
        """Register a function to be called, in some thread, if the call fails. The function
        receives the error.
        """

        def tell() -> None:
            try:
                self()
            except OpError as error:
                function(error)

        self.when_done(tell)

    def cancel(self) -> None:
        """Cancel the call."""
        self._future.cancel()
