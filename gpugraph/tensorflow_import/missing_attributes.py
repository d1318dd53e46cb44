"""The answer of public modules for names that they do not hold: a message class or an error.

Message classes, such as `tf.GraphDef`, are created on first access (`formats/public_messages.py`).

Access to `tf.strings.unicode_script` raises an AttributeError with the reason why it is missing and
the replacement, as under an answered `import tensorflow`.
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


def _answer(path: str, module: ModuleType, answer: Callable[[str], Any] | None, name: str) -> Any:
    """Return the module's own answer for a name, or a message class.

    Raise AttributeError with the reason if there is neither.
    """
    if name.startswith("__"):
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name)
    if answer is not None:
        with suppress(AttributeError):
            return answer(name)
    if (message_class := public_message(path, name)) is not None:
        return message_class
    left_out = importlib.import_module("gpugraph.tensorflow_import.left_out")
    reason = left_out.instead_of(f"{path}.{name}" if path else name)
    whole = f"{_PACKAGE}.{path}" if path else _PACKAGE
    message = f"module '{whole}' has no attribute '{name}'{reason and f': {reason}'}"
    raise AttributeError(message, name=name, obj=module)


def missing_attribute(name: str) -> Any:
    """Return the package's answer for a name that it does not hold."""
    return _answer("", sys.modules[_PACKAGE], None, name)


def _add_getattr(path: str, module: ModuleType) -> None:
    """Give a public module a `__getattr__` for messages and for errors with a reason."""
    attributes = vars(module)
    attributes["__getattr__"] = partial(_answer, path, module, attributes.get("__getattr__"))


_BELOW_GRAPHS = ("base", "config", "platform")


def _add_private_attributes(path: str, module: ModuleType) -> None:
    """Add the private attributes that programs read; those of optimizers only with `train`."""
    if module.__name__.split(".")[1] not in _BELOW_GRAPHS:
        importlib.import_module("gpugraph.tensorflow_import.private_attributes")
    if path == "train":
        importlib.import_module("gpugraph.tensorflow_import.private_optimizer_attributes")


add_to_public_modules(_add_getattr)
add_to_public_modules(_add_private_attributes)
