"""From what a kernel raises to the one error that a user gets, naming the node and its line."""

from __future__ import annotations

from gpugraph.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnknownError,
)
from gpugraph.plan import FetchSlot, Step

__all__ = ["as_op_error"]

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
    kind: type[OpError] = UnknownError
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, OpError):
        kind, message = type(error), error.message
    else:
        kind = next((to for made, to in _CLASSES if isinstance(error, made)), UnknownError)
    if "[[node" not in message:
        where = f"defined at {step.origin}" if step.origin is not None else "made by the runtime"
        on = f", on {step.device}" if isinstance(step, Step) else ""
        message = f"{message}\n\t [[node {step.name} ({where}){on}]]"
    made: OpError
    if kind is OpError:
        made = OpError(None, None, message, error.error_code)  # type: ignore[attr-defined]
    else:
        made = kind(None, None, message)  # type: ignore[call-arg]
    made.node_name = step.name  # type: ignore[attr-defined]
    return made
