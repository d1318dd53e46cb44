"""What the public modules answer for names that are left out on purpose: the reason.

`tf.strings.unicode_script` is an AttributeError that says why it is not there and what to use, as
it is where `import tensorflow` is answered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import NoReturn

from gpugraph.api.import_paths import TENSORFLOW_MODULES
from gpugraph.tensorflow_import.left_out import instead_of

_PACKAGE = __name__.partition(".")[0]


def _refuse(module: ModuleType, path: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a public module: Python asks it for names that are not there."""

    def refuse(name: str) -> NoReturn:
        reason = instead_of(f"{path}.{name}" if path else name)
        whole = f"{_PACKAGE}.{path}" if path else _PACKAGE
        message = f"module '{whole}' has no attribute '{name}'{reason and f': {reason}'}"
        raise AttributeError(message, name=name, obj=module)

    return refuse


def tell_reasons() -> None:
    """Lets all public modules say why a name is not there."""
    for path, module in [("", sys.modules[_PACKAGE]), *TENSORFLOW_MODULES.items()]:
        vars(module).setdefault("__getattr__", _refuse(module, path))


tell_reasons()
