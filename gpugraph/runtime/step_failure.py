"""The path of an error from a failing kernel to the exception of the user's program.

1. A kernel on the CPU raises a Python exception or an `OpError`. A GPU's kernel sets an error flag
   instead. The step that reads the flags (a fetch, or the end of the run) raises the error. Then
   `noted_op` returns the node to which the flag belongs. For a fused kernel, it returns the member.
2. `StepSequence.run` annotates the error with the step, unless an inner sequence (of a region, a
   loop or a run of steps) has already annotated it. Therefore the annotation is the innermost step
   (`plan/plan_steps.py`). If a native call refuses its input, the step's kernel runs instead and
   raises the error.
3. The executor ends the run, takes the annotation (`failed_step`), and raises the result of
   `as_op_error` for the kernel's exception. The result has TensorFlow's class. Its message contains
   the node, the node's line and the device.
4. The session finds the operation with the node's name in the client's graph, and raises the result
   of `same_kind` (`session/session_backend.py`), which has `error.op` and `error.node_def`.

If a fed value causes an error before the first step, the error reaches the user unchanged.
"""

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
from gpugraph.base.misfit import Misfit, misfit_of
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
    """Return `error` as an error of TensorFlow's class. Its message names the step, its line and
    its device.
    """
    name, origin = noted_op(error) or (step.name, step.origin)
    if type(error) in (Misfit, ValueError):
        misfit = misfit_of(error)
        error = misfit.error_class(None, None, misfit.in_run or misfit.in_graph)
    message = _message(error)
    if "[[node" not in message:
        where = f"defined at {origin}" if origin is not None else "made by the runtime"
        on = f", on {step.device}" if isinstance(step, Step) else ""
        message = f"{message}\n\t [[node {name} ({where}){on}]]"
    op_error = same_kind(error, None, None, message)
    op_error.node_name = name  # type: ignore[attr-defined]
    return op_error


def _message(error: Exception) -> str:
    """Return the message of a kernel's error. Unless the error's class is a common one, the message
    includes the name of the class.
    """
    if isinstance(error, OpError):
        return error.message
    text = str(error)
    return text if type(error) in (ValueError, IndexError) else f"{type(error).__name__}: {text}"


def same_kind(error: Exception, node_def: Any, op: Any, message: str) -> OpError:
    """Return an error of TensorFlow's class for `error`, with this node, operation and message.

    An OpError keeps its code, and therefore its class. A class that a program derives from OpError
    is replaced by TensorFlow's class for the same code.
    """
    if isinstance(error, OpError):
        code = error.error_code
    else:
        kinds = (op_error for python_error, op_error in _CLASSES if isinstance(error, python_error))
        code = error_code_from_exception_type(next(kinds, UnknownError))
    try:
        error_class: Any = exception_type_from_error_code(code)
    except KeyError:
        return UnknownError(node_def, op, message, code)
    return error_class(node_def, op, message)
