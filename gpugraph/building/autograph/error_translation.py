"""Errors of converted functions, with the lines of the code that the user wrote."""

from __future__ import annotations

import linecache
import traceback
from types import TracebackType
from typing import Any, NamedTuple

from gpugraph.base.errors import OperatorNotAllowedInGraphError, OpError
from gpugraph.graph.client.creation_origin import original_line

_BY_MESSAGE: tuple[type[Exception], ...] = (
    AssertionError, AttributeError, NameError, NotImplementedError, RuntimeError, StopIteration,
    TypeError, UnboundLocalError, ValueError, OperatorNotAllowedInGraphError,
)  # fmt: skip
"""Error classes for which a new error can be created from a message."""

METADATA = "ag_error_metadata"


class AutoGraphError(Exception):
    """Base class of AutoGraph's errors."""


class ConversionError(AutoGraphError, ValueError):
    """The error for a function that AutoGraph could not convert."""


class _Line(NamedTuple):
    file: str
    number: int
    function: str
    code: str


class ErrorTrace:
    """The converted functions through which an error has passed, innermost first.

    Attributes:
      cause: the error's class and message.
      lines: the line of the user's code in each of these functions.
    """

    def __init__(self, error: Exception) -> None:
        self.cause = f"{type(error).__name__}: {error}"
        self.lines: list[_Line] = []

    def message(self) -> str:
        """Return the text of the error in TensorFlow's format."""
        rows = ["in converted code:", ""]
        for line in reversed(self.lines):
            rows += [f"    {line.file}:{line.number} {line.function}  *", f"        {line.code}"]
        rows += ["", *(f"    {row}" for row in self.cause.split("\n")), ""]
        return "\n".join(rows)


def add_line(error: Exception, trace: TracebackType | None) -> None:
    """Record, on an error that leaves a converted function, the innermost line of the user's code
    in that function.

    Args:
      trace: the traceback, starting at the caller of the converted function.
    """
    record: ErrorTrace | None = getattr(error, METADATA, None)
    if record is None:
        record = ErrorTrace(error)
        try:
            setattr(error, METADATA, record)
        except AttributeError:  # a class without a __dict__
            return
    for frame, number in reversed(list(traceback.walk_tb(trace))):
        origin = original_line(frame.f_code.co_filename, number)
        if origin is not None:
            file, line, function = origin
            record.lines.append(_Line(file, line, function, linecache.getline(file, line).strip()))
            return


def translated(error: Exception) -> Exception:
    """Return an error of the same class. Its message shows the lines of the converted functions
    through which the error has passed.

    If the class has its own constructor, for example because the user has defined it, return the
    error unchanged.
    """
    record: ErrorTrace | None = getattr(error, METADATA, None)
    if record is None or not record.lines:
        return error
    kind: Any = type(error)
    message = record.message()
    if issubclass(kind, OpError):
        new: Exception = kind(error.node_def, error.op, message)  # type: ignore[attr-defined]
    elif kind is KeyError:
        new = _KeyError(message)
    elif kind in _BY_MESSAGE or kind.__init__ is Exception.__init__:
        new = kind(message)
    else:
        return error
    new.__cause__ = error.__cause__
    new.__suppress_context__ = True
    return new.with_traceback(error.__traceback__)


class _KeyError(KeyError):
    """A KeyError whose text keeps its line breaks."""

    def __str__(self) -> str:
        return str(self.args[0])


_KeyError.__name__ = "KeyError"
