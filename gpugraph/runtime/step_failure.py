"""From what a kernel raises to the one error that a user gets, naming the node and its line."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnknownError,
    error_code_from_exception_type,
    exception_type_from_error_code,
)
from gpugraph.kernel import noted_op
from gpugraph.plan import FetchSlot, Step

_CLASSES: tuple[tuple[type[Exception], type[OpError]], ...] = (
    (MemoryError, ResourceExhaustedError),
    (ValueError, InvalidArgumentError),
    (IndexError, InvalidArgumentError),
    (ArithmeticError, InvalidArgumentError),
    (LookupError, InvalidArgumentError),
    (AssertionError, InternalError),
)


def as_op_error(error: Exception, step: Step | FetchSlot) -> OpError:
    """`error` as TensorFlow's class, its message naming the step and where it was made."""
    message = error.message if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    name, origin = noted_op(error) or (step.name, step.origin)
    if "[[node" not in message:
        where = f"defined at {origin}" if origin is not None else "made by the runtime"
        on = f", on {step.device}" if isinstance(step, Step) else ""
        message = f"{message}\n\t [[node {name} ({where}){on}]]"
    made = same_kind(error, None, None, message)
    made.node_name = name  # type: ignore[attr-defined]
    return made


def same_kind(error: Exception, node_def: Any, op: Any, message: str) -> OpError:
    """An error of TensorFlow's class for `error`, with this node, operation and message.

    An OpError keeps its code, and so its class; one of a class of the user's own becomes
    TensorFlow's of that code.
    """
    if isinstance(error, OpError):
        code = error.error_code
    else:
        kind = next((to for made, to in _CLASSES if isinstance(error, made)), UnknownError)
        code = error_code_from_exception_type(kind)
    try:
        chosen: Any = exception_type_from_error_code(code)
    except KeyError:
        return UnknownError(node_def, op, message, code)
    return chosen(node_def, op, message)
