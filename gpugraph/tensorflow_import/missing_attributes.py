"""The function `__getattr__` of the public modules, which creates message classes and explains why
names are missing.

Message classes, such as `tf.GraphDef`, are created on first access (`formats/public_messages.py`).
Access to a missing name such as `tf.strings.unicode_script` raises an AttributeError with the
reason and the replacement. A program that imports gpugraph as `tensorflow` gets the same error.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

from gpugraph.api.import_paths import add_to_public_modules
from gpugraph.formats.public_messages import public_message

_PACKAGE = __name__.partition(".")[0]


class _MissingAttributeError(AttributeError):
    """The AttributeError for an unknown name. Its text ends with similar public names.

    Similar names are searched for only when the text is read, because `hasattr` and the search
    itself discard the error.
    """

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message, name=path.rpartition(".")[2])
        self._path = path

    def __str__(self) -> str:
        names = importlib.import_module("gpugraph.tensorflow_import.missing_names")
        return f"{self.args[0]}{names.advice(self._path)}"

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)


# Tracebacks print the name of the class.
_MissingAttributeError.__name__ = _MissingAttributeError.__qualname__ = "AttributeError"
_MissingAttributeError.__module__ = "builtins"


def _answer(path: str, module: ModuleType, answer: Callable[[str], Any] | None, name: str) -> Any:
    """Return the value of the attribute `name`, which the public module at `path` lacks.

    The value is the result of `answer`. If `answer` finds nothing, the value is a message class, or
    the value of a name in the module table (for example in `tf.compat.v2` and `tf.estimator`). If
    the name has no value, an AttributeError with the reason is raised.

    Args:
      answer: the module's original `__getattr__`, which is called first.
    """
    if name == "__all__":
        return _public_names(module)
    if name.startswith("__"):
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name)
    if answer is not None:
        with suppress(AttributeError):
            return answer(name)
    if (message_class := public_message(path, name)) is not None:
        return message_class
    answers = importlib.import_module("gpugraph.tensorflow_import.further_attributes")
    with suppress(AttributeError):
        return answers.further_attribute(path, name)
    left_out = importlib.import_module("gpugraph.tensorflow_import.left_out")
    known = f"{path}.{name}" if path else name
    whole = f"{_PACKAGE}.{path}" if path else _PACKAGE
    message = f"module '{whole}' has no attribute '{name}'"
    if reason := left_out.instead_of(known):
        raise AttributeError(f"{message}: {reason}", name=name, obj=module)
    raise _MissingAttributeError(message, known)


def missing_attribute(name: str) -> Any:
    """Call `_answer` for a name that the package `gpugraph` does not define."""
    return _answer("", sys.modules[_PACKAGE], None, name)


def _add_getattr(path: str, module: ModuleType) -> None:
    """Give a public module a `__getattr__` that calls `_answer`."""
    attributes = vars(module)
    attributes["__getattr__"] = partial(_answer, path, module, attributes.get("__getattr__"))


_NOT_PUBLIC = frozenset({"__future__", "typing"})


def _public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module, for its `__all__`."""
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") not in _NOT_PUBLIC
    )


_BELOW_GRAPHS = ("base", "config", "platform")


def _add_private_attributes(path: str, module: ModuleType) -> None:
    """Add private attributes, which programs read, to this package's classes.

    Attributes of optimizers are added only when `tf.train` is imported. No attributes are added for
    modules that need no graphs.
    """
    if module.__name__.split(".")[1] not in _BELOW_GRAPHS:
        importlib.import_module("gpugraph.tensorflow_import.private_attributes")
    if path == "train":
        importlib.import_module("gpugraph.tensorflow_import.private_optimizer_attributes")


add_to_public_modules(_add_getattr)
add_to_public_modules(_add_private_attributes)
