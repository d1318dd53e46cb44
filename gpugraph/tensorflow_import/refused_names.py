"""Placeholders for TensorFlow's names that this package refuses. Their import succeeds, but a call
of them raises an error.

A placeholder is a class, so that programs can import it, subclass it, pass it to `isinstance` and
read attributes of it. The attributes are placeholders too. A call of a placeholder raises
NotImplementedError with the reason. If the only argument is a function, as in a call of a
decorator, the result is a function that raises the error.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

_listeners: list[Callable[[str], None]] = []


def listen_to_refusals(listener: Callable[[str], None]) -> None:
    """Call `listener` with the path of each refused name that a program calls."""
    _listeners.append(listener)


class _RefusedType(type):
    """The type of placeholders. It defines the results of calls and of the access to attributes."""

    refused_path: str
    refused_reason: str

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return refused(f"{cls.refused_path}.{name}", cls.refused_reason)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and inspect.isfunction(args[0]):
            return _refusing(args[0], cls.refused_path, cls.refused_reason)
        _refuse(cls.refused_path, cls.refused_reason)

    def __repr__(cls) -> str:
        return f"<tf.{cls.refused_path}, which gpugraph refuses: {cls.refused_reason}>"


def _refuse(path: str, reason: str) -> NoReturn:
    for listener in _listeners:
        listener(path)
    raise NotImplementedError(f"{shown_path(path)}: {reason}")


def _refusing(function: Callable[..., Any], path: str, reason: str) -> Callable[..., Any]:
    """Return a function that has the name of `function` and raises an error when it is called."""

    @functools.wraps(function)
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        _refuse(path, reason)

    return refuse


@functools.cache
def refused(path: str, reason: str) -> type:
    """Return the placeholder for `tensorflow.<path>`. Equal arguments return the same object."""
    attributes = {
        "__doc__": f"Refused: {reason}.",
        "__module__": f"tensorflow.{path}".rpartition(".")[0],
        "refused_path": path,
        "refused_reason": reason,
    }
    return _RefusedType(path.rpartition(".")[2], (), attributes)


def reason_of(value: Any) -> str:
    """Return the reason of a placeholder. Return "" if the value is not a placeholder, or is a
    program's subclass of a placeholder.
    """
    return vars(value).get("refused_reason", "") if isinstance(value, _RefusedType) else ""


def shown_path(path: str) -> str:
    """Return a name in the spelling of programs. It is `tf.x`, or `tensorflow.python.x` for private
    modules.
    """
    return f"{'tensorflow' if path.startswith(('python.', 'core.')) else 'tf'}.{path}"
