"""What the public modules answer for names that they do not hold: a message, or a reason.

Messages, such as `tf.GraphDef`, are made when they are asked for (`formats/public_messages.py`).

`tf.strings.unicode_script` is an AttributeError that says why it is not there and what to use, as
it is where `import tensorflow` is answered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gpugraph.api.import_paths import TENSORFLOW_MODULES
from gpugraph.formats.public_messages import public_message
from gpugraph.tensorflow_import.left_out import instead_of

_PACKAGE = __name__.partition(".")[0]


def _answer(module: ModuleType, path: str) -> Callable[[str], Any]:
    """The `__getattr__` of a public module: Python asks it for names that are not there."""

    def answer(name: str) -> Any:
        if (message_class := public_message(path, name)) is not None:
            return message_class
        reason = instead_of(f"{path}.{name}" if path else name)
        whole = f"{_PACKAGE}.{path}" if path else _PACKAGE
        message = f"module '{whole}' has no attribute '{name}'{reason and f': {reason}'}"
        raise AttributeError(message, name=name, obj=module)

    return answer


def tell_reasons() -> None:
    """Lets all public modules give their messages, and say why a name is not there."""
    for path, module in [("", sys.modules[_PACKAGE]), *TENSORFLOW_MODULES.items()]:
        vars(module).setdefault("__getattr__", _answer(module, path))


tell_reasons()
