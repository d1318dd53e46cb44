"""Errors of the runtime: one class per canonical status code.

Every failure while a graph is checked, placed or run is an `OpError`. Its class identifies the kind
of failure, and its attributes identify the node. Misuse of the Python interface raises Python's own
TypeError and ValueError. This module also defines TensorFlow 1.15's subclasses of TypeError and
ValueError.

A pickled error keeps its node definition, message and code, so that it can be sent to another
process. It loses the `Operation`, which belongs to a graph.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, TypeVar

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """A failure in the runtime.

    Args:
      node_def: the node that failed as plain data, or None if no single node is to blame.
      op: the `Operation` that failed, or None if it is unknown or the runtime created the node.
      message: the description of the failure, for users.
      error_code: one of this module's code constants.
    """

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def node_def(self) -> Any:
        """The failing node as a NodeDef message, or None."""
        try:
            return self._node_def.as_message()
        except AttributeError:  # it is not a node record
            return self._node_def

    @property
    def op(self) -> Any:
        """The failing `Operation`, or None if it is unknown. It is always None after unpickling."""
        return self._op

    @property
    def message(self) -> str:
        """The description of the failure."""
        return self._message

    @property
    def error_code(self) -> int:
        """The canonical code, 1 to 16."""
        return self._error_code

    def bare(self) -> OpError:
        """Return a copy without operation and traceback. The frames of a traceback would keep
        arrays alive.
        """
        return copy(self)

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses may have other parameters, so the copy is created without a call of __init__.
        return _restored, (type(self), self._message), {**self.__dict__, "_op": None}


def _restored(cls: type[OpError], message: str) -> OpError:
    return cls.__new__(cls, message)


_Kind = TypeVar("_Kind", bound="_CanonicalError")


class _CanonicalError(OpError):
    """An error whose class determines its code."""

    _code: ClassVar[int]

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, self._code)

    @classmethod
    def of_no_node(cls: type[_Kind], message: str) -> _Kind:
        """Return an error that names no node yet; the runtime adds the node later."""
        return cls(None, None, message)


class CancelledError(_CanonicalError):
    """The run was cancelled, for example because its session or queue was closed."""

    _code = CANCELLED


class UnknownError(_CanonicalError):
    """A failure of unknown kind, or with a code for which this module has no class."""

    _code = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = UNKNOWN) -> None:
        super().__init__(node_def, op, message)
        self._error_code = error_code


class InvalidArgumentError(_CanonicalError):
    """A value, shape or attr that the op or the session can never accept."""

    _code = INVALID_ARGUMENT


class DeadlineExceededError(_CanonicalError):
    """The time limit of the run was reached before the run completed."""

    _code = DEADLINE_EXCEEDED


def invalid_argument(message: str) -> InvalidArgumentError:
    """Return an `InvalidArgumentError` that names no node yet; the runtime adds the node later."""
    return InvalidArgumentError(None, None, message)


class NotFoundError(_CanonicalError):
    """A node, file, resource or registered name does not exist."""

    _code = NOT_FOUND


class AlreadyExistsError(_CanonicalError):
    """An object of this name already exists."""

    _code = ALREADY_EXISTS


class PermissionDeniedError(_CanonicalError):
    """The caller does not have permission for the operation."""

    _code = PERMISSION_DENIED


class ResourceExhaustedError(_CanonicalError):
    """Memory, or another limited resource, ran out."""

    _code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CanonicalError):
    """A precondition of the op is not satisfied: for example, a variable is not initialized."""

    _code = FAILED_PRECONDITION


class AbortedError(_CanonicalError):
    """The operation was aborted because of a concurrent action. It may succeed if it is
    repeated.
    """

    _code = ABORTED


class OutOfRangeError(_CanonicalError):
    """An index or a read went past the end of a tensor, a file, a closed and empty queue, or a
    dataset.
    """

    _code = OUT_OF_RANGE


class UnimplementedError(_CanonicalError):
    """The op exists, but not for these arguments or on this device."""

    _code = UNIMPLEMENTED


class InternalError(_CanonicalError):
    """The runtime violated one of its own invariants, which is a bug."""

    _code = INTERNAL


class UnavailableError(_CanonicalError):
    """A service or worker cannot be reached now. The call may succeed if it is repeated later."""

    _code = UNAVAILABLE


class DataLossError(_CanonicalError):
    """Stored data is damaged or cut short."""

    _code = DATA_LOSS


class UnauthenticatedError(_CanonicalError):
    """The caller failed to authenticate."""

    _code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """A graph Tensor was used where Python needs a value, as in `if tensor:`."""


class InaccessibleTensorError(ValueError):
    """A Tensor was used outside the function or branch that created it."""


_CLASSES = {cls._code: cls for cls in _CanonicalError.__subclasses__()}

for _class in (
    OpError,
    OperatorNotAllowedInGraphError,
    InaccessibleTensorError,
    *_CLASSES.values(),
):
    _class.__module__ = "gpugraph.errors"  # the public path: in tracebacks, and in pickles


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the error class for a code from 1 to 16. Raises KeyError for any other code, including
    the code OK.
    """
    return _CLASSES[error_code]


def error_code_from_exception_type(cls: type[BaseException]) -> int:
    """Return the code of an error class or of its nearest canonical ancestor. If no ancestor is
    canonical, return UNKNOWN.
    """
    return cls._code if issubclass(cls, _CanonicalError) else UNKNOWN


class raise_exception_on_not_ok_status:
    """A context manager for calls of TensorFlow's C library, which reported failures through the
    object that it returns. The functions here raise errors themselves, and ignore the object.
    """

    def __enter__(self) -> raise_exception_on_not_ok_status:
        return self

    def __exit__(self, *_: object) -> None:
        pass
